//! Hundreds of files of this machine (programs, libraries, extension modules of Python, a vendor's
//! libraries, an installed simulator), in six settings each: simpack and the loader must agree on every
//! search, and on what is mapped after `dlopen`.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use simpack::elf::resolve::End;
use simpack::fs::Root;

use super::oracle::{LOADER, Setting, differences, loader};
use crate::patching::{compile, compiler};
use crate::support::{Ran, copy_tree, need, python, scratch, set_up, simpack, skip, volley};

/// Files that must be compared.
const FEWEST: usize = 300;
/// Files of one kind at most: the rest repeats.
const MOST: usize = 150;
/// Copies are made of files up to this size in bytes: each setting needs one of its own.
const LARGEST: u64 = 1 << 20;

/// A file and how it is started.
#[derive(Debug, Clone)]
struct Subject {
    path: String,
    program: bool,
}

/// ELF files below directories, those with a dynamic section that this loader takes.
fn below(directories: &[PathBuf], depth: usize, most: usize) -> Vec<Subject> {
    let mut found = BTreeSet::new();
    for directory in directories {
        for entry in walkdir::WalkDir::new(directory).max_depth(depth).into_iter().filter_map(Result::ok) {
            if entry.file_type().is_file() {
                found.insert(entry.into_path());
            }
        }
    }
    let step = (found.len() / (4 * most)).max(1);
    let subjects = found.into_iter().step_by(step).filter_map(|path| subject(&path));
    subjects.take(most).collect()
}

fn subject(path: &Path) -> Option<Subject> {
    // With raised rights the loader lists nothing.
    let mode = fs_err::metadata(path).ok()?.permissions().mode();
    if mode & 0o6000 != 0 {
        return None;
    }
    let content = simpack::fs::Content::open(path).ok()?;
    let object = simpack::elf::resolve::read_object(content.bytes(), 62).ok()?;
    let own = object.interpreter.as_deref() == Some(LOADER) && object.soname.is_none() && mode & 0o111 != 0;
    let library = object.interpreter.is_none() && object.program_only.is_none();
    // Without needs the loader calls a file static; the loader itself is no question.
    let asks = object.dynamic && !object.needs.is_empty() && (own || library);
    (asks && !path.ends_with("ld-linux-x86-64.so.2"))
        .then(|| Some(Subject { path: path.to_str()?.to_owned(), program: own }))?
}

fn corpus(install: &Path) -> Vec<Subject> {
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    let mut all = below(&paths(&["/usr/bin"]), 1, MOST);
    all.extend(below(&paths(&["/usr/lib/x86_64-linux-gnu"]), 1, MOST));
    all.extend(below(&paths(&["/usr/lib/x86_64-linux-gnu"]), 3, MOST / 2));
    if let Some(mut python) = python() {
        let script = "import sysconfig; print(sysconfig.get_path('platstdlib')); print(sysconfig.get_path('platlib'))";
        let ran = Ran::of(python.args(["-c", script])).exit(0);
        let places: Vec<PathBuf> = ran.stdout.lines().map(PathBuf::from).collect();
        all.extend(below(&places, 6, MOST / 2));
    }
    if let Some(cuda) = set_up("SIMPACK_TEST_CUDA") {
        all.extend(below(&[cuda], 4, MOST));
    }
    all.extend(below(&[install.to_owned()], 4, MOST));
    all
}

/// volley as a package manager would install it.
fn install(dir: &Path) -> PathBuf {
    let place = dir.join("volley");
    for package in ["volley-core", "volley-rtc"] {
        copy_tree(&volley().bundle(package), &place);
    }
    place
}

/// Compares all; answers what differs.
fn compare(what: &str, subjects: &[Subject], setting: &Setting) -> Vec<String> {
    let root = setting.root.as_ref().map_or_else(Root::machine, |root| Root::at(root).unwrap());
    let loader = loader(&root);
    let mut searches = 0;
    let mut wrong = Vec::new();
    for subject in subjects {
        let theirs = setting.theirs(&subject.path, subject.program);
        searches += theirs.searches.len();
        match setting.ours(&loader, &subject.path, &[]) {
            Ok(ours) => wrong.extend(
                differences(&theirs, &ours).into_iter().map(|found| format!("{what}: {}: {found}", subject.path)),
            ),
            Err(refusal) => wrong.push(format!("{what}: {}: {refusal}", subject.path)),
        }
    }
    println!("{what}: {} files, {searches} searches, {} differences", subjects.len(), wrong.len());
    assert!(subjects.len() >= FEWEST, "{what}: only {} files", subjects.len());
    wrong
}

/// Copies of the smaller files, each with a search path of this kind.
fn patched(dir: &Path, subjects: &[Subject], tag: &str, path: &str) -> Vec<Subject> {
    let place = dir.join(tag);
    fs_err::create_dir(&place).unwrap();
    let small = subjects.iter().filter(|it| fs_err::metadata(&it.path).unwrap().len() <= LARGEST);
    let mut copies = Vec::new();
    for (index, subject) in small.enumerate() {
        let below = place.join(index.to_string());
        fs_err::create_dir(&below).unwrap();
        let to = below.join(Path::new(&subject.path).file_name().unwrap());
        fs_err::copy(&subject.path, &to).unwrap();
        copies.push(Subject { path: to.to_str().unwrap().to_owned(), program: subject.program });
    }
    let args = ["patch", "--tag", tag, "--set-runpath", path, "--allow-path", path, place.to_str().unwrap()];
    Ran::of(&mut simpack(dir, &args)).exit(0);
    copies
}

/// Twins of libraries that many files need, a foreign one before the right one, and a chain between them.
fn twins(dir: &Path, tag: Option<&str>) -> PathBuf {
    let place = dir.join(format!("twins-{}", tag.unwrap_or("plain")));
    fs_err::create_dir_all(place.join("glibc-hwcaps/x86-64-v2")).unwrap();
    let system = loader(&Root::machine()).directories[0].clone();
    for name in ["libz.so.1", "libstdc++.so.6", "libgcc_s.so.1", "libpcre2-8.so.0", "libcrypto.so.3", "libssl.so.3"] {
        if let Ok(bytes) = fs_err::read(format!("{system}/{name}")) {
            fs_err::write(place.join(name), bytes).unwrap();
        }
    }
    if let Some(tag) = tag {
        let args = ["patch", "--tag", tag, "--set-runpath", "$ORIGIN/below", place.to_str().unwrap()];
        Ran::of(&mut simpack(dir, &args)).exit(0);
    }
    fs_err::create_dir_all(place.join("below")).unwrap();
    for (name, to) in [("libm.so.6", "below/libm.so.6"), ("libzstd.so.1", "glibc-hwcaps/x86-64-v2/libzstd.so.1")] {
        if let Ok(bytes) = fs_err::read(format!("{system}/{name}")) {
            fs_err::write(place.join(to), bytes).unwrap();
        }
    }
    if let Ok(mut bytes) = fs_err::read(format!("{system}/libexpat.so.1")) {
        // For another processor: passed over.
        bytes[18] = 183;
        fs_err::write(place.join("libexpat.so.1"), bytes).unwrap();
    }
    place
}

/// A root with the loader, a part of this machine's libraries, and a cache of its own.
fn scratch_root(dir: &Path, subjects: &[Subject]) -> Option<(PathBuf, Vec<Subject>)> {
    let ldconfig = ["/sbin/ldconfig", "/usr/sbin/ldconfig"].into_iter().find(|path| Path::new(path).exists())?;
    let root = dir.join("root");
    let put = |path: &str| {
        let to = root.join(path.trim_start_matches('/'));
        fs_err::create_dir_all(to.parent().unwrap()).unwrap();
        fs_err::copy(path, to).unwrap();
    };
    put(LOADER);
    let this = loader(&Root::machine());
    for place in &this.directories[..2] {
        for entry in fs_err::read_dir(place).unwrap().map(Result::unwrap) {
            let library = entry.file_name().to_string_lossy().contains(".so");
            let small = fs_err::metadata(entry.path()).is_ok_and(|data| data.is_file() && data.len() <= 2 * LARGEST);
            if library && small {
                put(entry.path().to_str().unwrap());
            }
        }
    }
    let inside: Vec<Subject> = subjects
        .iter()
        .filter(|it| fs_err::metadata(&it.path).is_ok_and(|data| data.len() <= LARGEST))
        .cloned()
        .collect();
    inside.iter().for_each(|subject| put(&subject.path));
    fs_err::create_dir_all(root.join("etc")).unwrap();
    fs_err::write(root.join("etc/ld.so.conf"), format!("{}\n", this.directories[1])).unwrap();
    Ran::of(Command::new(ldconfig).args(["-r", root.to_str().unwrap(), "-X"])).exit(0);
    Some((root, inside))
}

#[test]
fn files_of_this_machine_in_six_settings() {
    need!(compiler().is_some() && Path::new(LOADER).exists(), "no C compiler or no glibc on x86-64");
    let dir = scratch();
    let subjects = corpus(&install(dir.path()));
    let plain = Setting::in_directory(Path::new("/"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let twin = twins(dir.path(), None);
    let mut wrong = compare("plain", &subjects, &plain);
    let path = Setting { library_path: Some(format!("/nowhere:{}", text(&twin))), ..plain.clone() };
    wrong.extend(compare("LD_LIBRARY_PATH", &subjects, &path));
    for tag in ["rpath", "runpath"] {
        let chain = text(&twins(dir.path(), Some(tag)));
        let copies = patched(dir.path(), &subjects, tag, &chain);
        wrong.extend(compare(tag, &copies, &plain));
        wrong.extend(compare(&format!("{tag} and LD_LIBRARY_PATH"), &copies, &path));
    }
    let preload =
        format!("{}:{} libnothing.so libm.so.6", text(&twin.join("libz.so.1")), text(&twin.join("libgcc_s.so.1")));
    let preload = Setting { preload: Some(preload), ..plain.clone() };
    wrong.extend(compare("preloaded twins", &subjects, &preload));
    match scratch_root(dir.path(), &subjects) {
        Some((root, inside)) => {
            wrong.extend(compare("scratch root", &inside, &Setting { root: Some(root), ..plain.clone() }));
        }
        None => skip("no ldconfig, so no root with a cache of its own"),
    }
    println!("{} differences", wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Opens each library of standard input in a process of its own; prints the files that are mapped then.
const MAPS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        printf("> %s\n", line), fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            int out = dup(1);
            freopen("/dev/null", "w", stdout), freopen("/dev/null", "w", stderr);
            alarm(30);
            void *library = dlopen(line, RTLD_LAZY);
            FILE *answer = fdopen(out, "w"), *maps = fopen("/proc/self/maps", "r");
            if (!library) fprintf(answer, "! %s\n", dlerror());
            while (library && fgets(line, sizeof line, maps))
                if (strchr(line, '/')) fputs(strchr(line, '/'), answer);
            fflush(answer), _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status) printf("? %d\n", status);
        printf("<\n");
    }
}
"#;

#[test]
fn what_is_mapped_after_opening_is_what_is_said() {
    need!(compiler().is_some() && Path::new(LOADER).exists(), "no C compiler or no glibc on x86-64");
    let dir = scratch();
    let opener = compile(dir.path(), "opener", MAPS, &["-w", "-ldl"]);
    let subjects = corpus(&install(dir.path()));
    let libraries: Vec<_> = subjects.iter().filter(|it| !it.program).map(|it| it.path.as_str()).collect();
    let mut child = Command::new(&opener)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String = libraries.iter().map(|path| format!("{path}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();

    let root = Root::machine();
    let this = loader(&root);
    let setting = Setting::in_directory(Path::new("/"));
    let (mut wrong, mut same, mut silent) = (Vec::new(), 0, Vec::new());
    for (path, block) in libraries.iter().zip(said.split("> ").skip(1)) {
        let lines: Vec<&str> = block.lines().skip(1).collect();
        let ours = setting.ours(&this, opener.to_str().unwrap(), &[path]).unwrap();
        let whole = ours.links.iter().all(|link| matches!(link.end, End::Found { .. }));
        if let Some(error) = lines.iter().find_map(|line| line.strip_prefix("! ")) {
            let versions = error.contains("version `") && !ours.missing_versions.is_empty();
            match error {
                // Symbols that only a certain program has, or thread storage that is full: no search.
                error if error.contains("undefined symbol") || error.contains("TLS") => silent.push(*path),
                _ if !whole || versions => same += 1,
                error => wrong.push(format!("{path}: {error}")),
            }
            continue;
        }
        if lines.iter().any(|line| line.starts_with("? ")) {
            silent.push(path);
            continue;
        }
        let mapped: BTreeSet<&str> =
            lines.iter().copied().filter(|line| line.contains(".so") || line.contains("opener")).collect();
        let loaded: BTreeSet<String> = ours.objects.iter().filter_map(|it| root.real(&it.path)).collect();
        let loaded: BTreeSet<&str> = loaded.iter().map(String::as_str).collect();
        // Constructors open more than the loader does by itself.
        let lacking: Vec<_> = loaded.difference(&mapped).collect();
        let more: Vec<_> = mapped.difference(&loaded).collect();
        if whole && lacking.is_empty() && more.is_empty() {
            same += 1;
        } else {
            wrong.push(format!("{path}: only simpack {lacking:?}, only the process {more:?}"));
        }
    }
    println!(
        "{} opened, {same} the same, {} without an answer: {silent:?}, {} differences",
        libraries.len(),
        silent.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(same >= FEWEST / 2, "{same}");
}
