//! Digests as nix writes them.

use crate::fs::Digest;

/// A digest as a hash of subresource integrity: `sha256-` and base64 (RFC 4648, section 4).
pub fn sri(digest: &Digest) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("sha256-");
    for chunk in digest.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place) & 63) as usize;
            text.push(if place > chunk.len() { '=' } else { char::from(LETTERS[index]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing() {
        assert_eq!(sri(&Digest::of(b"")), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
