//! Text to `RecipeFile`: every key, type and word is checked here, and every mistake is kept.

mod bindings;
mod compile;
mod components;
mod groups;
mod host_structures;
pub(in crate::recipe) mod reader;
mod smoke;
mod sources;
mod structs;
pub(in crate::recipe) mod table;
mod test;
mod values;
pub(in crate::recipe) mod words;

use std::collections::BTreeMap;

use self::reader::{Fields, Reader, Value, edition, read};
use self::smoke::smoke;
use self::test::tests;
use self::words::{AtLeast, is_package_name, not_relative};
use crate::arch::{Capability, CudaVersion};
use crate::elf::edit::PathTag;
use crate::recipe::diagnostic::{Diagnostic, Document, Spanned, sort};
use crate::recipe::file;
use crate::recipe::file::{
    HostTable, MatrixTable, PackageTable, RecipeFile, ReleaseTable, SimulatorTable, ToolchainTable,
};
use crate::recipe::model::{CondaProfile, CpuLevel, Fallback, HostKind, Waiver, WheelExperiment};
use crate::report::Level;

/// Reads a recipe. `path` is how the file is named in mistakes.
///
/// # Errors
/// All mistakes that can be seen without the manifests and the files beside the recipe.
pub fn parse(text: &str, path: &str) -> Result<RecipeFile, Vec<Diagnostic>> {
    match parse_all(text, path) {
        (Some(file), mistakes) if mistakes.is_empty() => Ok(file),
        (_, mistakes) => Err(mistakes),
    }
}

/// Reads what can be read, with all mistakes; nothing when the text is not valid TOML.
pub(in crate::recipe) fn parse_all(text: &str, path: &str) -> (Option<RecipeFile>, Vec<Diagnostic>) {
    let document = Document::new(path, text);
    let (found, mut mistakes) = read(document.clone(), "the recipe", recipe);
    sort(&mut mistakes, &document);
    (found, mistakes)
}

fn recipe(reader: &mut Reader, mut top: Fields<'_, '_>) -> Option<RecipeFile> {
    edition(reader, &mut top);
    let simulator = match top.required(reader, "simulator") {
        Some(value) => reader.fields(value, "[simulator]").map(|fields| simulator(reader, fields)),
        None => None,
    };
    let version = simulator.as_ref().and_then(|simulator| simulator.version.as_ref());
    let (main, others) = (top.get("source"), top.get("sources"));
    let sources = sources::sources(reader, main, others, version.map(|version| version.value));
    let matrix = top.get("matrix").and_then(|value| reader.fields(value, "[matrix]"));
    let matrix = matrix.map(|fields| self::matrix(reader, fields));
    let toolchain = top.get("toolchain").and_then(|value| reader.fields(value, "[toolchain]"));
    let toolchain = toolchain.map(|fields| self::toolchain(reader, fields));
    let dependencies = top.get("dependencies").and_then(|value| reader.fields(value, "[dependencies]"));
    let dependencies = dependencies.map(|fields| self::dependencies(reader, fields));
    let components = match top.required(reader, "component") {
        Some(value) => components::components(reader, value),
        None => BTreeMap::new(),
    };
    let groups = top.get("kernels").map(|value| groups::groups(reader, value));
    let driver = top.get("driver").and_then(|value| reader.fields(value, "[driver]"));
    let driver = driver.map(|fields| self::driver(reader, fields));
    let lint = top.get("lint").and_then(|value| reader.fields(value, "[lint]"));
    let lint = lint.map(|fields| self::lint(reader, fields));
    let package = top.get("package").and_then(|value| reader.fields(value, "[package]"));
    let package = package.map(|fields| self::package(reader, fields));
    let smoke = top.get("smoke").and_then(|value| smoke(reader, value));
    let tests = top.get("test").map(|value| tests(reader, value)).unwrap_or_default();
    top.finish(reader);
    Some(RecipeFile {
        document: reader.document.clone(),
        simulator: simulator.unwrap_or_default(),
        source: sources.source,
        changes: sources.changes,
        matrix: matrix.unwrap_or_default(),
        toolchain: toolchain.unwrap_or_default(),
        dependencies: dependencies.unwrap_or_default(),
        components,
        groups: groups.unwrap_or_default(),
        driver: driver.unwrap_or_default(),
        lint: lint.unwrap_or_default(),
        package: package.unwrap_or_default(),
        smoke,
        tests,
    })
}

fn simulator(reader: &mut Reader, mut fields: Fields<'_, '_>) -> SimulatorTable {
    let name = fields.required(reader, "name").and_then(|value| reader.text(value, "name"));
    let name = name.filter(|name| {
        let fits = is_package_name(&name.value) && !name.value.contains('.');
        if !fits {
            let message = format!("`{}` cannot be the name of libraries and packages", name.value);
            let mistake = reader.mistake(name.span.clone(), message);
            reader.push(mistake.note("lower-case letters, digits, `-` and `_`, beginning with a letter or digit"));
        }
        fits
    });
    let table = SimulatorTable {
        name,
        version: fields.required(reader, "version").and_then(|value| reader.parsed(value, "version")),
        license: fields.required(reader, "license").and_then(|value| reader.text(value, "license")),
        summary: fields.required(reader, "summary").and_then(|value| reader.text(value, "summary")),
        homepage: fields.get("homepage").and_then(|value| reader.text(value, "homepage")),
        licence_files: fields
            .get("licence-files")
            .and_then(|value| reader.list(value, "licence-files", values::relative))
            .map(|list| reader.unique("licence-files", list))
            .unwrap_or_default(),
    };
    fields.finish(reader);
    table
}

fn matrix(reader: &mut Reader, mut fields: Fields<'_, '_>) -> MatrixTable {
    let platforms = fields.get("platforms").and_then(|value| {
        let known = [("linux-64", crate::arch::Platform::Linux64)];
        reader.list(value, "platforms", |reader, value| reader.choice(value, "platform", &known))
    });
    // An empty list names no release, as no list does.
    let cuda = fields
        .get("cuda")
        .filter(|value| value.get_ref().as_array().is_none_or(|items| !items.is_empty()))
        .and_then(|value| reader.list(value, "cuda", |reader, value| reader.parsed(value, "a CUDA release")));
    let listed = fields.get("capabilities");
    let sass = listed
        .and_then(|value| Some(Spanned { value: capabilities(reader, value, "capabilities")?, span: value.span() }));
    let ptx = fields.get("ptx").and_then(|value| capabilities(reader, value, "ptx"));
    let environments = fields.get("environments").and_then(|value| {
        let list = reader.list(value, "environments", |reader, value| reader.text(value, "an environment"))?;
        if list.is_empty() && value.get_ref().as_array().is_some_and(|items| items.is_empty()) {
            reader.wrong(value.span(), "[matrix] names no environment");
        }
        Some(Spanned { value: reader.unique("environments", list), span: value.span() })
    });
    let releases = fields.get("release").map(|value| releases(reader, value)).unwrap_or_default();
    let table = MatrixTable {
        span: fields.span.clone(),
        platforms: platforms.map(|list| reader.unique("platforms", list)),
        cuda: cuda.map(|list| reader.unique("cuda", list)),
        capabilities: sass,
        ptx,
        environments,
        releases,
    };
    fields.finish(reader);
    table
}

fn capabilities(reader: &mut Reader, value: &Value<'_>, key: &'static str) -> Option<Vec<Spanned<Capability>>> {
    let list = reader.list(value, key, |reader, value| reader.parsed(value, "a capability"))?;
    Some(reader.unique(key, list))
}

/// `[matrix.release."11.8"]`: what holds for one release alone.
fn releases(reader: &mut Reader, value: &Value<'_>) -> Vec<(Spanned<CudaVersion>, ReleaseTable)> {
    let mut found = Vec::new();
    let Some(fields) = reader.fields(value, "[matrix.release]") else { return found };
    for (key, value) in fields.entries() {
        let release = key.value.parse();
        if release.is_err() {
            reader.wrong(key.span.clone(), format!("`{}` is not a CUDA release such as 13.0", key.value));
        }
        let Some(mut fields) = reader.fields(value, format!("[matrix.release.\"{}\"]", key.value)) else { continue };
        let table = ReleaseTable {
            capabilities: fields.get("capabilities").and_then(|value| capabilities(reader, value, "capabilities")),
            ptx: fields.get("ptx").and_then(|value| capabilities(reader, value, "ptx")),
            toolchain: fields.get("toolchain").and_then(|value| reader.text(value, "toolchain")),
            cxx: fields.get("cxx").and_then(|value| reader.text(value, "cxx")),
            opens: fields.get("opens").map(|value| components::opens_of_release(reader, value)).unwrap_or_default(),
        };
        fields.finish(reader);
        found.extend(release.ok().map(|release| (key.with(release), table)));
    }
    found.sort_by_key(|(release, _)| release.span.start);
    found
}

fn toolchain(reader: &mut Reader, mut fields: Fields<'_, '_>) -> ToolchainTable {
    let host = fields.get("host").and_then(|value| host(reader, value));
    let cuda = fields.get("cuda").and_then(|value| {
        let mut fields = reader.fields(value, "cuda of [toolchain]")?;
        let release = fields.required(reader, "release").and_then(|value| reader.parsed(value, "release"));
        fields.finish(reader);
        release
    });
    fields.finish(reader);
    ToolchainTable { host, cuda }
}

/// `"system"`, `"zig"` or `{ use = "zig", glibc = "2.28", cpu = "x86-64-v2" }`.
fn host(reader: &mut Reader, value: &Value<'_>) -> Option<HostTable> {
    if value.get_ref().is_str() {
        let kind = reader.choice(value, "host compiler", &HostKind::NAMES);
        return Some(HostTable { span: value.span(), kind, ..HostTable::default() });
    }
    let mut fields = reader.fields(value, "host of [toolchain]")?;
    let kind = fields.get("use").and_then(|value| reader.choice(value, "host compiler", &HostKind::NAMES));
    let cxx = fields.get("cxx").and_then(|value| reader.parsed::<AtLeast>(value, "cxx"));
    let table = HostTable {
        span: fields.span.clone(),
        kind,
        cxx: cxx.map(|cxx| cxx.with(cxx.value.0)),
        glibc: fields.get("glibc").and_then(|value| reader.parsed(value, "glibc")),
        cpu: fields.get("cpu").and_then(|value| reader.choice(value, "processor", &CpuLevel::NAMES)),
    };
    fields.finish(reader);
    Some(table)
}

fn dependencies(reader: &mut Reader, mut fields: Fields<'_, '_>) -> file::DependenciesTable {
    let channels = fields.required(reader, "channels").and_then(|value| {
        let list = reader.list(value, "channels", channel)?;
        Some(reader.unique("channels", list))
    });
    fields.finish(reader);
    file::DependenciesTable { channels: channels.unwrap_or_default() }
}

/// An address, or a directory below or beside the recipe's.
fn channel(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    let mut channel = reader.text(value, "a channel")?;
    channel.value.truncate(channel.value.trim_end_matches('/').len());
    let why = match channel.value.split_once("://") {
        Some(("http" | "https" | "file", rest)) if !rest.is_empty() => return Some(channel),
        Some((scheme, _)) => format!("a channel cannot come by `{scheme}:`; write https://, http:// or file://"),
        None if channel.value.starts_with('/') => {
            "the directory is absolute; write it relative to the recipe's, or as file:///...".to_owned()
        }
        None if channel.value.contains('\\') => "directories are separated by `/`".to_owned(),
        None => return Some(channel),
    };
    reader.wrong(channel.span, why);
    None
}

fn driver(reader: &mut Reader, mut fields: Fields<'_, '_>) -> file::DriverTable {
    let profiles = fields.get("profiles").and_then(|value| {
        let list = reader.list(value, "profiles", |reader, value| reader.text(value, "a driver profile"))?;
        Some(reader.unique("profiles", list))
    });
    let tags = [("runpath", PathTag::Runpath), ("rpath", PathTag::Rpath)];
    let tag = fields.get("tag").and_then(|value| reader.choice(value, "dynamic tag", &tags));
    fields.finish(reader);
    file::DriverTable { profiles, tag }
}

fn lint(reader: &mut Reader, mut fields: Fields<'_, '_>) -> file::LintTable {
    let mut levels: Vec<(Spanned<String>, Level)> = Vec::new();
    for (key, level) in [("allow", Level::Allow), ("note", Level::Note), ("warn", Level::Warn), ("deny", Level::Deny)] {
        let Some(value) = fields.get(key) else { continue };
        for id in reader.list(value, key, lint_id).unwrap_or_default() {
            match levels.iter().find(|(other, _)| other.value == id.value) {
                Some((_, other)) => {
                    let message = format!("lint `{}` is listed under both `{other}` and `{level}`", id.value);
                    reader.wrong(id.span, message);
                }
                None => levels.push((id, level)),
            }
        }
    }
    let waivers = fields.get("waivers").and_then(|value| reader.list(value, "waivers", waiver));
    fields.finish(reader);
    file::LintTable { levels, waivers: waivers.unwrap_or_default() }
}

fn lint_id(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    if value.get_ref().is_table() {
        let mistake = reader.mistake(value.span(), "a level lists lint ids, not waivers");
        reader.push(
            mistake.hint("a waiver stands in `waivers`: [{ id = \"...\", subject = \"...\", reason = \"...\" }]"),
        );
        return None;
    }
    let id = reader.text(value, "a lint id")?;
    if id.value.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        return Some(id);
    }
    reader.wrong(id.span, format!("`{}` is not a lint id: lower-case letters, digits and `-`", id.value));
    None
}

fn waiver(reader: &mut Reader, value: &Value<'_>) -> Option<Waiver> {
    let mut fields = reader.fields(value, "a waiver")?;
    let id = fields.required(reader, "id").and_then(|value| lint_id(reader, value));
    let subject = fields.required(reader, "subject").and_then(|value| reader.text(value, "subject"));
    let reason = fields.required(reader, "reason").and_then(|value| reader.text(value, "reason"));
    fields.finish(reader);
    let subject = subject.filter(|subject| values::is_glob(reader, subject));
    Some(Waiver { id: id?.value, subject: subject?.value, reason: reason?.value })
}

fn package(reader: &mut Reader, mut fields: Fields<'_, '_>) -> PackageTable {
    let conda = fields.get("conda").and_then(|value| reader.fields(value, "[package.conda]"));
    let wheel = fields.get("wheel").and_then(|value| reader.fields(value, "[package.wheel]"));
    let nix = fields.get("nix").and_then(|value| reader.fields(value, "[package.nix]"));
    fields.finish(reader);
    let experimental = wheel.map(|fields| experiments(reader, fields)).unwrap_or_default();
    let nix_maintainers = nix.map(|fields| handles(reader, fields)).unwrap_or_default();
    let Some(mut fields) = conda else {
        return PackageTable { experimental, nix_maintainers, ..PackageTable::default() };
    };
    let channel = fields.get("channel").and_then(|value| reader.text(value, "channel"));
    let channel = channel.filter(|channel| {
        let fits = not_relative(&channel.value).is_none() && channel.value.split('/').all(is_package_name);
        if !fits {
            reader.wrong(channel.span.clone(), format!("`{}` cannot be the name of a channel", channel.value));
        }
        fits
    });
    let build_number = fields.get("build-number");
    let build_number = build_number.and_then(|value| reader.integer(value, "build-number", 0..=9999));
    let fallback = fields.get("fallback");
    let fallback = fallback.and_then(|value| reader.choice(value, "a fallback", &Fallback::NAMES));
    let profile = fields.get("profile");
    let profile = profile.and_then(|value| reader.choice(value, "a profile", &CondaProfile::NAMES));
    let maintainers = fields.get("maintainers").and_then(|value| reader.list(value, "maintainers", account));
    fields.finish(reader);
    let maintainers = maintainers.unwrap_or_default();
    PackageTable { channel, build_number, fallback, profile, maintainers, nix_maintainers, experimental }
}

/// Names among the maintainers of nixpkgs, which are attributes there.
fn handles(reader: &mut Reader, mut fields: Fields<'_, '_>) -> Vec<String> {
    let one = |reader: &mut Reader, value: &Value<'_>| {
        let handle = reader.text(value, "a maintainer")?;
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let fits = handle.value.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if !fits || !handle.value.chars().all(is_word) {
            reader.wrong(handle.span.clone(), format!("`{}` cannot be a name of nixpkgs' maintainers", handle.value));
            return None;
        }
        Some(handle.value)
    };
    let found = fields.get("maintainers").and_then(|value| reader.list(value, "maintainers", one));
    fields.finish(reader);
    found.unwrap_or_default()
}

/// What wheels do beyond what is agreed upon.
fn experiments(reader: &mut Reader, mut fields: Fields<'_, '_>) -> Vec<WheelExperiment> {
    let one = |reader: &mut Reader, value: &Value<'_>| {
        reader.choice(value, "an experiment", &WheelExperiment::NAMES).map(|found| found.value)
    };
    let found = fields.get("experimental").and_then(|value| reader.list(value, "experimental", one));
    fields.finish(reader);
    found.unwrap_or_default()
}

/// Name of an account on a forge: letters, digits and `-`, or a team as `ORGANISATION/TEAM`.
fn account(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    let name = reader.text(value, "a maintainer")?;
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with('-')
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if name.value.split('/').count() <= 2 && name.value.split('/').all(is_word) {
        return Some(name);
    }
    reader.wrong(name.span, format!("`{}` cannot be the name of an account", name.value));
    None
}
