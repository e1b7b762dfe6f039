//! `rattler-writer LEVEL THREADS DIRECTORY OUTPUT`: a `.conda` of a directory's files by rattler's writer, which lays its
//! archive down in the directory before it is compressed.

use std::path::{Path, PathBuf};

use rattler_conda_types::compression_level::CompressionLevel;
use rattler_package_streaming::write::write_conda_package;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [level, threads, directory, output] = words.as_slice() else {
        panic!("usage: rattler-writer LEVEL THREADS DIRECTORY OUTPUT");
    };
    let directory = Path::new(directory);
    let entries = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter();
    let entries = entries.map(|entry| entry.expect("the directory can be read"));
    let paths: Vec<PathBuf> =
        entries.filter(|entry| !entry.file_type().is_dir()).map(walkdir::DirEntry::into_path).collect();
    let level = CompressionLevel::Numeric(level.parse().expect("a level"));
    let threads = Some(threads.parse().expect("a number of threads"));
    let file = std::io::BufWriter::new(std::fs::File::create(output).expect("a file can be made"));
    write_conda_package(file, directory, &paths, level, threads, "files-1-0", None, None)
        .expect("the package is written");
}
