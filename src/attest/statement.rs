//! The statement: SLSA provenance 1.0 in an in-toto statement 1.0. It names every file of `dist/` with its digest, what
//! was asked for, the steps with their keys, the tools, and how steps were isolated.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::crates::crates;
use crate::arch::CudaVersion;
use crate::bundle::ToolVersion;
use crate::error::Result;
use crate::fs::{self, Digest, EntryKind};
use crate::process::IsolationKind;
use crate::toolchain::Commit;

/// The file of the statement, in `dist/`.
pub const PROVENANCE: &str = "provenance.json";
/// Type of the statement (in-toto attestation framework, statement layer).
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// Type of what it states (SLSA 1.0, provenance).
const PREDICATE: &str = "https://slsa.dev/provenance/v1";
/// How parameters are to be understood: the fields of [`Internal`] and [`External`].
const BUILD_TYPE: &str = "urn:simpack:build:1";
/// Who built: this program on some machine. Who that was is said by a signature.
const BUILDER: &str = "urn:simpack:local";

/// The statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    #[serde(rename = "_type")]
    pub(super) kind: String,
    pub(super) subject: Vec<Resource>,
    #[serde(rename = "predicateType")]
    pub(super) predicate_type: String,
    pub(super) predicate: Predicate,
}

/// A file, tool or source (in-toto resource descriptor).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Resource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digest: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Predicate {
    pub build_definition: Definition,
    pub run_details: Run,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Definition {
    pub build_type: String,
    pub external_parameters: External,
    pub internal_parameters: Internal,
    pub resolved_dependencies: Vec<Resource>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub builder: Builder,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Builder {
    pub id: String,
    pub version: BTreeMap<String, String>,
    #[serde(default)]
    pub builder_dependencies: Vec<Resource>,
}

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct External {
    pub simulator: String,
    pub version: String,
    /// Digests of the resolved recipe, by CUDA release, without its targets.
    pub recipes: BTreeMap<CudaVersion, Digest>,
    pub source_date_epoch: u64,
}

/// What simpack made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Internal {
    /// The weakest isolation of all steps.
    pub isolation: IsolationKind,
    pub steps: Vec<StepRecord>,
    pub packages: Vec<BuiltPart>,
}

/// One step of the build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StepRecord {
    /// Its id.
    pub id: String,
    /// Its key: a digest over everything that decides what it makes.
    pub key: Digest,
    /// How it was isolated, now or when the cache took what it made.
    pub isolation: IsolationKind,
    /// Whether it went on in the build tree of an earlier build: nobody has proven that a clean one gives the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incremental: bool,
}

/// A package with files, and the steps that made them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BuiltPart {
    /// Package.
    pub package: String,
    /// CUDA release of its device code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<CudaVersion>,
    /// Digest over the keys of its steps, as its `simpack.json` has it.
    pub plan: Digest,
    /// Its steps, as places in the list of all.
    pub steps: Vec<usize>,
}

/// Everything that is stated beside the files.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Simulator's name.
    pub simulator: String,
    /// Its version.
    pub version: String,
    /// Digests of the resolved recipe, by CUDA release.
    pub recipes: BTreeMap<CudaVersion, Digest>,
    /// Time stamp of packages.
    pub source_date_epoch: u64,
    /// Where the recipe says that the source is: an address, or a word for what lies beside it.
    pub source: String,
    /// Digest over all files of the source that count.
    pub source_digest: Digest,
    /// Its commit, where it has one.
    pub state: Option<Commit>,
    /// Tools by CUDA release and name.
    pub tools: BTreeMap<CudaVersion, BTreeMap<String, ToolVersion>>,
    /// Steps in the plan's order.
    pub steps: Vec<StepRecord>,
    /// Packages with files.
    pub parts: Vec<BuiltPart>,
}

/// What the names of signatures end with: simpack's own, and the bundles that tools of sigstore write beside a file.
const BESIDE: [&str; 2] = [super::SIGNATURE, super::sigstore::BUNDLE];

/// Names and digests of all files below `dist`, without the statement itself and without signatures; sorted.
///
/// # Errors
/// A file cannot be read.
pub fn subjects(dist: &Path) -> Result<BTreeMap<String, Digest>> {
    let mut found = BTreeMap::new();
    for entry in fs::walk(dist)? {
        let is_beside = entry.path == PROVENANCE || BESIDE.iter().any(|end| entry.path.ends_with(end));
        if let EntryKind::File { .. } = entry.kind
            && !is_beside
        {
            let digest = Digest::of_file(&dist.join(&entry.path))?;
            found.insert(entry.path, digest);
        }
    }
    Ok(found)
}

/// States where the files below `dist` come from.
///
/// # Errors
/// A file cannot be read.
pub fn statement(origin: &Origin, dist: &Path) -> Result<Statement> {
    let subject = subjects(dist)?.into_iter().map(|(name, digest)| Resource::file(name, digest)).collect();
    let isolation = origin.steps.iter().map(|step| step.isolation).min().unwrap_or_default();
    let builder = Builder {
        id: BUILDER.to_owned(),
        version: BTreeMap::from([("simpack".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
        builder_dependencies: builder_dependencies(),
    };
    Ok(Statement {
        kind: STATEMENT.to_owned(),
        subject,
        predicate_type: PREDICATE.to_owned(),
        predicate: Predicate {
            build_definition: Definition {
                build_type: BUILD_TYPE.to_owned(),
                external_parameters: External {
                    simulator: origin.simulator.clone(),
                    version: origin.version.clone(),
                    recipes: origin.recipes.clone(),
                    source_date_epoch: origin.source_date_epoch,
                },
                internal_parameters: Internal {
                    isolation,
                    steps: origin.steps.clone(),
                    packages: origin.parts.clone(),
                },
                resolved_dependencies: dependencies(origin),
            },
            run_details: Run { builder },
        },
    })
}

/// The source and the tools.
fn dependencies(origin: &Origin) -> Vec<Resource> {
    let mut source = Resource::file("source".to_owned(), origin.source_digest);
    source.uri = Some(origin.source.clone());
    // Nobody can tell without version control, and then nothing is said.
    if let Some(Commit { id, dirty }) = &origin.state {
        source.digest.insert("gitCommit".to_owned(), id.clone());
        source.annotations.insert("dirty".to_owned(), json!(dirty));
    }
    let mut tools: BTreeMap<String, Resource> = BTreeMap::new();
    for (cuda, all) in &origin.tools {
        for (name, tool) in all {
            let named = format!("{name} {}", tool.version);
            let resource = tools.entry(named).or_insert_with(|| Resource::tool(name, tool));
            let releases = resource.annotations.entry("cuda").or_insert_with(|| json!([]));
            releases.as_array_mut().into_iter().for_each(|list| list.push(json!(cuda)));
        }
    }
    std::iter::once(source).chain(tools.into_values()).collect()
}

fn builder_dependencies() -> Vec<Resource> {
    let resource = |package: super::crates::Crate| Resource {
        name: Some(package.name.clone()),
        uri: Some(format!("pkg:cargo/{}@{}", package.name, package.version)),
        digest: package.checksum.into_iter().map(|digest| ("sha256".to_owned(), digest)).collect(),
        annotations: Map::new(),
    };
    crates().into_iter().map(resource).collect()
}

impl Resource {
    fn file(name: String, digest: Digest) -> Self {
        let digest = BTreeMap::from([("sha256".to_owned(), digest.to_string())]);
        Self { name: Some(name), uri: None, digest, annotations: Map::new() }
    }

    /// A tool that is not pinned has no digest: then its version stands for it.
    fn tool(name: &str, tool: &ToolVersion) -> Self {
        let digest = tool.sha256.map(|digest| ("sha256".to_owned(), digest.to_string()));
        let mut annotations = Map::new();
        annotations.insert("version".to_owned(), json!(tool.version));
        let uri = digest.is_none().then(|| format!("urn:simpack:tool:{name}"));
        Self { name: Some(name.to_owned()), uri, digest: digest.into_iter().collect(), annotations }
    }

    /// Its SHA-256, if it has one that is one.
    pub(super) fn sha256(&self) -> Option<Digest> {
        self.digest.get("sha256")?.parse().ok()
    }
}

impl Statement {
    /// Its text.
    ///
    /// # Errors
    /// It does not print as JSON.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| crate::error::Error::bug("a statement does not print as JSON").because(error))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Whether its types are those that simpack writes and reads.
    pub(super) fn is_known(&self) -> bool {
        let types = (self.kind.as_str(), self.predicate_type.as_str(), self.definition().build_type.as_str());
        types == (STATEMENT, PREDICATE, BUILD_TYPE)
    }

    pub(super) fn definition(&self) -> &Definition {
        &self.predicate.build_definition
    }
}
