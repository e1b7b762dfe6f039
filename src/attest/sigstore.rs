//! Bundles of sigstore, which its own client makes and verifies: who signed is an identity, not a key. A file
//! `NAME.sigstore.json` lies beside the signed one.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::statement::PROVENANCE;
use crate::error::{Error, ErrorKind, Result};
use crate::printable;
use crate::process::{Call, check_interrupted};

/// What a bundle's name has more than that of its file; sigstore's clients choose the same.
pub const BUNDLE: &str = ".sigstore.json";
/// Of what the client complains about, as many characters are shown.
const LONGEST: usize = 400;

/// Who must have signed.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Of a person the address, of a CI service the workflow's.
    pub name: String,
    /// Who vouches for that: the address of an OpenID provider.
    pub issuer: String,
}

/// The client, `sigstore` of PATH.
pub struct Sigstore(PathBuf);

impl Sigstore {
    /// Finds the client.
    ///
    /// # Errors
    /// There is none.
    pub fn find() -> Result<Self> {
        which::which("sigstore").map(Self).map_err(|_| {
            Error::new(ErrorKind::Toolchain, "sigstore is not on PATH").hint("`pip install sigstore` brings the client")
        })
    }

    /// Signs the statement of origin in `dist`, unless a bundle is there: a build that changes the statement has removed
    /// it. The client may ask the user to log in, so it has the terminal; what it says goes to standard error.
    ///
    /// # Errors
    /// The client fails: no network, no identity.
    pub fn sign(&self, dist: &Path) -> Result<()> {
        // Absolute, as below: a name with a hyphen before it would be an option of the client.
        let statement = std::path::absolute(dist.join(PROVENANCE))?;
        if beside(&statement).is_file() {
            return Ok(());
        }
        let mut command = Command::new(&self.0);
        command.arg("sign").arg(&statement).stdout(Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?));
        let status = command.status().map_err(|error| Error::file(&self.0, "cannot be started").because(error))?;
        check_interrupted()?;
        match status.success() && beside(&statement).is_file() {
            true => Ok(()),
            false => Err(Error::file(&statement, "was not signed: sigstore failed")
                .hint("the packages are finished; the same command only signs what is there")),
        }
    }

    /// Checks the bundle beside a file, without a network.
    ///
    /// # Errors
    /// There is none, somebody else signed, or it is not of these bytes; in words.
    pub fn check(&self, path: &Path, who: &Identity) -> Result<(), String> {
        let path = &std::path::absolute(path).map_err(|error| error.to_string())?;
        let bundle = beside(path);
        if !bundle.is_file() {
            return Err("has no bundle of sigstore".to_owned());
        }
        let text = |path: &Path| path.to_str().map(str::to_owned).ok_or("has a name that is not UTF-8");
        let call = Call::new(&self.0)
            .args(["verify", "identity", "--offline", "--cert-identity", &who.name, "--cert-oidc-issuer", &who.issuer])
            .args(["--bundle".to_owned(), text(&bundle)?, text(path)?])
            .pass(["HOME"]);
        let outcome = call.run().map_err(|error| error.to_string())?;
        if outcome.status.success() {
            return Ok(());
        }
        let said = outcome.stderr_text();
        let words: Vec<&str> = said.split_whitespace().collect();
        let shown: String = words.join(" ").chars().take(LONGEST).collect();
        Err(format!("is not signed by {}: sigstore says {}", who.name, printable::text(&shown)))
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BUNDLE);
    name.into()
}
