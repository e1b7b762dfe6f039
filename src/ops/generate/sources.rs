//! What generated texts say of sources: one, or several that are put together, as archives, wheels, repositories and directories.

use std::collections::BTreeMap;

use super::place::{Place, WITHOUT_RECIPE};
use crate::build_system::{BuildDriver, OF_STEP};
use crate::container::Form;
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::generate::{self, Listed, ModelPart, ModelSource, Target};
use crate::recipe::{Component, ComponentKind, Recipe, Source, SourcePart};
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
    let is_below =
        |path: &str| path == part.into || path.strip_prefix(&part.into).is_some_and(|rest| rest.starts_with('/'));
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
    } else if builds().any(|build| !build.install.is_empty()) {
        "simpack installs what its build leaves"
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
pub(super) fn parts(recipe: &Recipe, place: &Place) -> Result<Vec<ModelPart>> {
    let found = used(recipe).iter().map(|part| one(part, place)).collect::<Result<Vec<_>>>()?;
    let is_installed = |part: &&ModelPart| {
        let mut builds = recipe.components.iter().flat_map(Component::builds).map(|build| build.spec);
        builds.any(|build| build.driver == BuildDriver::Wheel && build.source == part.into)
    };
    if let Some(part) = found.iter().find(|part| part.wheel && !is_installed(part)) {
        let error = Error::recipe(format!(
            "other builders cannot have the source `{}`: no build installs the wheel",
            part.into
        ));
        return Err(error.hint(WITHOUT_RECIPE));
    }
    let is_plain = recipe.source.single().is_some() && !found.iter().any(|part| part.wheel);
    Ok(if is_plain { Vec::new() } else { found })
}

/// Licence texts that builders find in the source. One in a wheel ships with what that says of itself.
pub(super) fn licences(recipe: &Recipe, place: &Place) -> Result<Vec<String>> {
    let wheels: Vec<ModelPart> = parts(recipe, place)?.into_iter().filter(|part| part.wheel).collect();
    let is_in_wheel = |name: &str| {
        let mut files = recipe.licence_files.iter().filter(|file| file.rsplit('/').next() == Some(name));
        files.any(|file| wheels.iter().any(|part| part.into == ROOT || file.starts_with(&format!("{}/", part.into))))
    };
    Ok(place.licences.iter().filter(|name| !is_in_wheel(name)).cloned().collect())
}

fn one(part: &SourcePart, place: &Place) -> Result<ModelPart> {
    let below = |path: &String| format!("{}/{path}", place.recipe_dir);
    let (url, sha256) = match &part.source {
        Some(Source::Url { url, sha256 }) => (Some(url.clone()), Some(sha256)),
        Some(Source::Pypi { sha256, .. }) => (place.addresses.get(&part.into).cloned(), Some(sha256)),
        _ => (None, None),
    };
    let wheel = url.as_ref().is_some_and(|url| url.ends_with(WHEEL));
    // Of one source builders see by themselves what it is.
    let is_tar = part.into == ROOT || url.as_ref().is_none_or(|url| matches!(Form::of_name(url), Some(Form::Tar(_))));
    let refused = |what: &str| {
        let error = Error::recipe(format!("other builders cannot have the source `{}`: {what}", part.into));
        Err(error.hint(WITHOUT_RECIPE))
    };
    if wheel && !(part.patches.is_empty() && part.overlay.is_none()) {
        return refused("the recipe changes a wheel");
    }
    if !wheel && !is_tar {
        return refused("it is neither a wheel nor an archive of tar");
    }
    Ok(ModelPart {
        into: part.into.clone(),
        of: match &part.source {
            Some(Source::Path(path)) => Some(Source::Path(below(path))),
            other => other.clone(),
        },
        sri: sha256.map(|sha256| sri(sha256)).transpose()?,
        sha256: sha256.cloned(),
        url,
        wheel,
        patches: part.patches.iter().map(below).collect(),
        overlay: part.overlay.as_ref().map(below),
    })
}

fn sri(sha256: &str) -> Result<String> {
    let digest: Digest = sha256.parse().map_err(|_| Error::bug(format!("{sha256} is no digest")))?;
    Ok(generate::sri(&digest))
}
