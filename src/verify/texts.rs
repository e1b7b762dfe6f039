//! What texts fix of the machine that they were made on: makefiles, CMake packages, scripts.

use crate::build_system::{PREFIX, prefixes_in};
use crate::gpu::is_ptx;

/// Longer texts were not written by people.
const LONGEST: usize = 1 << 20;
/// Most that is told of one file.
const MOST: usize = 8;
/// Compilers, without versions and the names of targets around them.
const COMPILERS: [&str; 14] =
    ["cc", "c++", "gcc", "g++", "clang", "clang++", "icx", "icpx", "nvcc", "nvc", "nvc++", "mpicc", "mpicxx", "mpic++"];
/// Directories in which every machine has its compilers.
const ORDINARY: [&str; 3] = ["/usr/bin/", "/bin/", "/usr/local/bin/"];
/// Flags by which compilers look at the processor that they run on.
const NATIVE: [&str; 3] = ["-march=native", "-mtune=native", "-mcpu=native"];
/// How flags that choose GPUs begin, before the GPU itself.
const GPUS: [&str; 4] = ["-gpu=", "arch=sm_", "arch=compute_", "offload-arch="];

/// What the text of a file named `name` fixes: lines with their numbers, each with what is wrong with it. Nothing of a file that
/// takes part in no build.
pub(super) fn fixed(name: &str, bytes: &[u8]) -> Vec<String> {
    if bytes.len() > LONGEST || !is_build_text(name, bytes) {
        return Vec::new();
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with(['#', ';']));
    let told = |(index, line): (usize, &str)| {
        let word = words(line).find_map(|word| Some((what(word)?, word)));
        word.map(|(what, word)| format!("line {}: {what} {word}", index + 1))
    };
    lines.filter_map(told).take(MOST).collect()
}

/// Lines of a text that name the prefix of builds, with their numbers.
pub(super) fn prefixed(bytes: &[u8]) -> Vec<String> {
    // Sources of device code are named by a fixed directory, which is none of anybody's.
    let names_it = bytes.len() <= LONGEST && !is_ptx(bytes) && memchr::memmem::find(bytes, PREFIX.as_bytes()).is_some();
    let Some(text) = names_it.then(|| std::str::from_utf8(bytes).ok()).flatten() else { return Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| prefixes_in(line).next().is_some());
    lines.map(|(index, line)| numbered(index, line)).take(MOST).collect()
}

/// Lines of a text that name one of these paths, with their numbers.
pub(super) fn naming(bytes: &[u8], paths: &[String]) -> Vec<String> {
    let names_one = |line: &[u8]| paths.iter().any(|path| memchr::memmem::find(line, path.as_bytes()).is_some());
    let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| names_one(line));
    lines.map(|(index, line)| numbered(index, &String::from_utf8_lossy(line))).take(MOST).collect()
}

fn numbered(index: usize, line: &str) -> String {
    format!("line {}: {}", index + 1, line.trim().chars().take(100).collect::<String>())
}

/// Whether a file is a makefile, a CMake package or a script.
pub(super) fn is_build_text(name: &str, bytes: &[u8]) -> bool {
    let lower = name.to_lowercase();
    let ends = [".mk", ".make", ".cmake", ".pc", ".sh", "-config"];
    lower.contains("makefile") || ends.iter().any(|end| lower.ends_with(end)) || bytes.starts_with(b"#!")
}

/// The words of a line as shells and build systems take it apart.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| letter.is_whitespace() || "\"'`;|&()<>{}[]".contains(letter))
        .filter(|word| !word.is_empty())
}

fn what(word: &str) -> Option<&'static str> {
    if NATIVE.iter().any(|flag| word.contains(flag)) {
        return Some("code for the processor that it is compiled on:");
    }
    // What a variable chooses is not fixed.
    let is_named = |(_, gpu): (&str, &str)| gpu.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if word.starts_with('-') || word.starts_with("arch=") {
        let mut found = GPUS.iter().filter_map(|flag| word.split_once(flag));
        if found.any(is_named) {
            return Some("code for GPUs that are chosen here:");
        }
    }
    if word.contains("://") {
        return None;
    }
    // An assignment may stand before it.
    let path = &word[word.find('/')?..];
    let before = &word[..word.len() - path.len()];
    let is_whole = before.is_empty() || before.ends_with(['=', ':']);
    let name = path.rsplit('/').next()?;
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.').trim_end_matches('-');
    let plain = plain.rsplit_once('-').map_or(plain, |(_, plain)| plain);
    let is_ordinary = ORDINARY.iter().any(|dir| path.strip_prefix(dir) == Some(name));
    (is_whole && !is_ordinary && !path.contains('$') && COMPILERS.contains(&plain))
        .then_some("a compiler of another machine:")
}

#[cfg(test)]
mod tests {
    use super::{fixed, prefixed};

    #[test]
    fn lines_with_the_prefix_of_builds_are_told() {
        let text = b"#!/opt/simpack/bin/python\nimport os\nDATA = '/opt/simpack'\nOTHER = '/opt/simpack2', '/mnt/opt/simpack/bin'\n";
        assert_eq!(prefixed(text), ["line 1: #!/opt/simpack/bin/python", "line 3: DATA = '/opt/simpack'"]);
        assert!(prefixed(b"\x7fELF\xff/opt/simpack/lib\0").is_empty(), "no text");
    }

    #[test]
    fn what_holds_on_one_machine_is_told() {
        let text = "# CC = /opt/gcc/bin/gcc\nCXX = /opt/rh/gcc-toolset-10/root/usr/bin/g++\nCC=/usr/bin/gcc\nNVC=${X}/bin/nvc++\n\
                    FLAGS += -O2 -march=native\nLIB = /opt/lib/libgcc.so\nset(A \"/opt/bin/x86_64-linux-gnu-g++-12\")\nall: -gpu=cc60,cc70\n";
        assert_eq!(
            fixed("nrnmech_makefile", text.as_bytes()),
            [
                "line 2: a compiler of another machine: /opt/rh/gcc-toolset-10/root/usr/bin/g++",
                "line 5: code for the processor that it is compiled on: -march=native",
                "line 7: a compiler of another machine: /opt/bin/x86_64-linux-gnu-g++-12",
                "line 8: code for GPUs that are chosen here: -gpu=cc60,cc70",
            ]
        );
        // As torch has them: an address, and flags whose GPUs a variable brings.
        let flags = "#!/usr/bin/env python\nSee http://technet.example/cc766489\nflags -gencode arch=compute_${arch},code=sm_${arch}\n\
                    flags -gencode arch=compute_80,code=sm_80\nflags --offload-arch=gfx90a\n";
        let told = fixed("select.cmake", flags.as_bytes());
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("line 4:") && told[1].starts_with("line 5:"), "{told:?}");
        assert!(fixed("notes.txt", text.as_bytes()).is_empty());
        assert!(fixed("tool", b"#!/bin/sh\nexec g++ \"$@\"\n").is_empty());
        assert_eq!(fixed("tool", b"#!/bin/sh\nexec /opt/x/bin/nvcc \"$@\"\n").len(), 1);
    }
}
