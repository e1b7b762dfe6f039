//! What generated texts say of sources: one, or several that are put together, as archives, wheels, repositories and directories.

use std::collections::BTreeMap;

use super::place::{Place, WITHOUT_RECIPE};
use crate::build_system::{BuildDriver, OF_STEP};
use crate::container::Form;
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::generate::{self, Listed, ModelPart, ModelSource, Target};
use crate::recipe::{Component, ComponentKind, DeviceCompiler, Recipe, Source, SourcePart};
use crate::toolchain::Store;

/// The directory of a source that is the whole tree.
const ROOT: &str = ".";
/// How the names of wheels end.
const WHEEL: &str = ".whl";

/// Addresses of what a package index has of a recipe's source, by the directory of the tree that it becomes; none where the texts of
/// the target name none.
pub(super) fn addresses(
    recipe: &Recipe,
    target: Target,
    store: &Store,
    offline: bool,
) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let is_refused = !target.builds_each() && recipe.source.single().is_none();
    if !target.fetches() || is_refused {
        return Ok(found);
    }
    for part in used(recipe) {
        let Some(Source::Pypi { name, version, sha256 }) = &part.source else { continue };
        let url = store.listed(name, version, sha256, offline).map_err(|error| error.hint(INSTEAD))?;
        if !target.builds_each() && Listed::at(&url).is_none() {
            return Err(Error::recipe(format!("{url} is no source distribution")).hint(INSTEAD));
        }
        found.insert(part.into.clone(), url);
    }
    Ok(found)
}

/// What to do where a package index does not help.
const INSTEAD: &str = "or give the source `url` and `sha256` in the place of `pypi`";

/// The parts of a recipe's source that builders need; one for a source that is the whole tree.
fn used(recipe: &Recipe) -> Vec<SourcePart> {
    let parts = match &recipe.source {
        Source::Composed(parts) => parts.clone(),
        one => {
            vec![SourcePart { into: ROOT.to_owned(), source: Some(one.clone()), overlay: None, patches: Vec::new() }]
        }
    };
    parts.into_iter().filter(|part| is_used(recipe, part)).collect()
}

/// Whether anything that is built or ships is of a part: tests have sources, too.
fn is_used(recipe: &Recipe, part: &SourcePart) -> bool {
    let is_below = |path: &str| path == part.into || inside(&part.into, path).is_some();
    let mut builds = recipe.components.iter().flat_map(Component::builds);
    part.into == ROOT
        || recipe.groups.iter().any(|group| !group.sources.is_empty())
        || builds.any(|build| build.spec.source == ROOT || is_below(&build.spec.source))
        || recipe.licence_files.iter().any(|file| is_below(file))
}

/// Refuses sources and builds that the texts of a target have no words for.
pub(super) fn generated(recipe: &Recipe, target: Target) -> Result<()> {
    if !target.compiles() {
        return Ok(());
    }
    let builds = || recipe.components.iter().flat_map(Component::builds).map(|build| build.spec);
    // Whoever builds once for all builds no module for Python.
    let is_built = |component: &&Component| target == Target::Conda || component.kind != ComponentKind::Python;
    let others = || recipe.components.iter().filter(is_built).filter_map(|component| component.build.as_ref());
    let is_copied = |kind: &ComponentKind| {
        let build = recipe.component(*kind).and_then(|component| component.build.as_ref());
        build.is_some_and(|build| build.driver == BuildDriver::Copy)
    };
    let has_variants = |kind: &ComponentKind| !recipe.variants_of(*kind).is_empty();
    let is_filled = |word: &str| target.builds_each() && generate::FILLED.contains(&word);
    let places = OF_STEP.map(|word| format!("{{{word}}}"));
    let unknown: Vec<&String> = places.iter().filter(|word| !is_filled(word)).collect();
    let names = |value: &String| unknown.iter().any(|word| value.contains(word.as_str()));
    let changes = recipe.source.single().map(|(_, changes)| changes.is_some());
    let what = if changes.is_none() && !target.builds_each() {
        "its source is put together from several"
    } else if changes == Some(true) && !target.builds_each() {
        "the recipe changes its source"
    } else if builds().any(|build| build.driver == BuildDriver::Wheel) && !target.builds_each() {
        "it installs a wheel"
    } else if !target.builds_each() && recipe.components.iter().any(|component| !component.sonames.is_empty()) {
        "simpack gives its libraries their SONAMEs"
    } else if !target.builds_each() && others().any(|build| !build.against.is_empty()) {
        "a component of it is built against another one"
    } else if others().any(|build| build.against.iter().any(is_copied)) {
        "a component of it is built against one that is copied"
    } else if target == Target::Conda && others().any(|build| build.against.iter().any(has_variants)) {
        "a component of it is built against the default variant of one that has several"
    } else if builds().any(|build| build.options.values().any(names)) {
        "its options name places that simpack alone knows"
    } else {
        return Ok(());
    };
    Err(Error::recipe(format!("{} has no recipe for {target}: {what}", recipe.name)).hint(WITHOUT_RECIPE))
}

/// The source of texts whose builders know one: the recipe's own.
pub(super) fn source(recipe: &Recipe, place: &Place) -> Result<ModelSource> {
    let (source, changes) = recipe.source.single().unwrap_or((&recipe.source, None));
    let below = |path: &String| format!("{}/{path}", place.recipe_dir);
    let (of, sha256) = match source {
        Source::Path(_) => (Source::Path(place.output.clone()), None),
        other @ (Source::Url { sha256, .. } | Source::Pypi { sha256, .. }) => (other.clone(), Some(sha256)),
        other @ Source::Git { .. } => (other.clone(), None),
        other @ Source::Composed(_) => (other.clone(), None),
    };
    Ok(ModelSource {
        of,
        sri: sha256.map(|sha256| sri(sha256)).transpose()?,
        listed: place.addresses.get(ROOT).and_then(|url| Listed::at(url)),
        patches: changes.iter().flat_map(|part| &part.patches).map(below).collect(),
        overlay: changes.and_then(|part| part.overlay.as_ref()).map(below),
    })
}

/// The parts of a source that no builder puts together by itself: several, or a wheel.
pub(super) fn parts(recipe: &Recipe, target: Target, place: &Place) -> Result<Vec<ModelPart>> {
    let found = used(recipe).iter().map(|part| one(recipe, part, place)).collect::<Result<Vec<_>>>()?;
    // nix compiles device code in derivations of their own, out of the source with all changes.
    let compiles = recipe.groups.iter().any(|group| group.form.compiler() == DeviceCompiler::Steps);
    let is_changed = recipe.source.single().is_some_and(|(_, changes)| changes.is_some());
    let is_several = recipe.source.single().is_none() || found.iter().any(|part| part.wheel);
    let is_plain = !(is_several || is_changed && compiles && target.builds_each());
    Ok(if is_plain { Vec::new() } else { found })
}

/// Licence texts that builders find in the source, relative to it: those that the recipe names, else those at its top. One in a wheel
/// ships with what that says of itself; what a recipe puts over a source lies beside it.
pub(super) fn licences(recipe: &Recipe, place: &Place) -> Vec<String> {
    let named = if recipe.licence_files.is_empty() { &place.licences } else { &recipe.licence_files };
    let parts = used(recipe);
    let found = |file: &String| {
        // The directory of a part goes before the tree itself.
        let within = parts.iter().filter_map(|part| inside(&part.into, file).map(|rest| (part, rest)));
        let mut within: Vec<(&SourcePart, &str)> = within.collect();
        within.sort_by_key(|(part, _)| part.into == ROOT);
        let (part, rest) = within.first()?;
        let is_over = part.overlay.as_ref().is_some_and(|overlay| recipe.dir.join(overlay).join(rest).is_file());
        match is_over {
            true => Some(format!("{}/{rest}", beside(part, OVERLAY))),
            false => (!is_wheel(part, place)).then(|| file.clone()),
        }
    };
    named.iter().filter_map(found).collect()
}

/// The directory in a source with the files that the recipe puts over it.
const OVERLAY: &str = "simpack-overlay";

/// A path below the directory of a part.
fn beside(part: &SourcePart, name: &str) -> String {
    if part.into == ROOT { name.to_owned() } else { format!("{}/{name}", part.into) }
}

/// A path of the source tree below the directory of a part.
fn inside<'a>(into: &str, path: &'a str) -> Option<&'a str> {
    if into == ROOT { Some(path) } else { path.strip_prefix(into)?.strip_prefix('/') }
}

/// The address of a part that is fetched by one.
fn address<'a>(part: &'a SourcePart, place: &'a Place) -> Option<&'a String> {
    match &part.source {
        Some(Source::Url { url, .. }) => Some(url),
        Some(Source::Pypi { .. }) => place.addresses.get(&part.into),
        _ => None,
    }
}

fn is_wheel(part: &SourcePart, place: &Place) -> bool {
    address(part, place).is_some_and(|url| url.ends_with(WHEEL))
}

fn one(recipe: &Recipe, part: &SourcePart, place: &Place) -> Result<ModelPart> {
    let below = |path: &String| format!("{}/{path}", place.recipe_dir);
    let sha256 = match &part.source {
        Some(Source::Url { sha256, .. } | Source::Pypi { sha256, .. }) => Some(sha256),
        _ => None,
    };
    let (url, wheel) = (address(part, place), is_wheel(part, place));
    let builds = || recipe.components.iter().flat_map(Component::builds).map(|build| build.spec);
    let is_open = || builds().any(|build| build.driver != BuildDriver::Wheel && reads(&build.source, &part.into));
    let is_installed = || builds().any(|build| build.driver == BuildDriver::Wheel && build.source == part.into);
    let open = wheel && is_open();
    // Of one source builders see by themselves what it is.
    let is_archive =
        part.into == ROOT || url.is_none_or(|url| matches!(Form::of_name(url), Some(Form::Tar(_) | Form::Zip)));
    let what = if wheel && !(open || is_installed()) {
        "no build of the host part reads the wheel"
    } else if !wheel && !is_archive {
        "its address does not say what archive it is"
    } else {
        return Ok(ModelPart {
            into: part.into.clone(),
            of: match &part.source {
                Some(Source::Path(path)) => Some(Source::Path(below(path))),
                other => other.clone(),
            },
            sri: sha256.map(|sha256| sri(sha256)).transpose()?,
            sha256: sha256.cloned(),
            url: url.cloned(),
            wheel,
            open,
            patches: part.patches.iter().map(below).collect(),
            overlay: part.overlay.as_ref().map(below),
        });
    };
    let error = Error::recipe(format!("other builders cannot have the source `{}`: {what}", part.into));
    Err(error.hint(WITHOUT_RECIPE))
}

/// Whether a build whose source is a directory finds files of a part in it.
fn reads(source: &str, into: &str) -> bool {
    source == ROOT || into == ROOT || source == into || inside(into, source).is_some() || inside(source, into).is_some()
}

fn sri(sha256: &str) -> Result<String> {
    let digest: Digest = sha256.parse().map_err(|_| Error::bug(format!("{sha256} is no digest")))?;
    Ok(generate::sri(&digest))
}
