//! RECORD: the list of a wheel's files with their digests.

/// A field of RECORD, which is CSV.
pub fn quoted(name: &str) -> String {
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

/// URL-safe base64 without padding (RFC 4648, section 5), as RECORD has digests.
pub fn encoded(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            text.push(char::from(LETTERS[(word >> (18 - 6 * index)) as usize & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_written_as_python_writes_them() {
        assert_eq!(encoded(b""), "");
        assert_eq!(encoded(b"f"), "Zg");
        assert_eq!(encoded(b"fo"), "Zm8");
        assert_eq!(encoded(b"foobar"), "Zm9vYmFy");
        assert_eq!(encoded(&[0xfb, 0xff]), "-_8");
    }
}
