//! What would break is refused; damaged files end nothing but their own edit.

use super::*;

#[test]
fn what_would_break_is_refused() {
    let dir = fixture::dir();
    let source = "int main(void) { return 0; }";
    let refusal = |name: &str, flags: &[&str]| {
        let bytes = std::fs::read(fixture::compile(dir.path(), name, source, flags)).unwrap();
        plan(&bytes, &set("/x")).unwrap_err().to_string()
    };
    assert!(refusal("static-pie", &["-static-pie", "-fPIE"]).contains("static-pie"));
    assert!(refusal("static", &["-static"]).contains("static"));
    assert!(refusal("object", &["-c"]).contains("not linked"));
    let mut bytes = std::fs::read(fixture::library(dir.path(), "libz.so", &[])).unwrap();
    bytes.extend_from_slice(b"appended");
    assert!(plan(&bytes, &set("/x")).unwrap_err().to_string().contains("appended"));
    let twice = Edits {
        needed: vec![NeededEdit::Add("liba.so".into()), NeededEdit::Remove("liba.so".into())],
        ..Edits::default()
    };
    assert!(matches!(plan(&bytes, &twice), Err(crate::elf::ElfError::Contradiction(_))));
}

/// Found by fuzzing: each of these once lost something, or ended the program.
#[test]
fn lies_about_tables_are_refused() {
    let dir = fixture::dir();
    let sound = std::fs::read(fixture::library(dir.path(), "liblies.so", &[])).unwrap();
    let image = crate::elf::Image::parse(&sound).unwrap();
    let long = set(&"/long".repeat(200));
    let refused = |at: u64, lie: &[u8], edits: &Edits| {
        let mut bytes = sound.clone();
        bytes[at as usize..at as usize + lie.len()].copy_from_slice(lie);
        plan(&bytes, edits).unwrap_err().to_string()
    };
    assert!(plan(&sound, &long).is_ok());

    // A section header that cuts the hash table: moved by that size, the table would be lost.
    let hash = image.sections.iter().position(|section| section.kind == object::elf::SHT_GNU_HASH).unwrap() as u64;
    let said = refused(image.header.sections_at + hash * 64 + 32, &0u64.to_le_bytes(), &long);
    assert!(said.contains("smaller than it is"), "{said}");

    // A version record far from the first one: what lies between them was overwritten.
    let dynamic = crate::elf::Dynamic::parse(&image).unwrap().unwrap();
    let records = image.offset_of(dynamic.value(object::elf::DT_VERNEED).unwrap()).unwrap();
    let replace = Edits {
        needed: vec![NeededEdit::Replace { from: "libc.so.6".into(), to: "libc.so.7".into() }],
        ..Edits::default()
    };
    assert!(plan(&sound, &replace).is_ok());
    let said = refused(records + 8, &0x1000u32.to_le_bytes(), &replace);
    assert!(said.contains("one after another") || said.contains("cannot be read"), "{said}");

    // A note that ends behind the last address.
    let note = image.segments.iter().position(|segment| segment.kind == object::elf::PT_NOTE).unwrap() as u64;
    let said = refused(image.header.segments_at + note * 56 + 32, &u64::MAX.to_le_bytes(), &long);
    assert!(said.contains("damaged"), "{said}");

    // A section of symbols that are not the dynamic section's: how many there are would change with the edit.
    let symbols = image.sections.iter().position(|section| section.kind == object::elf::SHT_DYNSYM).unwrap();
    let other = (image.sections[symbols].address + 8).to_le_bytes();
    let said = refused(image.header.sections_at + symbols as u64 * 64 + 16, &other, &long);
    assert!(said.contains("different symbols"), "{said}");
    let elsewhere = (image.sections[symbols].offset + (1 << 40)).to_le_bytes();
    let said = refused(image.header.sections_at + symbols as u64 * 64 + 24, &elsewhere, &long);
    assert!(said.contains("another place") || said.contains("past the end"), "{said}");

    // Strings that reach into what is no string: texts were written wherever there were zeros.
    let entry = |tag| {
        let place = dynamic.entries.iter().position(|entry| entry.tag == tag).unwrap() as u64;
        dynamic.offset + place * 16 + 8
    };
    let load = image.loads().next().unwrap();
    let strings = dynamic.value(object::elf::DT_STRTAB).unwrap() - load.address;
    let said = refused(entry(object::elf::DT_STRSZ), &(load.file_size - strings + 1).to_le_bytes(), &long);
    assert!(said.contains("an address outside the file"), "{said}");
    let into = dynamic.value(object::elf::DT_STRTAB).unwrap().to_le_bytes();
    let said = refused(entry(object::elf::DT_RELA), &into, &long);
    assert!(said.contains("overlap"), "{said}");

    // A note that is called the interpreter: a new interpreter would be written over it.
    let header = image.header.segments_at + note * 56;
    let interpreter = Edits { interpreter: Some("/lib/ld.so".into()), ..Edits::default() };
    let said = refused(header, &object::elf::PT_INTERP.0.to_le_bytes(), &interpreter);
    assert!(said.contains("overlap"), "{said}");
}

mod damage {
    use std::sync::OnceLock;

    use proptest::prelude::*;

    use super::*;

    fn sound() -> &'static [Vec<u8>] {
        static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
        FILES.get_or_init(|| {
            let dir = fixture::dir();
            let plain = std::fs::read(fixture::library(dir.path(), "libd.so", &["-Wl,-rpath,/d"])).unwrap();
            let grown = plan(&plain, &set(&"/e".repeat(300))).unwrap().apply(&plain).unwrap();
            vec![plain, grown]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn never_panics(
            which in 0usize..2,
            path in "[a-z]{1,60}",
            far in prop::collection::vec((any::<usize>(), any::<u8>()), 0..20),
            near in prop::collection::vec((0usize..150, any::<u64>()), 0..4),
            cut in prop::option::of(any::<usize>()),
        ) {
            let mut bytes = sound()[which].clone();
            let dynamic = crate::elf::Image::parse(&bytes).unwrap();
            let dynamic = dynamic.segment(object::elf::PT_DYNAMIC).unwrap().offset as usize;
            for (at, byte) in far {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            for (word, value) in near {
                let at = if word < 90 { word * 8 } else { dynamic + (word - 90) * 8 };
                let value = if value % 3 == 0 { value } else { value % 20000 };
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            if let Some(cut) = cut {
                bytes.truncate(cut % bytes.len());
            }
            for edits in [set(&path), remove(), Edits { soname: Some(path.clone()), ..Edits::default() },
                Edits { needed: vec![NeededEdit::Remove("libc.so.6".into())], ..Edits::default() }] {
                if let Ok(plan) = plan(&bytes, &edits) {
                    let _ = plan.apply(&bytes).unwrap();
                }
            }
        }
    }
}
