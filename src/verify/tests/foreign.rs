//! Wheels and environments of others: their lists of files, what they need, what meets in one process.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::fixture::context;
use crate::elf_fixture::{compile, dir};
use crate::fs::Digest;
use crate::lint::Settings;
use crate::report::{Level, Report, Verdict};
use crate::verify::open;

/// A project of Python in a directory, as a wheel is unpacked.
struct Project {
    site: PathBuf,
    name: &'static str,
    files: Vec<String>,
    metadata: String,
}

const TAGS: &str = "cp311-cp311-manylinux_2_28_x86_64";

impl Project {
    fn new(site: &Path, name: &'static str) -> Self {
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n");
        Self { site: site.to_owned(), name, files: Vec::new(), metadata }
    }

    fn requires(mut self, requirement: &str) -> Self {
        writeln!(self.metadata, "Requires-Dist: {requirement}").unwrap();
        self
    }

    fn file(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        let place = self.site.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, bytes).unwrap();
        self.files.push(path.to_owned());
        self
    }

    /// A library with this SONAME that needs others, which are nowhere else.
    fn library(self, path: &str, soname: &str, needs: &[&str], more: &[&str]) -> Self {
        let work = dir();
        let mut flags = vec![
            "-shared".to_owned(),
            "-fPIC".to_owned(),
            "-Wl,--no-as-needed,-z,noexecstack,-z,relro,-z,now".to_owned(),
        ];
        if !soname.is_empty() {
            flags.push(format!("-Wl,-soname,{soname}"));
        }
        for needed in needs {
            let name = format!("-Wl,-soname,{needed}");
            compile(work.path(), needed, "int other;", &["-shared", "-fPIC", &name]);
            flags.push(work.path().join(needed).display().to_string());
        }
        flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let made = compile(work.path(), "made", "int answer(void) { return 42; }", &flags);
        self.file(path, std::fs::read(made).unwrap())
    }

    /// Tells about itself, with the digests of the files as they are now.
    fn seal(self) -> Self {
        let info = format!("{}-1.0.dist-info", self.name);
        let metadata = format!("{}\n", self.metadata);
        let wheel = format!("Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {TAGS}\n");
        let sealed = self.file(&format!("{info}/METADATA"), metadata).file(&format!("{info}/WHEEL"), wheel);
        let mut record = String::new();
        for path in &sealed.files {
            let bytes = std::fs::read(sealed.site.join(path)).unwrap();
            let digest = URL_SAFE_NO_PAD.encode(Digest::of(&bytes).as_bytes());
            writeln!(record, "{path},sha256={digest},{}", bytes.len()).unwrap();
        }
        writeln!(record, "{info}/RECORD,,").unwrap();
        sealed.file(&format!("{info}/RECORD"), record)
    }

    /// The wheel of what lies in its directory.
    fn wheel(&self, to: &Path) -> PathBuf {
        use std::io::Write as _;
        let path = to.join(format!("{}-1.0-{TAGS}.whl", self.name));
        let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        for file in crate::fs::walk(&self.site).unwrap() {
            if let crate::fs::EntryKind::File { .. } = file.kind {
                zip.start_file(&file.path, zip::write::SimpleFileOptions::default()).unwrap();
                zip.write_all(&std::fs::read(self.site.join(&file.path)).unwrap()).unwrap();
            }
        }
        zip.finish().unwrap();
        path
    }
}

fn report(path: &Path) -> Report {
    open(&[path]).unwrap().verify(&context().partial(true), &Settings::default())
}

/// `subject | message | evidence` of the findings of one lint.
fn said(report: &Report, lint: &str) -> Vec<String> {
    let found = report.findings.iter().filter(|finding| finding.lint == lint);
    let each = found.flat_map(|finding| finding.subjects().map(move |subject| (subject, finding)));
    each.map(|(subject, finding)| format!("{subject} | {} | {}", finding.message, finding.evidence.join(", ")))
        .collect()
}

#[test]
fn a_wheels_list_of_files_is_held_to_the_files() {
    let (tree, out) = (dir(), dir());
    let project = Project::new(tree.path(), "a").file("a/x.py", "x").file("a/y, \"z\".txt", "y");
    // A name with commas is quoted, which this list is not: so it is left out of it, and added by hand.
    let mut sealed = Project { files: vec!["a/x.py".to_owned()], ..project }.seal();
    let record = tree.path().join("a-1.0.dist-info/RECORD");
    let text = std::fs::read_to_string(&record).unwrap();
    let digest = URL_SAFE_NO_PAD.encode(Digest::of(b"y").as_bytes());
    std::fs::write(&record, format!("{text}\"a/y, \"\"z\"\".txt\",sha256={digest},1\n")).unwrap();
    let whole = report(&sealed.wheel(out.path()));
    assert_eq!(whole.verdict(), Verdict::Pass, "{:?} {:?}", whole.findings, whole.incomplete);
    sealed = sealed.file("a/new.py", "new").file("a/x.py", "X");
    std::fs::remove_file(tree.path().join("a/y, \"z\".txt")).unwrap();
    let subject = "a-1.0: a-1.0.dist-info/RECORD";
    assert_eq!(
        said(&report(&sealed.wheel(out.path())), "record-mismatch"),
        [
            format!("{subject} | does not list a file that is there | a/new.py"),
            format!("{subject} | has another digest or size than the file itself | a/x.py"),
            format!("{subject} | lists a file that is not there | a/y, \"z\".txt"),
        ]
    );
    std::fs::remove_file(&record).unwrap();
    let without = report(&sealed.wheel(out.path()));
    assert_eq!(without.verdict(), Verdict::Incomplete);
    assert_eq!(without.incomplete[0].topic, "record-mismatch");
}

#[test]
fn libraries_that_nobody_brings_are_named() {
    let (tree, out) = (dir(), dir());
    let needs = ["libgomp.so.1", "libcublas.so.12", "libz.so.1", "libown.so.1", "libcuda.so.1"];
    let project = Project::new(tree.path(), "lightgbm")
        .requires("numpy>=1.17")
        .requires("nvidia-cublas-cu12; platform_system == 'Linux'")
        .library("lightgbm/lib_lightgbm.so", "", &needs, &[])
        .library("lightgbm.libs/libown.so.1", "libown.so.1", &["libmvec.so.1"], &[])
        .seal();
    let found = report(&project.wheel(out.path()));
    assert_eq!(
        said(&found, "library-missing"),
        [
            "lightgbm-1.0 | needs libgomp.so.1, outside of what manylinux_2_28_x86_64 allows and the wheel does not hold; not known \
          to come with numpy, nvidia-cublas-cu12 | libgomp.so.1: needed by lightgbm/lib_lightgbm.so"
        ]
    );
    assert_eq!(found.not_run(), [], "{:?}", found.not_run());
    // A library by itself does not say what comes with it.
    let alone = report(&tree.path().join("lightgbm.libs/libown.so.1"));
    let not_run: Vec<&str> = alone.not_run().iter().map(|one| one.lint.as_str()).collect();
    assert_eq!(not_run, ["glibc-ceiling", "library-missing", "record-mismatch"]);
    assert!(alone.text(crate::report::TextOptions::default()).contains("not run  library-missing"));
}

/// An environment with two projects, the second of which has a private directory beside its package.
fn environment(root: &Path) -> PathBuf {
    let site = root.join("lib/python3.11/site-packages");
    Project::new(&site, "one")
        .library("one.libs/libgomp-a34b3233.so.1.0.0", "libgomp-a34b3233.so.1.0.0", &[], &[])
        .seal();
    let gfortran = "libgfortran-040039e1.so.5.0.0";
    Project::new(&site, "two")
        .library("two.libs/libgomp-1b2c3d4e.so.1.0.0", "libgomp-1b2c3d4e.so.1.0.0", &[], &[])
        .library(&format!("two.libs/{gfortran}"), gfortran, &[], &[])
        .library("two/deep/module.so", "", &[gfortran], &["-Wl,-rpath,$ORIGIN/../../two.libs"])
        .seal();
    Project::new(&site, "three")
        .library("three.libs/libgfortran-91cc3cb1.so.3.0.0", "libgfortran-91cc3cb1.so.3.0.0", &[], &[])
        .seal();
    site
}

#[test]
fn each_installed_project_is_looked_at_and_what_meets() {
    let root = dir();
    let site = environment(root.path());
    std::fs::write(root.path().join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    for path in [root.path(), &site] {
        let found = report(path);
        let place = path.display();
        let mut examined = vec!["one-1.0", "three-1.0", "two-1.0"];
        let rest = format!("{} (files of no project)", path.file_name().unwrap().display());
        if path == root.path() {
            examined.push(&rest);
            examined.sort_unstable();
        }
        assert_eq!(found.examined, examined);
        assert_eq!(
            said(&found, "copies-hurt"),
            [format!(
                "{place} | holds 2 OpenMP runtimes; two in one process hurt: {} | two-1.0: \
                 two.libs/libgomp-1b2c3d4e.so.1.0.0, one-1.0: one.libs/libgomp-a34b3233.so.1.0.0",
                context().rules.manifests.foreign.family("libgomp").unwrap().hurts
            )]
        );
        assert_eq!(said(&found, "copies-meet"), [""; 0], "other majors are other libraries");
        assert_eq!(said(&found, "record-mismatch"), [""; 0]);
        assert_eq!(said(&found, "library-missing"), [""; 0]);
        assert_eq!(said(&found, "runpath-build-path"), [""; 0]);
    }
    // One file is seen in its place, too: what its search path leads to is the project's.
    let alone = report(&site.join("two/deep/module.so"));
    assert_eq!(said(&alone, "runpath-build-path"), [""; 0]);
    assert_eq!(alone.examined, ["two/deep/module.so"]);
    // What was changed after the installation.
    std::fs::write(site.join("three-1.0.dist-info/METADATA"), "Name: three\nVersion: 1.0\n\n").unwrap();
    std::fs::remove_file(site.join("two/deep/module.so")).unwrap();
    assert_eq!(
        said(&report(root.path()), "record-mismatch"),
        [
            "three-1.0: three-1.0.dist-info/RECORD | has another digest or size than the file itself | \
             three-1.0.dist-info/METADATA",
            "two-1.0: two-1.0.dist-info/RECORD | lists a file that is not there | two/deep/module.so",
        ]
    );
}

/// A list may name anything; what leads out of the environment is not opened.
#[test]
fn lists_lead_nowhere_else() {
    let (root, outside) = (dir(), dir());
    let site = root.path().join("lib/python3.11/site-packages");
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let project = Project::new(&site, "a").file("a.py", "a").seal();
    std::os::unix::fs::symlink(outside.path(), site.join("link")).unwrap();
    let record = site.join("a-1.0.dist-info/RECORD");
    let text = std::fs::read_to_string(&record).unwrap();
    let up = "../".repeat(12);
    let lines =
        format!("link/secret,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n{up}etc/passwd,sha256=x,1\n");
    std::fs::write(&record, text + &lines).unwrap();
    drop(project);
    let found = said(&report(root.path()), "record-mismatch");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("lists 2 files that are not there"), "{found:?}");
}

/// Entries that lead past the directory of all projects find nothing and harm nobody: one note about all of a file.
#[test]
fn search_paths_that_lead_past_all_projects_are_one_note() {
    let (tree, out) = (dir(), dir());
    let entries = ["$ORIGIN/../../nvidia/cudnn/lib", "$ORIGIN/../../nvidia/nccl/lib"];
    let path = |entries: &[&str]| format!("-Wl,--disable-new-dtags,-rpath,{}", entries.join(":"));
    let project = Project::new(tree.path(), "torch")
        .library("torch/_C.so", "", &[], &[&path(&[entries[0], "$ORIGIN/lib", entries[1]])])
        .library("torch/lib/libc10.so", "libc10.so", &[], &[&path(&["/build/a", "/build/b", entries[0]])])
        .seal();
    let found = report(&project.wheel(out.path()));
    assert_eq!(
        said(&found, "runpath-build-path"),
        [
            "torch-1.0: torch/lib/libc10.so | RPATH names 2 directories of the build machine | /build/a, /build/b"
                .to_owned(),
            format!("torch-1.0: torch/_C.so | 2 entries of RPATH lead out of the prefix | {}", entries.join(", ")),
        ],
        "from torch/lib the first entry stays among the projects"
    );
    let levels: Vec<Level> = found.findings.iter().map(|finding| finding.level).collect();
    assert_eq!(levels, [Level::Deny, Level::Note]);
    let strict = Settings::default().level("runpath-build-path", Level::Warn);
    let asked = open(&[project.wheel(out.path())]).unwrap().verify(&context().partial(true), &strict);
    assert!(asked.findings.iter().all(|finding| finding.level == Level::Warn), "{:?}", asked.findings);
}

/// One tag promises too little for several files: one finding, with each file and the symbols because of which.
#[test]
fn what_a_tag_promises_too_little_for_is_one_finding() {
    let (tree, out, work) = (dir(), dir(), dir());
    let map = "GLIBCXX_3.4.29 { global: newer; }; GLIBCXX_3.4.30 { global: newest; }; CXXABI_1.3.13 { global: ends; };";
    std::fs::write(work.path().join("map"), map).unwrap();
    let script = format!("-Wl,--version-script={}", work.path().join("map").display());
    let flags = ["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libstdc++.so.6", &script];
    let source = "void newer(void) {} void newest(void) {} void ends(void) {}";
    let runtime = compile(work.path(), "libstdc++.so.6", source, &flags);
    let module = |symbols: &[&str]| {
        let calls: String =
            symbols.iter().map(|it| format!("void {it}(void); void go_{it}(void) {{ {it}(); }}")).collect();
        let link = ["-shared", "-fPIC", "-nostdlib", runtime.to_str().unwrap(), "-Wl,-z,noexecstack,-z,relro,-z,now"];
        std::fs::read(compile(work.path(), "module", &calls, &link)).unwrap()
    };
    let project = Project::new(tree.path(), "cupy")
        .file("cupy/a.so", module(&["newer"]))
        .file("cupy/b.so", module(&["newest", "ends"]))
        .seal();
    let found = report(&project.wheel(out.path()));
    assert_eq!(
        said(&found, "runtime-ceiling"),
        ["cupy-1.0 | needs CXXABI_1.3.13 of libstdc++.so.6 and GLIBCXX_3.4.30 of libstdc++.so.6; machines of \
          manylinux_2_28 have CXXABI_1.3.11 and GLIBCXX_3.4.24 | cupy-1.0: cupy/a.so: GLIBCXX_3.4.29 because of \
          newer@GLIBCXX_3.4.29, cupy-1.0: cupy/b.so: GLIBCXX_3.4.30 because of newest@GLIBCXX_3.4.30, cupy-1.0: \
          cupy/b.so: CXXABI_1.3.13 because of ends@CXXABI_1.3.13"]
    );
    assert!(found.findings[0].fix.as_ref().unwrap().contains("auditwheel repair"), "{:?}", found.findings);
}
