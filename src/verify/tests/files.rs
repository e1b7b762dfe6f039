//! Manifests against trees, owners, leaks.

use super::fixture::{Tree, context, denies, passes, report, said};
use crate::recipe::ComponentKind;
use crate::report::Level;
use crate::verify::Staging;

fn two_files() -> Tree {
    Tree::core().file("share/volley/a.txt", "a").file("share/volley/b.txt", "b").link("share/volley/c.txt", "a.txt")
}

#[test]
fn files_are_what_the_manifest_says() {
    let sealed = two_files().seal();
    passes(&[&sealed]);
    let root = &sealed.bundle.root;
    std::fs::write(root.join("share/volley/a.txt"), "A").unwrap();
    std::fs::remove_file(root.join("share/volley/b.txt")).unwrap();
    std::fs::remove_file(root.join("share/volley/c.txt")).unwrap();
    std::os::unix::fs::symlink("b.txt", root.join("share/volley/c.txt")).unwrap();
    std::fs::write(root.join("share/volley/d.txt"), "d").unwrap();
    denies(
        &[&sealed],
        &[
            "artifact-digest | volley-core: share/volley/a.txt | is not what its manifest says: other content",
            "artifact-digest | volley-core: share/volley/b.txt | is in the manifest and not in the package",
            "artifact-digest | volley-core: share/volley/c.txt | is not what its manifest says: the link leads elsewhere",
            "unclaimed-file | volley-core: share/volley/d.txt | is in the package and not in its manifest",
        ],
    );
}

#[test]
fn a_changed_mode_is_a_change() {
    let sealed = two_files().seal();
    crate::fs::set_mode(&sealed.bundle.root.join("share/volley/a.txt"), 0o755).unwrap();
    let found = said(&report(&[&sealed], &context()));
    assert_eq!(
        found,
        [
            "artifact-digest | volley-core: share/volley/a.txt | is not what its manifest says: other size or permissions"
        ]
    );
}

#[test]
fn one_path_has_one_owner() {
    let dev = Tree::new(ComponentKind::Dev, "dev").file("share/volley/a.txt", "a").seal();
    denies(
        &[&two_files().seal(), &dev],
        &["doubly-claimed | volley-core | share/volley/a.txt also belongs to volley-dev"],
    );
    // Two builds of one package are never installed together.
    passes(&[&two_files().seal(), &two_files().seal()]);
    passes(&[&two_files().seal(), &Tree::new(ComponentKind::Dev, "dev").file("share/volley/aa.txt", "a").seal()]);
}

#[test]
fn what_staging_found_is_reported() {
    let staging = Staging {
        unclaimed: vec!["bin/left".to_owned()],
        claimed_twice: vec![("lib/x.so".to_owned(), vec![ComponentKind::Core, ComponentKind::Rtc])],
        empty_globs: vec![(ComponentKind::Dev, "include/**".to_owned())],
        hard_coded: vec!["CMakeLists.txt:3: set(CMAKE_CUDA_ARCHITECTURES 70)".to_owned()],
        overrides: vec!["option CMAKE_AR = /usr/bin/ar of component `core`".to_owned()],
        unused: [(ComponentKind::Core, "WITH_MIP".to_owned())].into(),
        search_paths: Vec::new(),
        given: Default::default(),
        tests: Vec::new(),
    };
    let report = report(&[&two_files().seal()], &context().staging(staging));
    assert_eq!(
        said(&report),
        [
            "doubly-claimed | staging | lib/x.so is claimed by components `core`, `rtc`",
            "unclaimed-file | staging | bin/left was installed and no component claims it",
            "empty-glob | staging | `include/**` of component `dev` matches nothing that was installed",
            "hard-coded-capability | source | fixes capabilities by itself: \
             CMakeLists.txt:3: set(CMAKE_CUDA_ARCHITECTURES 70)",
            "option-unused | recipe | option WITH_MIP of component `core` was not used by its build",
            "tool-override | recipe | option CMAKE_AR = /usr/bin/ar of component `core` replaces one tool of the toolchain",
        ]
    );
    assert_eq!(report.findings[2].level, Level::Warn);
    let clean = Staging::default();
    assert!(said(&self::report(&[&two_files().seal()], &context().staging(clean))).is_empty());
}

#[test]
fn paths_of_the_build_are_found_in_bytes() {
    let source = "const char *where(void) { return \"/build/dir/core.cc\"; }";
    let flags = ["-shared", "-fPIC"];
    let leaking = Tree::core().compiled("lib/volley/p.so", source, &flags).seal();
    let found = said(&report(&[&leaking], &context().build_paths(["/build/dir"])));
    assert_eq!(found, ["build-path-leak | volley-core: lib/volley/p.so | holds a path of the build: /build/dir"]);
    let alike = Tree::core().compiled("lib/volley/p.so", &source.replace("/dir/", "/directory/"), &flags).seal();
    assert_eq!(said(&report(&[&alike], &context().build_paths(["/build/dir"]))), [""; 0]);
}

#[test]
fn texts_that_take_part_in_builds_name_no_directory_of_their_own() {
    let text = "# made below /build/dir\nset(SOURCE /build/dir/src)\nset(OTHER ${CMAKE_CURRENT_LIST_DIR}/src)\n";
    let context = context().build_paths(["/build/dir"]);
    let leaking =
        Tree::core().file("share/volley/volley-config.cmake", text).file("share/volley/notes.txt", text).seal();
    let report = report(&[&leaking], &context);
    assert_eq!(
        said(&report),
        [
            "build-path-in-text | volley-core: share/volley/volley-config.cmake | names directories of its build",
            "build-path-leak | volley-core: share/volley/notes.txt | holds a path of the build: /build/dir",
        ]
    );
    let levels: Vec<Level> = report.findings.iter().map(|finding| finding.level).collect();
    assert_eq!(levels, [Level::Deny, Level::Warn]);
    assert_eq!(report.findings[0].evidence, ["line 1: # made below /build/dir", "line 2: set(SOURCE /build/dir/src)"]);
}

#[test]
fn each_package_has_its_own_verdict() {
    use crate::report::Verdict;
    let broken = Tree::new(ComponentKind::Dev, "dev").file("include/v.h", "h").seal();
    std::fs::write(broken.bundle.root.join("include/v.h"), "other").unwrap();
    let report = report(&[&two_files().seal(), &broken], &context());
    assert_eq!(report.about("volley-core").verdict(), Verdict::Pass);
    assert_eq!(report.about("volley-dev").verdict(), Verdict::Findings);
}
