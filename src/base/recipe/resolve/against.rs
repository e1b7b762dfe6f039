//! Components that are built against what others installed: what has to be there, and in which order.

use super::resolver::Resolver;
use crate::build_system::BuildDriver;
use crate::recipe::diagnostic::{Diagnostic, Spanned};
use crate::recipe::file::{BuildTable, ComponentTable, OptionValue};
use crate::recipe::model::ComponentKind;
use crate::recipe::parse::words::placeholders;

/// Stands in options for the prefix of what was installed.
const AGAINST: &str = "against";

/// Notes what cannot be built: against nothing, against itself, in a circle, or by a driver that calls nothing.
pub(super) fn against(resolver: &mut Resolver<'_>) {
    let mut wrong = Vec::new();
    for (kind, table) in &resolver.file.components {
        let named = named(table);
        let driver = table.build.as_ref().map_or(BuildDriver::Cmake, driver);
        if let Some(first) = named.first().filter(|_| driver.system().tools().is_empty()) {
            let message = format!("`against` cannot be combined with driver `{}`, which runs nothing", driver.name());
            wrong.push(resolver.mistake(first, message));
        }
        if let Some(option) = asking(table).filter(|_| named.is_empty()) {
            let mistake = resolver
                .mistake(option, "`{against}` stands for what builds of other components installed, and none is named");
            wrong.push(mistake.hint("say which: `against = [\"core\"]` in the table of the build"));
        }
        for other in named {
            wrong.extend(not_there(resolver, *kind, other));
            wrong.extend(other_variants(resolver, table, other));
        }
        wrong.extend(circle(resolver, *kind));
    }
    resolver.mistakes.extend(wrong);
}

fn named(table: &ComponentTable) -> &[Spanned<ComponentKind>] {
    table.build.as_ref().map_or(&[], |build| &build.against)
}

fn driver(build: &BuildTable) -> BuildDriver {
    build.driver.as_ref().map_or(BuildDriver::Cmake, |driver| driver.value)
}

/// Why nothing can be built against a component, if so.
fn not_there(resolver: &Resolver<'_>, kind: ComponentKind, other: &Spanned<ComponentKind>) -> Option<Diagnostic> {
    let name = other.value;
    let table = resolver.file.components.get(&name);
    let has_build = table.is_some_and(|table| table.build.is_some() || name == ComponentKind::Core);
    let (message, hint) = match name {
        _ if name == kind => (
            format!("component `{kind}` cannot be built against itself"),
            "name components whose builds are to end before it begins".to_owned(),
        ),
        ComponentKind::Kernels => (
            "component `kernels` is there once for each target: nothing is built against it".to_owned(),
            "name the component whose build installs what is linked".to_owned(),
        ),
        _ if table.is_none() && name != ComponentKind::Meta => {
            (format!("there is no component `{name}`"), format!("add [component.{name}.build], or name another one"))
        }
        _ if !has_build => (
            format!("component `{name}` has no build of its own"),
            "name the component whose build installs its files: `core`".to_owned(),
        ),
        _ => return None,
    };
    Some(resolver.mistake(other, message).hint(hint))
}

/// Builds are made against the variant with the same choices, so there must be one.
fn other_variants(
    resolver: &Resolver<'_>,
    table: &ComponentTable,
    other: &Spanned<ComponentKind>,
) -> Option<Diagnostic> {
    let theirs = &resolver.file.components.get(&other.value)?.variants;
    let shared = table.variants.iter().filter_map(|(axis, values)| {
        Some((axis, values, &theirs.iter().find(|(name, _)| name.value == axis.value)?.1))
    });
    let lacking = shared.flat_map(|(axis, own, theirs)| {
        let is_there = |name: &str| theirs.iter().any(|value| value.name.value == name);
        own.iter().filter(move |value| !is_there(&value.name.value)).map(move |value| (axis, &value.name))
    });
    let (axis, value) = lacking.into_iter().next()?;
    let message = format!(
        "there is no variant {}={} of component `{}`, which this one is built against",
        axis.value, value.value, other.value
    );
    Some(resolver.mistake(value, message).hint(format!("add it to [component.{}.variants]", other.value)))
}

/// A circle that begins with a component, told once: by the first of its components.
fn circle(resolver: &Resolver<'_>, kind: ComponentKind) -> Option<Diagnostic> {
    let mut path = vec![kind];
    let way = way_back(resolver, kind, &mut path)?;
    let first = path.iter().min()?;
    if *first != kind || path.len() < 2 {
        return None;
    }
    let names: Vec<String> = path.iter().chain([&kind]).map(ToString::to_string).collect();
    let message = format!("components are built against each other in a circle: {}", names.join(" -> "));
    Some(resolver.mistake(way, message).hint("one of their builds has to begin"))
}

/// Follows what components are built against back to the first of `path`; answers where that begins.
fn way_back<'a>(
    resolver: &Resolver<'a>,
    kind: ComponentKind,
    path: &mut Vec<ComponentKind>,
) -> Option<&'a Spanned<ComponentKind>> {
    let table = resolver.file.components.get(&kind)?;
    for other in named(table) {
        if other.value == path[0] {
            return Some(other);
        }
        if path.contains(&other.value) {
            continue;
        }
        path.push(other.value);
        if way_back(resolver, other.value, path).is_some() {
            return Some(other);
        }
        path.pop();
    }
    None
}

/// An option of a component's builds that stands for the prefix.
fn asking(table: &ComponentTable) -> Option<&Spanned<OptionValue>> {
    let of_build = table.build.iter().flat_map(|build| build.options.values());
    let of_variants = table.variants.iter().flat_map(|(_, values)| values).flat_map(|one| one.options.values());
    of_build.chain(of_variants).find(|option| match &option.value {
        OptionValue::Text(text) => placeholders(text).contains(&AGAINST),
        OptionValue::Switch(_) => false,
    })
}
