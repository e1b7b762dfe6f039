//! Licence texts of vendors for packages that hold their files: what may be passed on comes with the text that says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bundle::{Artifact, ArtifactKind, Bundle};
use crate::elf::Facts;
use crate::error::{Error, Result};
use crate::fs;
use crate::manifest::{Redistribution, VendorLicence};
use crate::pack::{self, BundleKey};
use crate::pipeline::job::Job;

/// How deep below a toolkit a licence text lies at most.
const DEPTH: usize = 3;

/// The texts of each bundle by file name. `own` are the texts at the top of the source: one that is called after a
/// licence is its text, and in every package. Otherwise it is that of a toolkit that the build takes.
///
/// # Errors
/// A bundle holds a vendor's file, and nobody here has the licence.
pub(in crate::pipeline) fn licences(
    job: &Job,
    bundles: &[Bundle],
    own: &BTreeMap<String, String>,
) -> Result<BTreeMap<BundleKey, BTreeMap<String, String>>> {
    let known = &job.inputs.manifests.redistribution;
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let mut found: BTreeMap<_, BTreeMap<String, String>> = BTreeMap::new();
    for bundle in bundles {
        for (id, (licence, file)) in held(bundle, known)? {
            if own.keys().any(|name| name.contains(id)) {
                continue;
            }
            if !texts.contains_key(id) {
                let text = text(job, licence)?.ok_or_else(|| missing(bundle, licence, &file))?;
                texts.insert(id, text);
            }
            let texts_here = found.entry(pack::key(&bundle.manifest)).or_default();
            texts_here.insert(format!("{id}.txt"), texts[id].clone());
        }
    }
    Ok(found)
}

fn missing(bundle: &Bundle, licence: &VendorLicence, file: &str) -> Error {
    let what = format!("{} holds {file}, and the text of its licence is not here", bundle.manifest.package);
    Error::recipe(what)
        .detail(format!("who passes it on passes on the {}, too", licence.name))
        .hint(format!("put the text at the top of the source as LICENSE.{}.txt", licence.id))
}

/// Licences of vendors, by their ids, under which files of a bundle may be passed on; each with the first such file.
fn held<'a>(bundle: &Bundle, known: &'a Redistribution) -> Result<BTreeMap<&'a str, (&'a VendorLicence, String)>> {
    let facts: BTreeMap<String, Arc<Facts>> = bundle.host_facts()?.into_iter().collect();
    let mut found = BTreeMap::new();
    for Artifact { path, kind } in &bundle.manifest.artifacts {
        let ArtifactKind::File { .. } = kind else { continue };
        let soname = facts.get(path).and_then(|facts| facts.soname.as_deref());
        let names = [path.rsplit('/').next(), soname].into_iter().flatten();
        let terms = names.into_iter().find_map(|name| known.terms(name)).filter(|terms| terms.may);
        if let Some(licence) = terms.and_then(|terms| known.licence(terms)) {
            found.entry(licence.id.as_str()).or_insert_with(|| (licence, path.clone()));
        }
    }
    Ok(found)
}

/// The text of a licence as a toolkit has it.
fn text(job: &Job, licence: &VendorLicence) -> Result<Option<String>> {
    for root in job.inputs.toolkits() {
        let entries = walkdir::WalkDir::new(&root).max_depth(DEPTH).sort_by_file_name().into_iter().flatten();
        let files = entries.filter(|entry| entry.file_type().is_file());
        let files: Vec<String> = files.filter_map(|entry| fs::relative(&root, entry.path()).ok()).collect();
        let names: Vec<&str> = files.iter().map(String::as_str).collect();
        if let Some(place) = licence.text(&names) {
            return Ok(Some(fs::read_to_string(&root.join(place))?));
        }
    }
    Ok(None)
}
