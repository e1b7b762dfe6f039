//! Options of the verbs that finish packages: who signs them.

use std::path::PathBuf;

use clap::Args;

use crate::attest::Sigstore;
use crate::error::{Error, Result};
use crate::pipeline::BuildRequest;

#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct SignArgs {
    /// Sign every package and the statement of origin with this secret key of minisign; signatures lie beside them
    #[arg(long, value_name = "KEYFILE")]
    pub(in crate::cli) sign: Option<PathBuf>,

    /// File whose first line is the password of the key
    #[arg(long, value_name = "FILE", requires = "sign")]
    pub(in crate::cli) sign_password: Option<PathBuf>,

    /// Sign the statement of origin, which names all packages by their digests, as yourself or as a job of CI: by
    /// sigstore's client, which wants a network
    #[arg(long)]
    sigstore: bool,
}

impl SignArgs {
    /// Whether anybody is to sign.
    pub(in crate::cli) fn is_asked(&self) -> bool {
        self.sign.is_some() || self.sigstore
    }

    /// Finishes packages, and lets sigstore's client sign what is stated of them, if it shall: it is sought first.
    ///
    /// # Errors
    /// There is no client, no network may be used, or either fails.
    pub(in crate::cli) fn after(&self, request: &BuildRequest, finish: impl FnOnce() -> Result<u8>) -> Result<u8> {
        if self.sigstore && request.offline {
            return Err(Error::usage("--sigstore cannot be combined with --offline: who signs is proved online")
                .hint("sign with a key, `--sign KEYFILE`, or without `--offline`"));
        }
        let client = self.sigstore.then(Sigstore::find).transpose()?;
        let code = finish()?;
        match client {
            Some(client) if code == 0 && !request.dry_run => client.sign(&request.dist).map(|()| code),
            _ => Ok(code),
        }
    }
}
