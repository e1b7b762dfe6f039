//! SONAME, NEEDED, RUNPATH.

use super::fixture::{Tree, context, denies, passes, report, said};
use crate::recipe::ComponentKind;
use crate::report::Verdict;
use crate::verify::{ReplacedSearchPath, Staging};

#[test]
fn soname_follows_the_policy() {
    passes(&[&Tree::core().library("lib/libvolley.so.1", &[]).link("lib/libvolley.so", "libvolley.so.1").seal()]);
    passes(&[&Tree::new(ComponentKind::Rtc, "rtc").library("lib/libvolley_rtc.so.1.2", &[]).seal()]);
    denies(
        &[&Tree::core().library("lib/libvolley.so.1.2", &[]).seal()],
        &[
            "soname-policy | volley-core: lib/libvolley.so.1.2 | has SONAME libvolley.so.1.2; policy `major` asks for libvolley.so.1",
        ],
    );
    denies(
        &[&Tree::core().compiled("lib/libvolley.so", "int a;", &["-shared", "-fPIC"]).seal()],
        &["soname-policy | volley-core: lib/libvolley.so | has no SONAME; policy `major` asks for libvolley.so.1"],
    );
    // The SONAME is right, and the name that programs look for is not there.
    let other_name = ["-shared", "-fPIC", "-Wl,-soname,libvolley.so.1"];
    denies(
        &[&Tree::core().compiled("lib/libvolley.so.1.2.0", "int a;", &other_name).seal()],
        &["soname-policy | volley-core: lib/libvolley.so.1.2.0 | no file or link lib/libvolley.so.1 lies beside it"],
    );
    let with_link = Tree::core().compiled("lib/libvolley.so.1.2.0", "int a;", &other_name);
    passes(&[&with_link.link("lib/libvolley.so.1", "libvolley.so.1.2.0").seal()]);
    // Plug-ins and Python modules are opened by path and have no SONAME.
    passes(&[&Tree::core().compiled("lib/volley/plugin.so", "int a;", &["-shared", "-fPIC"]).seal()]);
}

fn consumer(runpath: &str, needs: &str) -> Tree {
    let work = tempfile::tempdir().unwrap();
    let directory = work.path().display().to_string();
    let provider = Tree::core().library(&format!("lib/{needs}"), &[]).seal();
    std::fs::copy(provider.bundle.root.join("lib").join(needs), work.path().join(needs)).unwrap();
    let mut flags = vec!["-shared".to_owned(), "-fPIC".to_owned(), "-Wl,-soname,libvolley_rtc.so.1.2".to_owned()];
    flags.extend(["-Wl,--no-as-needed".to_owned(), format!("-L{directory}"), format!("-l:{needs}")]);
    if !runpath.is_empty() {
        flags.push(format!("-Wl,--enable-new-dtags,-rpath,{runpath}"));
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    Tree::new(ComponentKind::Rtc, "rtc").compiled(
        "lib/libvolley_rtc.so.1.2",
        "int answer(void); int ask(void) { return answer(); }",
        &flags,
    )
}

#[test]
fn needed_libraries_have_a_provider_that_is_reached() {
    let core = || Tree::core().library("lib/libvolley.so.1", &[]).seal();
    passes(&[&core(), &consumer("$ORIGIN", "libvolley.so.1").seal()]);
    passes(&[&core(), &consumer("/run/opengl-driver/lib:${ORIGIN}/../lib/", "libvolley.so.1").seal()]);
    denies(
        &[&core(), &consumer("", "libvolley.so.1").seal()],
        &["needed-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           needs libvolley.so.1 of volley-core, but no RUNPATH entry leads to lib"],
    );
    denies(
        &[&core(), &consumer("$ORIGIN/../lib64", "libvolley.so.1").seal()],
        &["needed-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           needs libvolley.so.1 of volley-core, but no RUNPATH entry leads to lib"],
    );
    denies(
        &[&consumer("$ORIGIN", "libother.so.1").seal()],
        &["needed-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           needs libother.so.1: no package has it, and nothing in `uses` is known to bring it"],
    );
    // Of one package alone nobody can say it.
    let report = report(&[&consumer("$ORIGIN", "libother.so.1").seal()], &context().partial(true));
    assert_eq!(report.verdict(), Verdict::Incomplete);
    assert_eq!(report.incomplete[0].topic, "needed-unresolved");
}

#[test]
fn vendor_libraries_are_declared() {
    passes(&[&consumer("$ORIGIN", "libnvrtc.so.13").uses("cuda-nvrtc >=13.0,<14").seal()]);
    passes(&[&consumer("$ORIGIN", "libhdf5.so.310").uses("hdf5>=1.14").seal()]);
    denies(
        &[&consumer("$ORIGIN", "libnvrtc.so.13").uses("cuda-nvrtc-dev >=13").seal()],
        &["needed-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           needs libnvrtc.so.13 of cuda-nvrtc, which `uses` does not declare"],
    );
}

#[test]
fn nobody_is_linked_with_the_driver() {
    denies(
        &[&consumer("$ORIGIN", "libcuda.so.1").seal()],
        &["driver-linked | volley-rtc: lib/libvolley_rtc.so.1.2 | is linked with the driver's libcuda.so.1"],
    );
    passes(&[&consumer("$ORIGIN", "libcudart.so.13").uses("cuda-cudart").seal()]);
}

#[test]
fn core_is_not_linked_with_cuda() {
    let needs = |needs: &str, uses: &str| {
        let mut tree = consumer("$ORIGIN", needs).uses(uses);
        let library = std::fs::read(tree.root().join("lib/libvolley_rtc.so.1.2")).unwrap();
        std::fs::remove_file(tree.root().join("lib/libvolley_rtc.so.1.2")).unwrap();
        tree.manifest.package = "volley-core".to_owned();
        tree.manifest.component = ComponentKind::Core;
        tree.file("lib/volley/libplugin.so", library).seal()
    };
    denies(
        &[&needs("libcudart.so.13", "cuda-cudart")],
        &["core-device-code | volley-core: lib/volley/libplugin.so | core is linked with libcudart.so.13"],
    );
    // A vendor library without "cuda" in its role is only a dependency like others.
    passes(&[&needs("libcudacxx.so", "libcudacxx")]);
}

#[test]
fn a_needed_path_is_found() {
    let work = tempfile::tempdir().unwrap();
    let path = work.path().join("libz.so");
    let source = Tree::core().compiled("lib/x/libz.so", "int z;", &["-shared", "-fPIC"]).seal();
    std::fs::copy(source.bundle.root.join("lib/x/libz.so"), &path).unwrap();
    let text = path.display().to_string();
    let tree = Tree::core().compiled("lib/volley/p.so", "int a;", &["-shared", "-fPIC", "-Wl,--no-as-needed", &text]);
    let found = said(&report(&[&tree.seal()], &context()));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("is a path; the loader then looks nowhere else"), "{found:?}");
}

fn with_runpath(path: &str) -> Tree {
    Tree::core().library("lib/libvolley.so.1", &[&format!("-Wl,--enable-new-dtags,-rpath,{path}")])
}

#[test]
fn search_paths_stay_in_the_prefix_or_a_driver_profile() {
    passes(&[&with_runpath("$ORIGIN:$ORIGIN/../lib:/usr/lib/wsl/lib:/run/opengl-driver/lib").seal()]);
    let subject = "volley-core: lib/libvolley.so.1";
    let one = |path: &str, wanted: &str| denies(&[&with_runpath(path).seal()], &[wanted]);
    one(
        "/home/builder/out/lib",
        &format!(
            "runpath-build-path | {subject} | RUNPATH names /home/builder/out/lib, a directory of the build machine"
        ),
    );
    one("lib", &format!("runpath-build-path | {subject} | RUNPATH entry lib depends on the current directory"));
    one(
        "$ORIGIN::/run/opengl-driver/lib",
        &format!(
            "runpath-build-path | {subject} | \
             RUNPATH has an empty entry, which is the current directory of whoever starts the program"
        ),
    );
    one(
        "$ORIGIN/../../x",
        &format!("runpath-build-path | {subject} | RUNPATH entry $ORIGIN/../../x leads out of the prefix"),
    );
    one(
        "/usr/lib64/",
        &format!("runpath-loader-default | {subject} | RUNPATH names /usr/lib64/, which the loader searches by itself"),
    );
    one(
        "/usr/local/cuda-13.0/lib64/stubs",
        &format!(
            "stub-reachable | {subject} | \
             RUNPATH names /usr/local/cuda-13.0/lib64/stubs, which holds link-time stubs of the driver"
        ),
    );
    one(
        "$ORIGIN/stubs",
        &format!("stub-reachable | {subject} | RUNPATH names $ORIGIN/stubs, which holds link-time stubs of the driver"),
    );
    one(
        "/usr/local/cuda-13.0/compat",
        &format!(
            "stub-reachable | {subject} | RUNPATH names /usr/local/cuda-13.0/compat, \
             which holds the forward compatibility driver, for data-centre GPUs only"
        ),
    );
}

#[test]
fn rpath_counts_too() {
    let old = Tree::core().library("lib/libvolley.so.1", &["-Wl,--disable-new-dtags,-rpath,/opt/build"]);
    denies(
        &[&old.seal()],
        &[
            "runpath-build-path | volley-core: lib/libvolley.so.1 | RPATH names /opt/build, a directory of the build machine",
        ],
    );
}

const OPENS: &str =
    "void *dlopen(const char *, int); void *go(const char *name) { return dlopen(name ? name : TEXT, 1); }";

fn opener(text: &str, runpath: &str) -> Tree {
    let define = format!("-DTEXT=\"{text}\"");
    let runpath = format!("-Wl,--enable-new-dtags,-rpath,{runpath}");
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libvolley_rtc.so.1.2", &define, &runpath];
    Tree::new(ComponentKind::Rtc, "rtc").compiled("lib/libvolley_rtc.so.1.2", OPENS, &flags)
}

#[test]
fn opened_libraries_have_a_provider_that_is_reached() {
    // A name that the manifests know, in the file's constants.
    let nvrtc = || opener("libnvrtc.so.13", "$ORIGIN");
    passes(&[&nvrtc().uses("cuda-nvrtc >=13.0,<14").seal()]);
    denies(
        &[&nvrtc().seal()],
        &["opened-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           opens libnvrtc.so.13 of cuda-nvrtc, which `uses` does not declare"],
    );
    // The driver is there or not, and words that are no names are not opened.
    passes(&[&opener("libcuda.so.1", "$ORIGIN").seal(), &Tree::core().seal()]);
    passes(&[&opener("no libnvrtc.so.13", "$ORIGIN").seal(), &Tree::core().seal()]);
    // A declared name that stands nowhere in the file.
    let plugin = || Tree::core().library("lib/plugins/libplug.so", &[]).seal();
    passes(&[&opener("", "$ORIGIN/plugins").opens("libplug.so").seal(), &plugin()]);
    denies(
        &[&opener("", "$ORIGIN").opens("libplug.so").seal(), &plugin()],
        &["opened-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           opens libplug.so of volley-core, but no RUNPATH entry leads to lib/plugins"],
    );
    denies(
        &[&opener("", "$ORIGIN").opens("libgone.so.1").seal(), &Tree::core().seal()],
        &["opened-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           opens libgone.so.1: no package has it, and nothing in `uses` is known to bring it"],
    );
    denies(
        &[&Tree::core().library("lib/libvolley.so.1", &[]).opens("libplug.so").seal()],
        &["opened-unresolved | volley-core | declares that it opens libplug.so, and none of its files calls dlopen"],
    );
}

/// The loader passes over a library of another machine without a word.
#[test]
fn a_provider_for_another_machine_is_none() {
    let core = Tree::core().library("lib/libvolley.so.1", &[]);
    let mut bytes = std::fs::read(core.root().join("lib/libvolley.so.1")).unwrap();
    bytes[18] = 183;
    let report = report(
        &[&core.file("lib/libvolley.so.1", bytes).seal(), &consumer("$ORIGIN", "libvolley.so.1").seal()],
        &context(),
    );
    let found = said(&report);
    let wanted = "needed-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
                  needs libvolley.so.1, and the loader passes over lib/libvolley.so.1: it is for another processor";
    assert!(found.iter().any(|line| line == wanted), "{found:#?}");
}

#[test]
fn what_a_search_path_has_lost_is_said() {
    let path = "lib/libvolley.so.1";
    let core = with_runpath("$ORIGIN:/usr/lib/wsl/lib").seal();
    let warned = |built: &str| {
        let replaced = ReplacedSearchPath {
            package: "volley-core".to_owned(),
            cuda: None,
            path: path.to_owned(),
            built: built.to_owned(),
        };
        let staging = Staging { search_paths: vec![replaced], ..Staging::default() };
        said(&report(&[&core], &context().staging(staging)))
    };
    let subject = format!("runpath-replaced | volley-core: {path} | its build let it search");
    assert_eq!(warned("/opt/sim/lib"), [format!("{subject} /opt/sim/lib, the package does not")]);
    assert_eq!(
        warned("$ORIGIN/plugins:build:$ORIGIN"),
        [format!("{subject} $ORIGIN/plugins and build, the package does not")]
    );
    // The same places in other words, what the loader searches anyway, link-time stubs, nothing.
    for built in ["$ORIGIN/../lib/:/usr/lib/wsl/lib/", "/usr/lib:/lib", "/usr/local/cuda/lib64/stubs", "", ":"] {
        assert_eq!(warned(built), [""; 0], "{built}");
    }
}
