//! One file to look at and to plan for: its bytes, mapped and not read.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use xattr::FileExt as _;

use crate::elf::edit::{Edits, PatchPlan, Source};
use crate::elf::{ElfError, Image, is_elf};
use crate::error::{Error, Result};
use crate::fs::{self, Content, Stamp};

/// A mapped file.
pub struct Subject {
    path: PathBuf,
    pub(super) file: fs_err::File,
    pub(super) data: std::fs::Metadata,
    /// Opened for writing, too.
    pub(super) writable: bool,
    /// The path is the file's own: no link led to it.
    pub(super) direct: bool,
    /// Names of its extended attributes.
    attributes: OnceCell<Vec<OsString>>,
    content: Content,
}

/// Where the kernel's integrity measurement keeps a signature (`security/integrity/integrity.h`).
const IMA: &str = "security.ima";
/// First byte of that attribute when it holds a signature and not just a digest
/// (`EVM_IMA_XATTR_DIGSIG`, `EVM_XATTR_PORTABLE_DIGSIG`, `IMA_VERITY_DIGSIG`).
const IMA_SIGNATURES: [u8; 3] = [3, 5, 6];
/// How the kernel marks a signature behind a file (`include/linux/module_signature.h`).
const APPENDED_SIGNATURE: &[u8] = b"~Module signature appended~\n";
/// Sections that hold a signature over the file: of Solaris' elfsign, bsign, linux-elf-binary-signer.
const SIGNATURE_SECTIONS: [&str; 3] = [".SUNW_signature", "signature", ".text_sig"];

impl Subject {
    /// Opens and maps the file at `path`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        Self::of(path, fs::open(path)?)
    }

    /// Opens and maps a file that simpack itself just wrote, to be changed where it is.
    ///
    /// # Errors
    /// It cannot be opened, or is a link.
    pub(super) fn open_own(path: &Path) -> Result<Self> {
        let open = |writable| {
            fs_err::OpenOptions::new()
                .read(true)
                .write(writable)
                .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
                .open(path)
        };
        // A read-only one that needs no change is fine.
        let (writable, file) = match open(true) {
            Ok(file) => (true, file),
            Err(_) => (false, open(false)?),
        };
        Ok(Self { writable, direct: true, ..Self::of(path, file)? })
    }

    /// Opens the file at `path`, which is no link, if it begins like ELF.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn open_elf(path: &Path) -> Result<Option<Self>> {
        let file =
            fs_err::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        let mut magic = [0; 4];
        let elf = file.file().read_at(&mut magic, 0).map_err(|error| Error::file(path, error))? == 4 && is_elf(&magic);
        if elf { Ok(Some(Self { direct: true, ..Self::of(path, file)? })) } else { Ok(None) }
    }

    fn of(path: &Path, file: fs_err::File) -> Result<Self> {
        let data = file.metadata()?;
        let content = Content::of(file.file(), data.len()).map_err(|error| Error::file(path, error))?;
        let attributes = OnceCell::new();
        Ok(Self { path: path.to_owned(), content, file, data, writable: false, direct: false, attributes })
    }

    /// Where it is, as the caller wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.content.bytes()
    }

    /// Its tables.
    ///
    /// # Errors
    /// It cannot be read as ELF.
    pub fn source(&self) -> Result<Source<'_>> {
        Source::read(self.bytes()).map_err(|error| error.at(&self.path))
    }

    /// What `edits` do to it; `source` is its own.
    ///
    /// # Errors
    /// It cannot be safely changed.
    pub fn plan(&self, source: &Source<'_>, edits: &Edits) -> Result<PatchPlan> {
        let plan = source.plan(edits);
        if !plan.as_ref().is_ok_and(PatchPlan::is_empty)
            && let Some(kind) = self.signature(&source.image)
        {
            let refused = ElfError::refused(
                format!("{kind} covers it, which no change survives"),
                "patch before signing, or remove the signature first",
            );
            return Err(refused.at(&self.path));
        }
        plan.map_err(|error| error.at(&self.path))
    }

    /// What signs the whole file, if anything does.
    fn signature(&self, image: &Image<'_>) -> Option<&'static str> {
        if self.bytes().ends_with(APPENDED_SIGNATURE) {
            return Some("an appended signature");
        }
        if SIGNATURE_SECTIONS.iter().any(|name| image.section(name).is_some()) {
            return Some("a signature section");
        }
        if !self.attributes().iter().any(|name| name == IMA) {
            return None;
        }
        let value = self.file.file().get_xattr(IMA).ok().flatten()?;
        value.first().is_some_and(|kind| IMA_SIGNATURES.contains(kind)).then_some("a signature of the kernel's (IMA)")
    }

    /// Names of the file's extended attributes; none where the file system has none, or tells none.
    pub(super) fn attributes(&self) -> &[OsString] {
        self.attributes.get_or_init(|| self.file.file().list_xattr().map(Iterator::collect).unwrap_or_default())
    }

    /// Fails if the file is not as it was when it was opened.
    pub(super) fn unchanged(&self) -> Result<()> {
        if Stamp::from(&self.file.metadata()?) == Stamp::from(&self.data) {
            return Ok(());
        }
        Err(Error::file(&self.path, "changed while it was being patched").hint("run the command again"))
    }
}
