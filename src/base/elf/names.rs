//! Names of libraries among the constants of a file: what its code may pass to `dlopen`.

use object::elf;

use super::bytes::find;
use super::{Dynamic, Image};

/// Section with device code: hundreds of megabytes without a name of a host library.
const DEVICE_CODE: &str = ".nv_fatbin";
/// No name or path is longer (`PATH_MAX`).
const LONGEST: usize = 4096;

/// Whole string constants whose last part begins with `lib` and holds `.so`, as often as they stand
/// there: names as they are passed to `dlopen`, and paths.
///
/// Looked at is loaded data, without code, device code and the dynamic strings, in which the names of
/// linked libraries stand; of a file without sections all that is loaded.
pub fn library_names<'a>(image: &Image<'a>, dynamic: &Dynamic<'a>) -> Vec<&'a str> {
    constants(image, dynamic).into_iter().flat_map(|(at, end)| names(&image.bytes()[at..end])).collect()
}

/// Ranges of the file to look at; where sections or segments lie in each other, each byte once.
fn constants(image: &Image<'_>, dynamic: &Dynamic<'_>) -> Vec<(usize, usize)> {
    let part = |at: u64, end: u64| {
        let range = (usize::try_from(at).ok()?, usize::try_from(end).ok()?);
        image.bytes().get(range.0..range.1).map(|_| range)
    };
    let mut ranges = ranges(image, dynamic, &part);
    ranges.sort_unstable();
    let mut seen = 0;
    for range in &mut ranges {
        range.0 = range.0.max(seen).min(range.1);
        seen = seen.max(range.1);
    }
    ranges
}

fn ranges(
    image: &Image<'_>,
    dynamic: &Dynamic<'_>,
    part: &dyn Fn(u64, u64) -> Option<(usize, usize)>,
) -> Vec<(usize, usize)> {
    if image.sections.is_empty() {
        let strings = (dynamic.strings_at, dynamic.strings_at.saturating_add(dynamic.strings().len() as u64));
        let around = |at: u64, end: u64| {
            [(at, end.min(strings.0)), (at.max(strings.1), end)].into_iter().filter(|(at, end)| at < end)
        };
        let loads = image.loads().map(|segment| (segment.offset, segment.offset.saturating_add(segment.file_size)));
        return loads.flat_map(|(at, end)| around(at, end)).filter_map(|(at, end)| part(at, end)).collect();
    }
    let sections = image.sections.iter().filter(|section| {
        section.kind == elf::SHT_PROGBITS
            && section.flags.0 & elf::SHF_ALLOC.0 != 0
            && section.flags.0 & elf::SHF_EXECINSTR.0 == 0
            && section.offset != dynamic.strings_at
            && section.name != DEVICE_CODE
    });
    sections.filter_map(|section| part(section.offset, section.offset.checked_add(section.size)?)).collect()
}

fn names(data: &[u8]) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + find(data.get(from..)?, b".so")?;
            from = at + 3;
            let start = data[..at].iter().rev().take(LONGEST).position(|byte| *byte == 0).map_or(0, |back| at - back);
            let end = at + data[at..].iter().take(LONGEST).position(|byte| *byte == 0)?;
            from = from.max(end);
            let text = data.get(start..end).and_then(|text| std::str::from_utf8(text).ok());
            let name = |text: &str| text.rsplit('/').next().is_some_and(|name| name.starts_with("lib"));
            if let Some(text) = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()) && name(text)) {
                return Some(text);
            }
        }
    })
}

/// `libcusparse` of `libcusparse.so.12` and of `libcusparse-1a2b3c4d.so.12.5`.
pub fn library_stem(soname: &str) -> &str {
    let mut base = soname.split(".so").next().unwrap_or(soname);
    // What was repaired twice has two hashes; a version may follow one (`libopenblas-r0-d77a1985.3.15.so`).
    while let Some((stem, hash)) = base.rsplit_once('-').map(|(stem, end)| (stem, end.split('.').next().unwrap_or(end)))
        && hash.len() == 8
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        base = stem;
    }
    base
}

/// The first number of a library's version: 5 of `libgfortran-040039e1.so.5.0.0`.
pub fn soname_major(soname: &str) -> Option<u32> {
    let (_, version) = soname.split_once(".so.")?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_texts_only() {
        let data =
            b"x\0libcuda.so.1\0cannot open libcuda.so.1\0libz.so\0/usr/lib/libq.so\0lib cuda.so\0my.so\0libend.so";
        assert_eq!(names(data).collect::<Vec<_>>(), ["libcuda.so.1", "libz.so", "/usr/lib/libq.so"]);
        assert_eq!(names(b"libfirst.so\0.so\0").collect::<Vec<_>>(), ["libfirst.so"]);
    }
}
