use super::*;

fn reader(level: u32) -> CacheReader {
    let hwcaps = (2..=level).rev().map(|level| format!("x86-64-v{level}")).collect();
    CacheReader { flags: 0x0303, hwcaps, level, legacy: 0 }
}

/// A cache in the new format; entries as (name, path, flags, hwcap), highest name first.
fn new_format(entries: &[(&str, &str, u32, u64)], hwcaps: &[&str]) -> Vec<u8> {
    let mut strings = Vec::new();
    let strings_at = NEW_HEADER as usize + entries.len() * NEW_ENTRY as usize;
    let mut put = |text: &str| {
        let at = (strings_at + strings.len()) as u32;
        strings.extend(text.bytes().chain([0]));
        at
    };
    let rows: Vec<_> =
        entries.iter().map(|(name, path, flags, hwcap)| (put(name), put(path), *flags, *hwcap)).collect();
    let names: Vec<u32> = hwcaps.iter().map(|name| put(name)).collect();
    while !(strings_at + strings.len()).is_multiple_of(4) {
        strings.push(0);
    }
    let extension = (strings_at + strings.len()) as u32;
    let mut bytes = NEW_MAGIC.to_vec();
    bytes.extend((entries.len() as u32).to_le_bytes());
    bytes.extend((strings.len() as u32).to_le_bytes());
    bytes.extend([2, 0, 0, 0]);
    bytes.extend((if hwcaps.is_empty() { 0 } else { extension }).to_le_bytes());
    bytes.resize(NEW_HEADER as usize, 0);
    for (key, value, flags, hwcap) in rows {
        bytes.extend([flags, key, value, 0].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend(hwcap.to_le_bytes());
    }
    bytes.extend(strings);
    if !hwcaps.is_empty() {
        let list = extension + 8 + 16;
        let words = [EXTENSION_MAGIC, 1, TAG_HWCAPS, 0, list, 4 * names.len() as u32];
        bytes.extend(words.into_iter().chain(names).flat_map(u32::to_le_bytes));
    }
    bytes
}

/// The old table, alone or with another cache behind it.
fn old_format(entries: &[(&str, &str, u32)], behind: &[u8]) -> Vec<u8> {
    let mut bytes = OLD_MAGIC.to_vec();
    bytes.push(0);
    bytes.extend((entries.len() as u32).to_le_bytes());
    let mut strings: Vec<u8> = Vec::new();
    for (name, path, flags) in entries {
        let key = strings.len() as u32;
        strings.extend(name.bytes().chain([0]));
        let value = strings.len() as u32;
        strings.extend(path.bytes().chain([0]));
        bytes.extend([*flags, key, value].into_iter().flat_map(u32::to_le_bytes));
    }
    if behind.is_empty() {
        bytes.extend(strings);
    } else {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(behind);
    }
    bytes
}

#[test]
fn names_are_ordered_by_their_numbers() {
    let order = |a: &str, b: &str| compare(a.as_bytes(), b.as_bytes());
    assert_eq!(order("libx.so.9", "libx.so.10"), Ordering::Less);
    assert_eq!(order("libx.so.01", "libx.so.1"), Ordering::Equal);
    assert_eq!(order("libx1.so", "libx.so"), Ordering::Greater);
    assert_eq!(order("libx.so", "libx.so.1"), Ordering::Less);
    assert_eq!(order("libx.so.1", "libx.so"), Ordering::Greater);
}

#[test]
fn the_best_entry_that_the_cpu_takes_wins() {
    let named = |index: u64, level: u64| NAMED | level << 32 | index;
    let entries = [
        ("libz.so.1", "/lib/glibc-hwcaps/x86-64-v2/libz.so.1", 0x0303, named(0, 1)),
        ("libz.so.1", "/lib/glibc-hwcaps/x86-64-v3/libz.so.1", 0x0303, named(1, 2)),
        ("libz.so.1", "/lib/libz.so.1", 0x0303, 0),
        ("libz.so.1", "/lib32/libz.so.1", 0x0003, 0),
        ("liba.so.1", "/lib32/liba.so.1", 0x0003, 0),
    ];
    let cache = LdCache::parse(&new_format(&entries, &["x86-64-v2", "x86-64-v3"])).unwrap();
    assert_eq!(cache.format(), CacheFormat::New);
    assert_eq!(cache.hwcaps(), ["x86-64-v2", "x86-64-v3"]);
    let found = |level| cache.lookup("libz.so.1", &reader(level)).unwrap();
    assert_eq!(found(1), "/lib/libz.so.1");
    assert_eq!(found(2), "/lib/glibc-hwcaps/x86-64-v2/libz.so.1");
    assert_eq!(found(4), "/lib/glibc-hwcaps/x86-64-v3/libz.so.1");
    assert_eq!(cache.lookup("liba.so.1", &reader(4)), None, "a 32-bit library is no candidate");
    assert_eq!(cache.named("libz.so.1").count(), 4);
    assert_eq!(cache.lookup("libq.so.1", &reader(4)), None);
}

#[test]
fn legacy_entries_count_only_where_the_loader_has_their_bits() {
    let entries =
        [("libm.so.6", "/lib/haswell/libm.so.6", 0x0303, 1 << 50), ("libm.so.6", "/lib/libm.so.6", 0x0303, 0)];
    let cache = LdCache::parse(&new_format(&entries, &[])).unwrap();
    assert_eq!(cache.lookup("libm.so.6", &reader(3)).unwrap(), "/lib/libm.so.6");
    let legacy = CacheReader { legacy: 1 << 50, ..reader(3) };
    assert_eq!(cache.lookup("libm.so.6", &legacy).unwrap(), "/lib/haswell/libm.so.6");
}

#[test]
fn the_old_format_alone_and_with_the_new_one_inside() {
    let old = [("libold.so.1", "/old/libold.so.1", 1)];
    let cache = LdCache::parse(&old_format(&old, &[])).unwrap();
    assert_eq!(cache.format(), CacheFormat::Old);
    assert_eq!(cache.lookup("libold.so.1", &reader(1)).unwrap(), "/old/libold.so.1");
    let new = new_format(&[("libnew.so.1", "/new/libnew.so.1", 0x0303, 0)], &[]);
    let cache = LdCache::parse(&old_format(&old, &new)).unwrap();
    assert_eq!(cache.format(), CacheFormat::Both);
    assert_eq!(cache.lookup("libnew.so.1", &reader(1)).unwrap(), "/new/libnew.so.1");
    assert_eq!(cache.lookup("libold.so.1", &reader(1)), None, "the old table is not read then");
}

#[test]
fn every_truncation_and_every_changed_byte_is_survived() {
    let entries = [("libz.so.1", "/l/libz.so.1", 0x0303, NAMED), ("liba.so.1", "/l/liba.so.1", 0x0303, 0)];
    let whole = old_format(&[("libo.so", "/libo.so", 1)], &new_format(&entries, &["x86-64-v2"]));
    let walk = |bytes: &[u8]| {
        if let Ok(cache) = LdCache::parse(bytes) {
            cache.entries().for_each(drop);
            cache.lookup("libz.so.1", &reader(4));
        }
    };
    (0..whole.len()).for_each(|end| walk(&whole[..end]));
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            walk(&bytes);
        }
    }
}

/// The cache of this system against `ldconfig -p`.
#[test]
fn every_entry_that_ldconfig_prints() {
    let Ok(bytes) = std::fs::read("/etc/ld.so.cache") else { return crate::skip::skip("no ld.so.cache here") };
    let cache = LdCache::parse(&bytes).unwrap();
    let program = ["/sbin/ldconfig", "/usr/sbin/ldconfig"].into_iter().find(|path| std::path::Path::new(path).exists());
    let Some(program) = program else { return crate::skip::skip("no ldconfig here") };
    let printed = crate::elf::fixture::run(program, &["-p"]);
    let expected: Vec<(String, String)> = printed
        .lines()
        .filter_map(|line| {
            let (name, path) = line.trim().split_once(" => ")?;
            Some((name.split(" (").next()?.to_owned(), path.to_owned()))
        })
        .collect();
    let found: Vec<(String, String)> = cache.entries().map(|entry| (entry.name, entry.path)).collect();
    assert_eq!(found, expected);
    assert!(found.len() > 10);
}
