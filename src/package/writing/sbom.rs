//! The bill of materials of a package, as CycloneDX 1.6: its files, what it depends on, what makes its files, and the
//! licences of all of them. It follows from the package alone, serial number and time too, so that it may lie inside.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bundle::{Artifact, ArtifactKind, Dependency, ToolVersion};
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::manifest::{Code, Redistribution};
use crate::package::Package;
use crate::recipe::ComponentKind;

/// The bytes of a package's bill of materials. `known` says which licences compilers and vendor libraries have.
///
/// # Errors
/// The package has a time that no calendar knows.
pub fn sbom(package: &Package, known: &Redistribution) -> Result<Vec<u8>> {
    let subject = format!("package:{}", package.name());
    let used = used(package, known);
    let made_by = made_by(package, known);
    let parts = parts(package, known);
    let needs: Vec<&str> = used.iter().chain(&parts).filter_map(|part| part["bom-ref"].as_str()).collect();
    let components = [files(package, known), used.clone(), parts.clone()].concat();
    let mut bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time(package)?,
            "tools": { "components": tools(package) },
            "component": described(package, &subject),
        },
        "components": components,
        "dependencies": [{ "ref": subject, "dependsOn": needs }],
    });
    if !made_by.is_empty() {
        bom["formulation"] = json!([{ "bom-ref": "build", "components": made_by }]);
    }
    bom["serialNumber"] = json!(serial(&bom));
    let mut bytes = serde_json::to_vec_pretty(&bom)
        .map_err(|error| Error::bug("a bill of materials does not print as JSON").because(error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A UUID of version 8 (RFC 9562): the digits are those of a digest over everything else.
fn serial(bom: &Value) -> String {
    let mut bytes: [u8; 16] =
        Digest::of(bom.to_string().as_bytes()).as_bytes()[..16].try_into().expect("half of 32 bytes");
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("urn:uuid:{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn time(package: &Package) -> Result<String> {
    let seconds = i64::try_from(package.time()).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let none = || Error::bug(format!("package {}: no time {}", package.name(), package.time()));
    seconds.map(|time| time.to_string()).ok_or_else(none)
}

/// What wrote the bill: simpack; of packages that are the same by whichever simpack, nobody.
fn tools(package: &Package) -> Vec<Value> {
    match package.manifest.provenance.simpack.as_str() {
        "" => Vec::new(),
        version => vec![json!({ "type": "application", "name": "simpack", "version": version })],
    }
}

/// The package itself.
fn described(package: &Package, subject: &str) -> Value {
    let manifest = &package.manifest;
    let kind = match manifest.component {
        // Device code is data to the host: CycloneDX has no word of its own for it.
        ComponentKind::Kernels | ComponentKind::Source => "data",
        ComponentKind::Core | ComponentKind::Meta => "application",
        _ => "library",
    };
    let mut about = json!({
        "type": kind,
        "bom-ref": subject,
        "name": package.name(),
        "version": package.version.to_string(),
        "description": package.summary,
        "purl": format!("pkg:generic/{}@{}", package.name(), package.version),
    });
    if let Some(licence) = &manifest.license {
        about["licenses"] = json!([{ "expression": licence }]);
    }
    if let Some(homepage) = &package.homepage {
        about["externalReferences"] = json!([{ "type": "website", "url": homepage }]);
    }
    let facts = [
        ("simulator", Some(manifest.simulator.clone())),
        ("component", Some(manifest.component.to_string())),
        ("platform", manifest.platform.map(|platform| platform.to_string())),
        ("target", manifest.target.map(|target| target.to_string())),
        ("cuda", manifest.cuda.map(|cuda| cuda.to_string())),
        ("kernel-abi", manifest.kernel_abi.as_ref().map(ToString::to_string)),
        ("glibc", manifest.glibc.map(|glibc| glibc.to_string())),
        ("recipe-sha256", Some(manifest.provenance.recipe.to_string())),
        ("plan-sha256", Some(manifest.provenance.plan.to_string())),
    ];
    about["properties"] = properties(facts.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
    about
}

fn properties<'a>(facts: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    facts.map(|(name, value)| json!({ "name": format!("simpack:{name}"), "value": value })).collect()
}

fn hash(digest: &Digest) -> Value {
    json!([{ "alg": "SHA-256", "content": digest.to_string() }])
}

/// Every file with its digest, and those of vendors with their licence.
fn files(package: &Package, known: &Redistribution) -> Vec<Value> {
    let file = |Artifact { path, kind }: &Artifact| {
        let ArtifactKind::File { sha256, .. } = kind else { return None };
        let mut file =
            json!({ "type": "file", "bom-ref": format!("file:{path}"), "name": path, "hashes": hash(sha256) });
        let terms = known.terms(path.rsplit('/').next().unwrap_or(path));
        if let Some(licence) = terms.and_then(|terms| known.licence(terms)) {
            file["licenses"] = json!([{ "license": { "name": licence.name } }]);
        }
        Some(file)
    };
    package.manifest.artifacts.iter().filter_map(file).collect()
}

/// What must be installed beside it.
fn used(package: &Package, known: &Redistribution) -> Vec<Value> {
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for dependency in &package.manifest.dependencies {
        let Some(name) = dependency.name() else { continue };
        let mut part = json!({ "type": "library", "name": name, "scope": "required" });
        match dependency {
            Dependency::Component { version, .. } | Dependency::Build { version, .. } => {
                part["version"] = json!(version.to_string());
            }
            Dependency::Vendor { versions, .. } | Dependency::Package { versions, .. } => {
                part["properties"] = properties([("versions", versions.to_string().as_str())].into_iter());
                if let Some(product) = known.product(name, true) {
                    part["licenses"] = licence(&product.licence, known);
                }
            }
            Dependency::KernelAbi { .. } | Dependency::Slot { .. } => {}
        }
        let name = format!("needs:{name}");
        part["bom-ref"] = json!(name);
        found.insert(name, part);
    }
    found.into_values().collect()
}

/// What compilers put of their own into the files: runtimes that are linked in.
fn parts(package: &Package, known: &Redistribution) -> Vec<Value> {
    let (has_host, has_device) = (package.manifest.platform.is_some(), package.manifest.target.is_some());
    let holds = |of: Code| match of {
        Code::Host => has_host,
        Code::Device => has_device,
    };
    let mut found = Vec::new();
    for (tool, ToolVersion { version, sha256 }) in &package.manifest.provenance.tools {
        for part in known
            .product(tool, sha256.is_some())
            .iter()
            .flat_map(|product| &product.parts)
            .filter(|part| holds(part.of))
        {
            let mut value = json!({
                "type": "library",
                "bom-ref": format!("part:{}", part.name),
                "name": part.name,
                "version": version,
                "description": format!("a part of {tool} that is linked into files of the package"),
            });
            value["licenses"] = licence(&part.licence, known);
            found.push(value);
        }
    }
    found
}

/// Compilers and build tools, and the sources that device code was compiled from.
fn made_by(package: &Package, known: &Redistribution) -> Vec<Value> {
    let provenance = &package.manifest.provenance;
    let mut made = Vec::new();
    for (name, tool) in &provenance.tools {
        let mut value = json!({
            "type": "application", "bom-ref": format!("tool:{name}"), "name": name, "version": tool.version,
        });
        if let Some(digest) = &tool.sha256 {
            value["hashes"] = hash(digest);
        }
        if let Some(product) = known.product(name, tool.sha256.is_some()) {
            value["licenses"] = licence(&product.licence, known);
            value["name"] = json!(product.title.as_ref().unwrap_or(name));
        }
        made.push(value);
    }
    let source = |(path, digest): (&String, &Digest)| json!({ "type": "file", "bom-ref": format!("source:{path}"), "name": path, "hashes": hash(digest) });
    made.extend(provenance.sources.iter().map(source));
    made
}

/// An SPDX expression, or the name of a licence that SPDX does not list.
fn licence(text: &str, known: &Redistribution) -> Value {
    match known.licence_of(text) {
        Some(licence) => json!([{ "license": { "name": licence.name } }]),
        None => json!([{ "expression": text }]),
    }
}
