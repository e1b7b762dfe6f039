//! Signatures in the format of minisign: a file `NAME.minisig` beside each signed one.

use std::path::{Path, PathBuf};

use base64::Engine;
use minisign::{PublicKey, PublicKeyBox, SecretKey, SecretKeyBox, SignatureBox};

use crate::error::{Error, Result};
use crate::fs;

/// What a signature's name has more than that of its file.
pub const SIGNATURE: &str = ".minisig";
/// Bytes of a secret key, and of the checksum at its end (minisign, "Secret key format").
const KEY: usize = 158;
const CHECKSUM: usize = 32;
/// A key or a signature is smaller than this, in bytes.
const LARGEST: usize = 64 << 10;

/// A secret key.
pub struct SigningKey(SecretKey);

/// A public key that the user trusts.
pub struct TrustedKey(PublicKey);

impl SigningKey {
    /// Reads a secret key; `password` is the file whose first line opens one that is encrypted.
    ///
    /// # Errors
    /// It is no secret key, or is encrypted and the password is missing or wrong.
    pub fn read(path: &Path, password: Option<&Path>) -> Result<Self> {
        let wrong = |error| Error::file(path, "cannot be used to sign").because(error);
        let open = |text: String| SecretKeyBox::from_string(&text).map_err(wrong);
        let text = text(path)?;
        if let Some(file) = password {
            let password = self::text(file)?.lines().next().unwrap_or_default().to_owned();
            return Ok(Self(open(text)?.into_secret_key(Some(password)).map_err(wrong)?));
        }
        if let Some(key) = without_checksum(&text) {
            return Ok(Self(key));
        }
        open(text)?.into_unencrypted_secret_key().map(Self).map_err(|error| {
            wrong(error)
                .hint("a key with a password is opened by --sign-password FILE, whose first line is the password")
                .hint("`minisign -G -W` makes a key without one")
        })
    }

    /// Signs a file; the signature lies beside it. The file's name is signed, too: `name`, as its reader sees it.
    ///
    /// # Errors
    /// The file cannot be read, or the signature cannot be written.
    pub fn sign(&self, path: &Path, name: &str) -> Result<()> {
        let failed = |error| Error::file(path, "cannot be signed").because(error);
        let (file, comment) = (fs::open(path)?, format!("file:{name}"));
        let signed = minisign::sign(None, &self.0, file, Some(&comment), Some("signed by simpack")).map_err(failed)?;
        fs::write_atomic(&beside(path), signed.into_string().as_bytes())
    }
}

impl TrustedKey {
    /// Reads a public key: a file, or the key itself as its one line of base64.
    ///
    /// # Errors
    /// It is neither.
    pub fn read(asked: &str) -> Result<Self> {
        if let Ok(key) = PublicKey::from_base64(asked) {
            return Ok(Self(key));
        }
        let wrong = |error| {
            Error::file(asked, "is no public key")
                .because(error)
                .hint("give the file that `minisign -G` wrote, minisign.pub, or the last line of it")
        };
        let read = PublicKeyBox::from_string(&text(Path::new(asked))?).map_err(wrong)?;
        read.into_public_key().map(Self).map_err(wrong)
    }

    /// Checks the signature beside a file. The name that was signed with it must be the file's, without directories.
    ///
    /// # Errors
    /// There is none, it is another key's, or it is not of these bytes; in words.
    pub fn check(&self, path: &Path) -> Result<(), String> {
        let signature = beside(path);
        if !signature.is_file() {
            return Err("has no signature".to_owned());
        }
        let text = text(&signature).map_err(|error| error.to_string())?;
        let found = SignatureBox::from_string(&text).map_err(|error| format!("has a damaged signature: {error}"))?;
        let file = fs::open(path).map_err(|error| error.to_string())?;
        minisign::verify(&self.0, &found, file, true, false, false)
            .map_err(|error| format!("has a wrong signature: {error}"))?;
        let comment = found.trusted_comment().unwrap_or_default();
        let signed = comment.split('\t').find_map(|field| field.strip_prefix("file:"));
        match signed {
            // Signatures of other tools may name nothing.
            Some(signed) if Path::new(signed).file_name() != path.file_name() => {
                Err(format!("has the signature of another file, {signed}"))
            }
            _ => Ok(()),
        }
    }
}

/// A key without a password and without a checksum: minisign 0.11 leaves it out of such keys, and the crate wants one.
fn without_checksum(text: &str) -> Option<SecretKey> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.lines().nth(1)?.trim()).ok()?;
    let (is_plain, is_unchecked) =
        (bytes.get(2..4)? == [0, 0], bytes.iter().rev().take(CHECKSUM).all(|byte| *byte == 0));
    (bytes.len() == KEY && is_plain && is_unchecked).then(|| SecretKey::from_bytes(&bytes).ok())?
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SIGNATURE);
    name.into()
}

fn text(path: &Path) -> Result<String> {
    let bytes = fs::read(path)?;
    match (bytes.len() <= LARGEST).then(|| String::from_utf8(bytes)) {
        Some(Ok(text)) => Ok(text),
        _ => Err(Error::file(path, "is neither a key nor a signature")),
    }
}

#[cfg(test)]
mod tests {
    use minisign::KeyPair;

    use super::*;

    #[test]
    fn a_changed_byte_another_key_and_another_name_are_seen() {
        let dir = tempfile::tempdir().unwrap();
        let (file, secret) = (dir.path().join("a.conda"), dir.path().join("key"));
        let KeyPair { pk, sk } = KeyPair::generate_unencrypted_keypair().unwrap();
        fs::write_atomic(&secret, sk.to_box(None).unwrap().to_string().as_bytes()).unwrap();
        fs::write_atomic(&file, b"bytes").unwrap();
        SigningKey::read(&secret, None).unwrap().sign(&file, "noarch/a.conda").unwrap();
        let key = TrustedKey::read(&pk.to_base64()).unwrap();
        assert_eq!(key.check(&file), Ok(()));
        let other = TrustedKey::read(&KeyPair::generate_unencrypted_keypair().unwrap().pk.to_base64()).unwrap();
        assert!(other.check(&file).unwrap_err().contains("wrong signature"));
        let renamed = dir.path().join("b.conda");
        fs_err::copy(&file, &renamed).unwrap();
        fs_err::copy(beside(&file), beside(&renamed)).unwrap();
        assert!(key.check(&renamed).unwrap_err().contains("another file"));
        fs::write_atomic(&file, b"bytez").unwrap();
        assert!(key.check(&file).unwrap_err().contains("wrong signature"));
        fs::write_atomic(&beside(&file), b"untrusted comment: x\n").unwrap();
        assert!(key.check(&file).unwrap_err().contains("damaged"));
        fs_err::remove_file(beside(&file)).unwrap();
        assert_eq!(key.check(&file).unwrap_err(), "has no signature");
    }

    #[test]
    fn a_key_with_a_password_wants_it() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, password) = (dir.path().join("key"), dir.path().join("password"));
        let KeyPair { sk, .. } = KeyPair::generate_encrypted_keypair(Some("pass word".to_owned())).unwrap();
        fs::write_atomic(&secret, sk.to_box(None).unwrap().to_string().as_bytes()).unwrap();
        assert!(SigningKey::read(&secret, None).is_err());
        fs::write_atomic(&password, b"wrong\n").unwrap();
        assert!(SigningKey::read(&secret, Some(&password)).is_err());
        fs::write_atomic(&password, b"pass word\n").unwrap();
        assert!(SigningKey::read(&secret, Some(&password)).is_ok());
    }
}
