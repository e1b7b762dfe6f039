//! Symbols files and baselines: what is read is printed the same, and hostile text gives errors.

use simpack::abi::{Baseline, SymbolsFile, compare};

pub fn run(bytes: &[u8]) {
    if let Ok(file) =
        std::str::from_utf8(bytes).map_err(|_| ()).and_then(|text| SymbolsFile::parse(text).map_err(|_| ()))
    {
        assert_eq!(SymbolsFile::parse(&file.print()).as_ref(), Ok(&file));
    }
    if let Ok(baseline) = Baseline::parse(bytes) {
        assert!(compare(&baseline, &baseline).is_empty());
    }
}
