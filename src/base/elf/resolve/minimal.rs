//! A library made of nothing but its name: stands for files that a question only assumes.

/// The smallest library with a SONAME: header, one loaded segment, a dynamic section, strings.
pub fn library_named(soname: &str, machine: u16) -> Vec<u8> {
    let strings = [b"\0", soname.as_bytes(), b"\0"].concat();
    let (dynamic_at, strings_at) = (64 + 2 * 56, 64 + 2 * 56 + 4 * 16);
    let size = strings_at + strings.len() as u64;
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    let mut put = |width: usize, value: u64| bytes.extend(&value.to_le_bytes()[..width]);
    // Kind (ET_DYN), machine, version, entry, segments, sections, flags, sizes and counts.
    for (width, value) in [(2, 3), (2, u64::from(machine)), (4, 1), (8, 0), (8, 64), (8, 0), (4, 0)] {
        put(width, value);
    }
    for value in [64, 56, 2, 64, 0, 0] {
        put(2, value);
    }
    // PT_LOAD over the file, PT_DYNAMIC.
    for (kind, at, length) in [(1, 0, size), (2, dynamic_at, 4 * 16)] {
        put(4, kind);
        put(4, 4);
        for value in [at, at, at, length, length, 8] {
            put(8, value);
        }
    }
    // DT_STRTAB, DT_STRSZ, DT_SONAME, DT_NULL.
    for (tag, value) in [(5, strings_at), (10, strings.len() as u64), (14, 1), (0, 0)] {
        put(8, tag);
        put(8, value);
    }
    bytes.extend(strings);
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::read_object;
    use super::*;

    #[test]
    fn an_assumed_library_reads_like_a_library() {
        let object = read_object(&library_named("libcuda.so.1", 62), 62).unwrap();
        assert_eq!(object.soname.as_deref(), Some("libcuda.so.1"));
        assert!(object.dynamic && object.needs.is_empty() && object.program_only.is_none());
    }
}
