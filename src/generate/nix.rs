//! A flake, an overlay and a package in the style of nixpkgs, formatted as nixfmt does.
//!
//! The package is built by nixpkgs' own hooks: CMake configures and installs, globs of the recipe tell the outputs apart.
//! Shaders are compiled with the host part; other device code for the capabilities of nixpkgs' configuration, and for the recipe's
//! without any.

use serde::Serialize;

use super::globs::alternatives;
use super::{Build, FileSet, Model, Templates};
use crate::error::{Error, Result};
use crate::recipe::{ComponentKind, Source};

#[derive(Serialize)]
struct Values<'a> {
    model: &'a Model,
    /// Attribute of the package.
    attribute: &'a str,
    /// The summary as nixpkgs writes descriptions.
    description: String,
    licences: Vec<Licence<'a>>,
    /// Device code is compiled.
    device: bool,
    /// Archives of tar or zip become directories of the source, and zips are among them.
    unpacks_archives: bool,
    zips: bool,
    /// Functions that fetch the source.
    fetchers: &'static [&'static str],
    /// The address of an archive, cut where it says the version.
    address: Vec<&'a str>,
    /// Core says something of itself: its version, in the address.
    core_refers: bool,
    /// Tools of the builds.
    tools: Vec<&'static str>,
    /// Attributes of `cudaPackages` that the components use.
    libraries: Vec<&'a str>,
    outputs: Vec<&'static str>,
    /// Libraries lie in an output of their own.
    split: bool,
    /// The build that nixpkgs' hooks do.
    main: Option<&'a Build>,
    /// Directory of its `CMakeLists.txt`, seen from the build directory.
    cmake_dir: String,
    /// Output that `{prefix}` stands for: that of the libraries, which must not name `out`, whose programs name them.
    prefix_output: &'static str,
    /// Components that `host.sh` builds.
    others: Vec<ComponentKind>,
    /// Globs and the outputs that they move to.
    moves: Vec<(String, &'static str)>,
    /// Libraries that are opened at run time.
    opens: Vec<Opened<'a>>,
    /// The recipe's own CUDA release in the name of nixpkgs' set of packages: `13_0`.
    cuda_attribute: String,
}

#[derive(Serialize)]
struct Licence<'a> {
    id: &'a str,
    /// Its name below `lib.licenses`.
    attribute: Option<&'static str>,
}

#[derive(Serialize)]
struct Opened<'a> {
    name: &'a str,
    nix: &'a str,
    base: &'a str,
    output: &'static str,
}

/// All files.
pub(super) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    if !model.name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        return Err(Error::recipe(format!("`{}` cannot be an attribute of nix", model.name))
            .hint("it must begin with a letter"));
    }
    let (main, others) = model.hooked();
    let outputs = outputs(model);
    let mut libraries: Vec<&str> = model.uses.iter().filter_map(|used| used.nix.as_deref()).collect();
    libraries.sort_unstable();
    libraries.dedup();
    let is_split = outputs.contains(&"lib");
    let address = match &model.source.of {
        Source::Url { url, .. } if model.parts.is_empty() => around(url, &model.version.to_string()),
        _ => Vec::new(),
    };
    let of_index = model
        .source
        .listed
        .as_ref()
        .filter(|_| model.parts.is_empty())
        .is_some_and(|listed| listed.version == model.version.to_string());
    let archives = || model.parts.iter().filter(|part| !part.wheel).filter_map(|part| part.url.as_deref());
    let values = Values {
        model,
        attribute: &model.name,
        description: description(&model.summary),
        licences: model.licenses.iter().map(|id| Licence { id, attribute: licence(id) }).collect(),
        device: !(model.groups.is_empty() && model.cut.is_empty()),
        unpacks_archives: archives().next().is_some(),
        zips: archives().any(is_zip),
        core_refers: address.len() > 1 || of_index,
        address,
        fetchers: match &model.source.of {
            _ if !model.parts.is_empty() => &["fetchurl", "runCommand"],
            Source::Url { .. } => &["fetchurl"],
            Source::Pypi { .. } => &["fetchPypi"],
            Source::Path(_) | Source::Git { .. } | Source::Composed(_) => &[],
        },
        tools: tools(model),
        libraries,
        split: is_split,
        main,
        prefix_output: if is_split { "lib" } else { "out" },
        cmake_dir: main.map(|build| format!("../{}", build.source)).unwrap_or_default(),
        others,
        moves: moves(model, &outputs)?,
        opens: opens(model, if is_split { "lib" } else { "out" }),
        cuda_attribute: model
            .releases
            .first()
            .map(|release| release.cuda.to_string().replace('.', "_"))
            .unwrap_or_default(),
        outputs,
    };
    let mut files = FileSet::default();
    for name in ["flake.nix", "overlay.nix", "package.nix"] {
        let text = templates.fill(&format!("nix/{name}"), &values)?;
        let text = nixfmt_rs::format(&text).map_err(|error| {
            Error::recipe(format!("templates/generate/nix/{name}.j2 gives no nix"))
                .detail(nixfmt_rs::format_error(&text, Some(name), &error))
                .hint("correct the template")
        })?;
        files.add(name, text);
    }
    if !values.others.is_empty() {
        files.add("host.sh", templates.fill("host.sh", &values)?);
    }
    if !model.groups.is_empty() {
        files.add("kernels.sh", templates.fill("kernels.sh", &values)?);
    }
    if model.has_shaders() {
        files.add("shaders.sh", templates.fill("shaders.sh", &values)?);
    }
    Ok(files)
}

/// A description begins with a capital, with no article, and ends without a full stop (nixpkgs' pkgs/README.md).
fn description(summary: &str) -> String {
    let article = ["a ", "an ", "the ", "A ", "An ", "The "].into_iter().find_map(|word| summary.strip_prefix(word));
    let plain = article.unwrap_or(summary).trim_end_matches('.');
    let mut letters = plain.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A text, cut where a version stands that is no part of a longer one.
fn around<'a>(text: &'a str, version: &str) -> Vec<&'a str> {
    let is_part = |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii_alphanumeric());
    let continues = |rest: &str| {
        let mut signs = rest.chars();
        let first = signs.next();
        is_part(first) || first == Some('.') && signs.next().is_some_and(|next| next.is_ascii_digit())
    };
    let mut pieces = Vec::new();
    let mut begin = 0;
    for (at, _) in text.match_indices(version) {
        let before = text[..at].chars().next_back();
        let is_whole = before == Some('v') || !(is_part(before) || before == Some('.'));
        if is_whole && !continues(&text[at + version.len()..]) {
            pieces.push(&text[begin..at]);
            begin = at + version.len();
        }
    }
    pieces.push(&text[begin..]);
    pieces
}

/// The attribute of `lib.licenses` for an identifier of SPDX, where it is one of those that simulators have (nixpkgs'
/// lib/licenses.nix); `lib.getLicenseFromSpdxId` finds all others.
fn licence(id: &str) -> Option<&'static str> {
    Some(match id {
        "AGPL-3.0-only" => "agpl3Only",
        "AGPL-3.0-or-later" => "agpl3Plus",
        "Apache-2.0" => "asl20",
        "BSD-2-Clause" => "bsd2",
        "BSD-3-Clause" => "bsd3",
        "BSL-1.0" => "boost",
        "GPL-2.0-only" => "gpl2Only",
        "GPL-2.0-or-later" => "gpl2Plus",
        "GPL-3.0-only" => "gpl3Only",
        "GPL-3.0-or-later" => "gpl3Plus",
        "LGPL-2.1-only" => "lgpl21Only",
        "LGPL-2.1-or-later" => "lgpl21Plus",
        "LGPL-3.0-only" => "lgpl3Only",
        "LGPL-3.0-or-later" => "lgpl3Plus",
        "MIT" => "mit",
        "MPL-2.0" => "mpl20",
        _ => return None,
    })
}

/// Whether an address is that of an archive which nix's standard environment has no program for.
fn is_zip(address: &str) -> bool {
    address.ends_with(".zip")
}

fn tools(model: &Model) -> Vec<&'static str> {
    // Nix's standard environment has make.
    let mut tools: Vec<&str> = model.builds.iter().flat_map(|build| build.driver.system().pinned()).copied().collect();
    if !model.shaders.is_empty() {
        tools.push("shaderc");
    }
    if model.unpacks {
        // Wheels' libraries know none of nix's directories.
        tools.push("autoPatchelfHook");
    }
    let mut archives =
        model.parts.iter().filter_map(|part| part.url.as_deref()).chain(model.archive().map(|(url, _)| url));
    if model.unpacks || archives.any(is_zip) {
        tools.push("unzip");
    }
    tools.sort_unstable();
    tools.dedup();
    tools
}

/// Outputs that the recipe's components ask for, `out` first.
fn outputs(model: &Model) -> Vec<&'static str> {
    let mut outputs = vec!["out"];
    let is_shared = |kind| model.libraries.iter().any(|library| library.component == kind && !library.archive);
    if is_shared(ComponentKind::Core) || is_shared(ComponentKind::Rtc) {
        outputs.push("lib");
    }
    if model.has(ComponentKind::Dev) {
        outputs.push("dev");
    }
    if model.has(ComponentKind::Static) {
        outputs.push("static");
    }
    if model.files.values().flatten().any(|glob| is_documentation(glob)) {
        outputs.push("doc");
    }
    outputs
}

/// Manual pages are not: nixpkgs' setup hook moves `share/man` to the output of the programs.
fn is_documentation(glob: &str) -> bool {
    glob.starts_with("share/doc/")
}

/// Which of a component's globs move to which output. Link names stay with the libraries, so that they lead somewhere.
fn moves(model: &Model, outputs: &[&'static str]) -> Result<Vec<(String, &'static str)>> {
    let mut moves = Vec::new();
    for (component, globs) in &model.files {
        for glob in globs.iter().flat_map(|glob| alternatives(glob)) {
            let is_shared = glob.starts_with("lib/") && glob.contains(".so");
            let output = match component.as_str() {
                _ if is_documentation(&glob) => "doc",
                "core" | "rtc" | "dev" if is_shared => "lib",
                "dev" => "dev",
                "static" => "static",
                _ => continue,
            };
            if !outputs.contains(&output) {
                continue;
            }
            let pattern = glob.strip_suffix("/**").unwrap_or(&glob);
            if pattern.contains("**") || pattern.contains('{') {
                return Err(Error::recipe(format!("nix cannot move `{glob}` to an output"))
                    .hint("name directories as `DIRECTORY/**`, and files without braces"));
            }
            moves.push((pattern.to_owned(), output));
        }
    }
    if (!model.groups.is_empty() || model.has_shaders()) && outputs.contains(&"lib") {
        // The simulator's loader looks for device code beside its library.
        moves.push((format!("lib/{}", model.name), "lib"));
    }
    Ok(moves)
}

fn opens<'a>(model: &'a Model, output: &'static str) -> Vec<Opened<'a>> {
    let mut found = Vec::new();
    for used in model.uses.iter().filter(|used| used.component == ComponentKind::Rtc) {
        let (Some(nix), Some(library)) = (&used.nix, model.library(ComponentKind::Rtc)) else { continue };
        found.push(Opened { name: &used.conda, nix, base: &library.base, output });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_cut_at_the_version_alone() {
        for (address, pieces) in [
            ("https://a.example/v1.2.0/sim-1.2.0.tar.gz", &["https://a.example/v", "/sim-", ".tar.gz"][..]),
            ("https://a.example/sim-11.2.0.tgz", &["https://a.example/sim-11.2.0.tgz"]),
            ("https://a.example/1.2.0.1/sim-1.2.0b1", &["https://a.example/1.2.0.1/sim-1.2.0b1"]),
            ("1.2.0", &["", ""]),
        ] {
            assert_eq!(around(address, "1.2.0"), pieces);
        }
    }

    #[test]
    fn descriptions_are_nixpkgs_own() {
        for (summary, expected) in
            [("a simulator of spikes.", "Simulator of spikes"), ("Spikes", "Spikes"), ("ünïcode", "Ünïcode"), ("", "")]
        {
            assert_eq!(description(summary), expected);
        }
    }
}
