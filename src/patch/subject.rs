//! One file to look at and to plan for: its bytes, mapped and not read.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use xattr::FileExt as _;

use crate::elf::edit::{Edits, PatchPlan, State, plan};
use crate::elf::{ElfError, Image, is_elf};
use crate::error::{Error, Result};
use crate::fs::Content;

/// A mapped file.
pub struct Subject {
    path: PathBuf,
    pub(super) file: fs_err::File,
    pub(super) data: std::fs::Metadata,
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
        let file = fs_err::File::open(path)?;
        let data = file.metadata()?;
        Ok(Self { path: path.to_owned(), content: Content::map(&file)?, file, data })
    }

    /// Opens the file at `path`, if it begins like ELF.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn open_elf(path: &Path) -> Result<Option<Self>> {
        let file = fs_err::File::open(path)?;
        let mut magic = [0; 4];
        let elf = file.file().read_at(&mut magic, 0).map_err(|error| Error::file(path, error))? == 4 && is_elf(&magic);
        if !elf {
            return Ok(None);
        }
        let data = file.metadata()?;
        Ok(Some(Self { path: path.to_owned(), content: Content::map(&file)?, file, data }))
    }

    /// Where it is, as the caller wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.content.bytes()
    }

    /// Its editable texts.
    ///
    /// # Errors
    /// It cannot be read as ELF.
    pub fn state(&self) -> Result<State> {
        State::read(self.bytes()).map_err(|error| error.at(&self.path))
    }

    /// What `edits` do to it.
    ///
    /// # Errors
    /// It cannot be read, or not safely changed.
    pub fn plan(&self, edits: &Edits) -> Result<PatchPlan> {
        let plan = plan(self.bytes(), edits);
        if !plan.as_ref().is_ok_and(PatchPlan::is_empty)
            && let Some(kind) = self.signature()
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
    fn signature(&self) -> Option<&'static str> {
        if self.bytes().ends_with(APPENDED_SIGNATURE) {
            return Some("an appended signature");
        }
        let image = Image::parse(self.bytes()).ok()?;
        if SIGNATURE_SECTIONS.iter().any(|name| image.section(name).is_some()) {
            return Some("a signature section");
        }
        let value = self.file.file().get_xattr(IMA).ok().flatten()?;
        value.first().is_some_and(|kind| IMA_SIGNATURES.contains(kind)).then_some("a signature of the kernel's (IMA)")
    }

    /// Fails if the file is not as it was when it was opened.
    pub(super) fn unchanged(&self) -> Result<()> {
        let now = self.file.metadata()?;
        let stamp = |data: &std::fs::Metadata| (data.len(), data.mtime(), data.mtime_nsec());
        if stamp(&now) == stamp(&self.data) {
            return Ok(());
        }
        Err(Error::file(&self.path, "changed while it was being patched").hint("run the command again"))
    }
}
