//! `.deb` archives (deb(5), format 2.0): an `ar` of a version, the control files and the data.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use lzma_rust2::{XzOptions, XzWriter};
use rattler_digest::{Md5, compute_bytes_digest, compute_file_digest};
use tempfile::NamedTempFile;

use super::super::writing::packed_tar::header;
use super::super::{BuiltPackage, Content, Efforts, Named, Package, PackageWriter};
use super::control::Fields;
use super::places::PREFIX;
use super::texts;
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};

/// Preset of xz, which is all that Debian's archive takes beside gzip: dpkg-deb's own, and less where much of a package
/// is not worth it. It is one for all files, because dpkg reads one stream.
const PRESETS: [u32; 2] = [6, 2];
/// What files of a file system take up, in bytes (deb-substvars(5), Installed-Size).
const BLOCK: u64 = 1024;

type Data = tar::Builder<XzWriter<BufWriter<NamedTempFile>>>;

/// Streams the data into a file of its own; its size stands before it in the archive.
pub(super) struct DebWriter<'a> {
    package: &'a Package,
    fields: &'a Fields,
    named: Named,
    target: PathBuf,
    data: Data,
    directories: BTreeSet<String>,
    md5sums: BTreeMap<String, String>,
    installed: u64,
}

impl<'a> DebWriter<'a> {
    pub fn new(package: &'a Package, fields: &'a Fields, named: Named, dir: &Path) -> Result<Self> {
        let target =
            dir.join(format!("{}_{}_{}.deb", fields.name, fields.version.replace(':', "%3a"), fields.architecture));
        let file = tempfile::Builder::new().prefix(".simpack-").tempfile_in(dir)?;
        let is_mixed = Efforts::of(package)?.is_mixed();
        let encoder = XzWriter::new(BufWriter::new(file), XzOptions::with_preset(PRESETS[usize::from(is_mixed)]))?;
        let mut writer = Self {
            package,
            fields,
            named,
            target,
            data: tar::Builder::new(encoder),
            directories: BTreeSet::new(),
            md5sums: BTreeMap::new(),
            installed: 0,
        };
        writer.directory("./")?;
        Ok(writer)
    }

    fn directory(&mut self, path: &str) -> Result<()> {
        let mut header = header(tar::EntryType::Directory, 0o755, 0, self.package.time());
        owned_by_root(&mut header)?;
        self.installed += BLOCK;
        Ok(self.data.append_data(&mut header, path, std::io::empty())?)
    }

    /// The directories above a path, which dpkg wants told.
    fn above(&mut self, path: &str) -> Result<()> {
        let parents: Vec<String> = path.match_indices('/').map(|(at, _)| format!("./{}/", &path[..at])).collect();
        for parent in parents {
            if self.directories.insert(parent.clone()) {
                self.directory(&parent)?;
            }
        }
        Ok(())
    }

    /// A file of the package whose bytes are in memory.
    fn text(&mut self, path: &str, bytes: &[u8], mode: u32) -> Result<()> {
        self.above(path)?;
        let mut header = header(tar::EntryType::Regular, mode, bytes.len() as u64, self.package.time());
        owned_by_root(&mut header)?;
        self.data.append_data(&mut header, format!("./{path}"), bytes)?;
        self.md5sums.insert(path.to_owned(), hex(&compute_bytes_digest::<Md5>(bytes)));
        self.installed += (bytes.len() as u64).div_ceil(BLOCK) * BLOCK;
        Ok(())
    }

    /// The control files as a compressed archive.
    fn control(&self) -> Result<Vec<u8>> {
        let installed = self.installed.div_ceil(BLOCK);
        let sums: String = self.md5sums.iter().map(|(path, sum)| format!("{sum}  {path}\n")).collect();
        let component = self.package.manifest.component.to_string();
        let mut files = vec![("control", self.fields.text(&component, installed)), ("md5sums", sums)];
        if !self.fields.libraries.is_empty() {
            files.push(("shlibs", self.fields.shlibs()));
            files.push(("triggers", "activate-noawait ldconfig\n".to_owned()));
        }
        let mut archive = tar::Builder::new(XzWriter::new(Vec::new(), XzOptions::with_preset(PRESETS[0]))?);
        let mut top = header(tar::EntryType::Directory, 0o755, 0, self.package.time());
        owned_by_root(&mut top)?;
        archive.append_data(&mut top, "./", std::io::empty())?;
        for (name, text) in files {
            let mut header = header(tar::EntryType::Regular, 0o644, text.len() as u64, self.package.time());
            owned_by_root(&mut header)?;
            archive.append_data(&mut header, format!("./{name}"), text.as_bytes())?;
        }
        Ok(archive.into_inner()?.finish()?)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn owned_by_root(header: &mut tar::Header) -> Result<()> {
    header.set_username("root")?;
    header.set_groupname("root")?;
    Ok(())
}

impl PackageWriter for DebWriter<'_> {
    type Output = BuiltPackage;

    fn file(&mut self, artifact: &Artifact, content: Content<'_>) -> Result<()> {
        let ArtifactKind::File { size, executable, .. } = artifact.kind else {
            return Err(Error::bug(format!("{} is no file", artifact.path)));
        };
        let path = format!("{PREFIX}/{}", artifact.path);
        let mode = if executable { 0o755 } else { 0o644 };
        match content {
            Content::Bytes(bytes) => self.text(&path, bytes, mode),
            Content::File(file) => {
                self.above(&path)?;
                let mut header = header(tar::EntryType::Regular, mode, size, self.package.time());
                owned_by_root(&mut header)?;
                self.data.append_data(&mut header, format!("./{path}"), file.file())?;
                self.md5sums.insert(path, hex(&compute_file_digest::<Md5>(file.path())?));
                self.installed += size.div_ceil(BLOCK) * BLOCK;
                Ok(())
            }
        }
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        let path = format!("{PREFIX}/{}", artifact.path);
        self.above(&path)?;
        let mut header = header(tar::EntryType::Symlink, 0o777, 0, self.package.time());
        owned_by_root(&mut header)?;
        self.installed += BLOCK;
        Ok(self.data.append_link(&mut header, format!("./{path}"), to)?)
    }

    fn finish(mut self) -> Result<BuiltPackage> {
        for (path, bytes) in texts::texts(self.package, self.fields)? {
            self.text(&path, &bytes, 0o644)?;
        }
        let control = self.control()?;
        let data = self.data.into_inner()?.finish()?;
        let mut data = data.into_inner().map_err(|error| Error::from(error.into_error()))?.into_file();
        let size = data.seek(SeekFrom::End(0))?;
        data.rewind()?;
        let parent = self.target.parent().unwrap_or(Path::new("."));
        let mut archive = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent)?;
        let mut ar = BufWriter::new(archive.as_file_mut());
        ar.write_all(b"!<arch>\n")?;
        let time = self.package.time();
        member(&mut ar, "debian-binary", 4, time, &mut b"2.0\n".as_slice())?;
        member(&mut ar, "control.tar.xz", control.len() as u64, time, &mut control.as_slice())?;
        member(&mut ar, "data.tar.xz", size, time, &mut data)?;
        ar.flush()?;
        drop(ar);
        BuiltPackage::publish(archive, self.target, self.named)
    }
}

/// One member of an `ar`: a header of text in fixed columns, the bytes, and one more where their number is odd.
fn member(ar: &mut impl Write, name: &str, size: u64, time: u64, content: &mut dyn std::io::Read) -> Result<()> {
    writeln!(ar, "{name:<16}{time:<12}{:<6}{:<6}{:<8}{size:<10}`", 0, 0, "100644")?;
    std::io::copy(content, ar)?;
    if size % 2 == 1 {
        ar.write_all(b"\n")?;
    }
    Ok(())
}
