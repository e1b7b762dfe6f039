//! Image layouts of the Open Container Initiative ("OCI Image Format Specification", image layout 1.0): a layer for each
//! package, which the images of all targets share, and no base layer. What an image runs on, the C library above all, is
//! the host's, or that of the image it is put onto.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::reading::kept::sums_of;
use super::writing::packed_tar::header;
use super::{
    BuiltPackage, Content, Effort, Efforts, Format, FormatContext, Named, Package, PackageWriter, feed, with_files,
    with_licences, write_all,
};
use crate::arch::{CudaVersion, KernelTarget};
use crate::bundle::{Artifact, ArtifactKind, Dependency};
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::recipe::ComponentKind;

/// The file that makes a directory an image layout.
pub const LAYOUT: &str = "oci-layout";
/// Where a layout has its layers, and all else, by digest.
pub const BLOBS: &str = "blobs/sha256";
/// The directory of an image below which each simulator has one.
pub const ABOVE: &str = "opt";

/// Image layouts.
#[derive(Debug, Clone, Copy)]
pub struct Oci;

/// A package as a layer.
struct Layer<'a> {
    package: &'a Package,
    built: BuiltPackage,
    /// Digest of the archive before compression, by which a configuration names it.
    diff: Digest,
}

impl Format for Oci {
    fn name(&self) -> &'static str {
        "oci"
    }

    fn about(&self) -> &'static str {
        "an OCI image layout, one image a target, without a base layer; for umoci, skopeo, Apptainer"
    }

    /// Layers are named by their digests.
    fn endings(&self) -> &'static [&'static str] {
        &[]
    }

    fn write(
        &self,
        packages: &[Package],
        context: &FormatContext<'_>,
        dir: &Path,
        jobs: NonZeroUsize,
    ) -> Result<Vec<BuiltPackage>> {
        let blobs = dir.join(BLOBS);
        fs_err::create_dir_all(&blobs)?;
        let layers = write_all(&with_files(packages), jobs, |package, _| {
            let mut beside = with_licences(package, context)?;
            beside.push(sums_of(package, &beside)?);
            feed(package, &beside, LayerWriter::new(package, &blobs)?)
        })?;
        let mut manifests = Vec::new();
        for (tag, of) in images(&layers, packages) {
            manifests.push(image(&tag, &of, &blobs)?);
        }
        let index = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests,
        });
        fs::write_atomic(&dir.join("index.json"), &text(&index)?)?;
        fs::write_atomic(&dir.join(LAYOUT), &text(&json!({ "imageLayoutVersion": "1.0.0" }))?)?;
        Ok(layers.into_iter().map(|layer| layer.built).collect())
    }
}

/// Images by tag, each with its layers: core with one kernel package, with all of them, with none, and with everything
/// that programs are compiled against. Packages of several CUDA releases lie at the same paths, so an image has those
/// of one. An image for a GPU of CUDA has the shaders that the simulator's own package, among `packages`, brings too: the
/// machine may have other GPUs.
fn images<'a>(layers: &'a [Layer<'a>], packages: &[Package]) -> BTreeMap<String, Vec<&'a Layer<'a>>> {
    let component = |layer: &&Layer<'_>| layer.package.manifest.component;
    let is_shader = |layer: &&Layer<'_>| layer.package.manifest.target.is_some_and(KernelTarget::is_shader);
    let meta = packages.iter().find(|package| package.manifest.component == ComponentKind::Meta);
    let brought: BTreeSet<&str> =
        meta.iter().flat_map(|meta| &meta.manifest.dependencies).filter_map(Dependency::name).collect();
    let releases: BTreeSet<CudaVersion> = layers.iter().filter_map(|layer| layer.package.manifest.cuda).collect();
    let releases: Vec<Option<CudaVersion>> = match releases.is_empty() {
        true => vec![None],
        false => releases.iter().copied().map(Some).collect(),
    };
    let mut found = BTreeMap::new();
    for release in &releases {
        let here =
            |layer: &&Layer<'_>| layer.package.manifest.cuda.is_none() || layer.package.manifest.cuda == *release;
        let of = |kinds: &[ComponentKind]| {
            layers.iter().filter(here).filter(|layer| kinds.contains(&component(layer))).collect::<Vec<_>>()
        };
        let base = of(&[ComponentKind::Core, ComponentKind::Rtc]);
        let kernels: Vec<_> = of(&[ComponentKind::Kernels]);
        let Some(version) = layers.first().map(|layer| layer.package.version) else { break };
        let start = match release.filter(|_| releases.len() > 1) {
            Some(cuda) => format!("{version}-cuda{cuda}"),
            None => version.to_string(),
        };
        for kernel in &kernels {
            let Some(target) = kernel.package.manifest.target else { continue };
            let is_beside =
                |layer: &&Layer<'_>| !target.is_shader() && is_shader(layer) && brought.contains(layer.package.name());
            let shaders = kernels.iter().copied().filter(is_beside).collect();
            found.insert(format!("{start}-{target}"), [base.clone(), vec![*kernel], shaders].concat());
        }
        // Libraries that ship cut lie at one path: no image has two of them.
        let exclusive = kernels.iter().any(|kernel| kernel.package.manifest.is_slice());
        if !exclusive {
            let all = [base.clone(), kernels].concat();
            let more = of(&[ComponentKind::Dev, ComponentKind::Static, ComponentKind::Source]);
            if !more.is_empty() {
                found.insert(format!("{start}-dev"), [all.clone(), more].concat());
            }
            found.insert(start.clone(), all);
        }
        found.entry(format!("{start}-cpu")).or_insert(base);
    }
    found.retain(|_, layers| !layers.is_empty());
    found
}

/// Writes configuration and manifest of an image; answers its entry of the index.
fn image(tag: &str, layers: &[&Layer<'_>], blobs: &Path) -> Result<Value> {
    let first = layers.first().ok_or_else(|| Error::bug(format!("image {tag} has no layer")))?.package;
    let simulator = &first.manifest.simulator;
    let seconds = i64::try_from(first.time()).ok().and_then(|time| jiff::Timestamp::from_second(time).ok());
    let created = seconds.ok_or_else(|| Error::bug(format!("image {tag}: no time {}", first.time())))?.to_string();
    let program = format!("bin/{simulator}");
    let has_program = layers.iter().any(|layer| layer.package.manifest.artifacts.iter().any(|it| it.path == program));
    let mut run = json!({
        "Env": [format!("PATH=/{}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", prefix(simulator))],
    });
    if has_program {
        run["Entrypoint"] = json!([format!("/{}/{program}", prefix(simulator))]);
    }
    let history =
        |layer: &&Layer<'_>| json!({ "created": created, "created_by": format!("simpack: {}", layer.package.name()) });
    let config = json!({
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": run,
        "rootfs": { "type": "layers", "diff_ids": layers.iter().map(|layer| named(layer.diff)).collect::<Vec<_>>() },
        "history": layers.iter().map(history).collect::<Vec<_>>(),
    });
    let config = blob(&text(&config)?, blobs)?;
    let layer = |layer: &&Layer<'_>| {
        json!({
            "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
            "digest": named(layer.built.sha256),
            "size": layer.built.size,
            "annotations": { "org.opencontainers.image.title": layer.package.name() },
        })
    };
    let mut about = json!({
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.title": simulator,
        "org.opencontainers.image.version": first.version.to_string(),
        "org.opencontainers.image.description": first.summary,
    });
    if let Some(licence) = &first.manifest.license {
        about["org.opencontainers.image.licenses"] = json!(licence);
    }
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "application/vnd.oci.image.config.v1+json", "digest": named(config.0), "size": config.1 },
        "layers": layers.iter().map(layer).collect::<Vec<_>>(),
        "annotations": about,
    });
    let (digest, size) = blob(&text(&manifest)?, blobs)?;
    Ok(json!({
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": named(digest),
        "size": size,
        "platform": { "architecture": "amd64", "os": "linux" },
        "annotations": { "org.opencontainers.image.ref.name": tag },
    }))
}

/// Where a simulator lies in its images.
pub fn prefix(simulator: &str) -> String {
    format!("{ABOVE}/{simulator}")
}

fn named(digest: Digest) -> String {
    format!("sha256:{digest}")
}

fn text(value: &Value) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Error::bug("an image does not print as JSON").because(error))
}

/// Writes a blob; images that are the same share it.
fn blob(bytes: &[u8], blobs: &Path) -> Result<(Digest, usize)> {
    let digest = Digest::of(bytes);
    fs::write_atomic(&blobs.join(digest.to_string()), bytes)?;
    Ok((digest, bytes.len()))
}

/// Digests what goes through.
struct Digested<W> {
    to: W,
    digest: Sha256,
}

impl<W: Write> Write for Digested<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

/// What every tool unpacks: gzip, with a member for each run of files that are worth the same ("a gzip file consists of
/// a series of members", RFC 1952, 2.2).
struct Members {
    /// None only while one is exchanged for the next.
    member: Option<GzEncoder<BufWriter<NamedTempFile>>>,
    effort: Effort,
}

impl Members {
    fn new(out: BufWriter<NamedTempFile>, effort: Effort) -> Self {
        let level =
            effort.deflate().and_then(|level| u32::try_from(level).ok()).map_or(Compression::none(), Compression::new);
        Self { member: Some(GzBuilder::new().mtime(0).write(out, level)), effort }
    }

    fn turn_to(&mut self, effort: Effort) -> std::io::Result<()> {
        if effort != self.effort
            && let Some(member) = self.member.take()
        {
            *self = Self::new(member.finish()?, effort);
        }
        Ok(())
    }

    fn current(&mut self) -> std::io::Result<&mut GzEncoder<BufWriter<NamedTempFile>>> {
        self.member.as_mut().ok_or_else(failed_before)
    }

    fn finish(self) -> std::io::Result<BufWriter<NamedTempFile>> {
        self.member.ok_or_else(failed_before)?.finish()
    }
}

fn failed_before() -> std::io::Error {
    std::io::Error::other("writing has failed before")
}

impl Write for Members {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.current()?.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.current()?.flush()
    }
}

type Archive = tar::Builder<Digested<Members>>;

/// Streams a package into a layer, below the simulator's directory.
struct LayerWriter<'a> {
    package: &'a Package,
    archive: Archive,
    blobs: PathBuf,
    prefix: String,
    directories: BTreeSet<String>,
    efforts: Efforts,
}

impl<'a> LayerWriter<'a> {
    fn new(package: &'a Package, blobs: &Path) -> Result<Self> {
        let file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(blobs)?;
        let packed = Members::new(BufWriter::new(file), Effort::Strong);
        let archive = tar::Builder::new(Digested { to: packed, digest: Sha256::new() });
        let (prefix, efforts) = (prefix(&package.manifest.simulator), Efforts::of(package)?);
        Ok(Self { package, archive, blobs: blobs.to_owned(), prefix, directories: BTreeSet::new(), efforts })
    }

    /// The path in the layer, below directories that are told once.
    fn place(&mut self, path: &str) -> Result<String> {
        let place = format!("{}/{path}", self.prefix);
        let parents: Vec<String> = place.match_indices('/').map(|(at, _)| format!("{}/", &place[..at])).collect();
        for parent in parents {
            if self.directories.insert(parent.clone()) {
                let mut header = header(tar::EntryType::Directory, 0o755, 0, self.package.time());
                self.archive.append_data(&mut header, &parent, std::io::empty())?;
            }
        }
        Ok(place)
    }
}

impl<'a> PackageWriter for LayerWriter<'a> {
    type Output = Layer<'a>;

    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        let ArtifactKind::File { size, executable, .. } = artifact.kind else {
            return Err(Error::bug(format!("{} is no file", artifact.path)));
        };
        self.archive.get_mut().to.turn_to(self.efforts.get(&artifact.path))?;
        let place = self.place(&artifact.path)?;
        let mode = if executable { 0o755 } else { 0o644 };
        let mut header = header(tar::EntryType::Regular, mode, size, self.package.time());
        match content {
            Content::Bytes(bytes) => self.archive.append_data(&mut header, place, bytes)?,
            Content::File(file) => self.archive.append_data(&mut header, place, file.file())?,
        }
        Ok(())
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        let place = self.place(&artifact.path)?;
        let mut header = header(tar::EntryType::Symlink, 0o777, 0, self.package.time());
        Ok(self.archive.append_link(&mut header, place, to)?)
    }

    fn finish(self) -> Result<Layer<'a>> {
        let Digested { to, digest } = self.archive.into_inner()?;
        let file = to.finish()?.into_inner().map_err(|error| Error::from(error.into_error()))?;
        let name = Digest::of_file(file.path())?.to_string();
        let built = BuiltPackage::publish(file, self.blobs.join(name), Named::of(self.package))?;
        let diff: [u8; 32] = digest.finalize().into();
        Ok(Layer { package: self.package, built, diff: diff.into() })
    }
}
