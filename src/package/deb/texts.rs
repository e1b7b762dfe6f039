//! What every package of Debian carries below `/usr/share`: changelog, copyright, and what its checker is told.

use std::io::Write;

use flate2::{Compression, GzBuilder};

use super::super::Package;
use super::control::Fields;
use crate::arch::KernelTarget;
use crate::bundle::BundleManifest;
use crate::error::{Error, Result};
use crate::recipe::{ComponentKind, KernelForm};

/// Files below the root of the package, with their bytes.
pub(super) fn texts(package: &Package, fields: &Fields) -> Result<Vec<(String, Vec<u8>)>> {
    let place = format!("usr/share/doc/{}", fields.name);
    let mut texts = vec![
        (format!("{place}/changelog.Debian.gz"), gzip(changelog(package, fields)?.as_bytes())?),
        (format!("{place}/copyright"), copyright(package).into_bytes()),
    ];
    let overrides = overrides(package, fields);
    if !overrides.is_empty() {
        texts.push((format!("usr/share/lintian/overrides/{}", fields.name), overrides.into_bytes()));
    }
    Ok(texts)
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}

/// The one entry that is known: that it was packaged, at the package's time.
fn changelog(package: &Package, fields: &Fields) -> Result<String> {
    let seconds = i64::try_from(package.time()).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let time = seconds.ok_or_else(|| Error::bug(format!("package {}: no time {}", package.name(), package.time())))?;
    let date = time.strftime("%a, %d %b %Y %H:%M:%S +0000");
    Ok(format!(
        "{} ({}) unstable; urgency=medium\n\n  * Packaged by simpack from its recipe.\n\n -- {}  {date}\n",
        fields.name, fields.version, fields.maintainer
    ))
}

/// Licence expression and texts, in Debian's form ("Machine-readable debian/copyright file", 1.0).
fn copyright(package: &Package) -> String {
    let licence = package.manifest.license.as_deref().unwrap_or("NOASSERTION");
    let mut text = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n".to_owned();
    text.push_str(&format!("Upstream-Name: {}\n", package.manifest.simulator));
    text.extend(package.homepage.iter().map(|homepage| format!("Source: {homepage}\n")));
    text.push_str(&format!("\nFiles: *\nCopyright: {}\nLicense: {licence}\n", holders(package)));
    for (name, content) in &package.licences {
        text.push_str(&format!(" The text of {name}:\n .\n"));
        for line in content.lines() {
            text.push_str(&if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {}\n", line.trim_end()) });
        }
        text.push_str(" .\n");
    }
    text.trim_end_matches(" .\n").to_owned()
}

/// Lines of the licence texts that name who holds the rights.
fn holders(package: &Package) -> String {
    let lines = package.licences.values().flat_map(|text| text.lines()).map(str::trim);
    let named: Vec<&str> =
        lines.filter(|line| line.starts_with("Copyright") && line.bytes().any(|it| it.is_ascii_digit())).collect();
    let mut named: Vec<&str> = named.iter().map(|line| line.trim_start_matches("Copyright").trim()).collect();
    named.sort_unstable();
    named.dedup();
    if named.is_empty() { "those that the licence texts below name".to_owned() } else { named.join("\n ") }
}

/// Whether a file below the prefix is one of [`texts`], whatever the package's CUDA release adds to its name.
pub(in super::super) fn is_text(manifest: &BundleManifest, path: &str) -> bool {
    let plain = super::relations::plain(&manifest.package);
    let is_own = |name: &str| name == plain || name.starts_with(&format!("{plain}-cuda"));
    let doc = path.strip_prefix("share/doc/").and_then(|rest| rest.split_once('/'));
    let is_doc = doc.is_some_and(|(name, file)| is_own(name) && ["changelog.Debian.gz", "copyright"].contains(&file));
    is_doc || path.strip_prefix("share/lintian/overrides/").is_some_and(is_own)
}

/// What Debian's checker would call an error and is meant, each with its reason.
fn overrides(package: &Package, fields: &Fields) -> String {
    let mut lines = Vec::new();
    let mut say = |reason: &str, tag: &str| {
        lines.extend(reason.lines().map(|line| format!("# {line}")));
        lines.push(format!("{}: {tag}", fields.name));
    };
    let manifest = &package.manifest;
    if manifest.form() == Some(KernelForm::Cubin) && matches!(manifest.target, Some(KernelTarget::Sass(_))) {
        say(
            "Device code is data to the host: cubins are ELF files of the GPU, and the same on every machine.",
            "arch-independent-package-contains-binary-or-object *",
        );
        say("A cubin has no symbols of the host's that could be stripped.", "unstripped-binary-or-object *");
        say("A cubin is linked, and no program of the host.", "statically-linked-binary *");
    }
    if matches!(manifest.component, ComponentKind::Core | ComponentKind::Rtc) || manifest.is_slice() {
        say(
            "Components find each other relative to themselves, and the driver where it lies on containers, WSL and NixOS.",
            "custom-library-search-path *",
        );
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
