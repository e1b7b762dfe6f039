//! What is vendored serves a machine without a network, and damage is told.

use super::*;
use crate::toolchain::Vendored;

fn quiet() -> Ui {
    Ui::new(true, true)
}

#[test]
fn vendored_wheels_serve_a_machine_without_a_network() {
    let scene = Scene::new();
    let bytes = scene.bytes.clone();
    let server = Server::start(move |request: &Request| match request.path.contains("/files/") {
        true => Answer::file(&bytes, request),
        false => json_page(&bytes),
    });
    let to = tempfile::tempdir().unwrap();
    let vendor = |offline| {
        let store = scene.store(index(&server.url("/simple")));
        store.vendor(&["tiny".to_owned()], None, &[], to.path(), (&quiet(), offline))
    };
    let list = vendor(false).unwrap();
    assert_eq!((list.files.len(), list.files[0].name.as_str()), (1, FILE));
    assert_eq!(Vendored::read(to.path()).unwrap().as_ref(), Some(&list));
    let file = to.path().join("files").join(list.files[0].sha256.to_string());
    assert_eq!(std::fs::read(&file).unwrap(), scene.bytes);
    assert_eq!(std::fs::read_dir(to.path().join("files")).unwrap().count(), 1, "no locks are left");
    // What is there is not fetched again.
    assert_eq!(vendor(true).unwrap(), list);

    let there = Scene::new();
    let store = || there.store(IndexSettings::default()).vendored_in(Some(to.path().to_owned()));
    std::fs::write(&file, "damaged").unwrap();
    let error = store().fetch("tiny", &quiet(), true).unwrap_err();
    assert!(text(&error).contains("does not have the digest"), "{}", text(&error));
    std::fs::write(&file, &scene.bytes).unwrap();
    let root = store().fetch("tiny", &quiet(), true).unwrap();
    assert!(root.join("bin/tool").is_file());
    assert!(file.is_file(), "what was unpacked is still there for others");
    assert_eq!(there.names("downloads"), [""; 0]);

    // A list of another lock takes the place of this one; a directory of others stays as it is.
    let none = scene.store(IndexSettings::default()).vendor(&[], None, &[], to.path(), (&quiet(), true)).unwrap();
    assert!(none.files.is_empty() && !file.exists());
    let foreign = tempfile::tempdir().unwrap();
    std::fs::write(foreign.path().join("thesis.tex"), "years").unwrap();
    let error =
        scene.store(IndexSettings::default()).vendor(&[], None, &[], foreign.path(), (&quiet(), true)).unwrap_err();
    assert!(text(&error).contains("holds something"), "{}", text(&error));
    std::fs::write(to.path().join("vendor.json"), "{").unwrap();
    assert!(Vendored::read(to.path()).is_err());
}

#[test]
fn the_tree_of_a_commit_is_vendored_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let repository = dir.path().join("sim");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("a.c"), "int a;\n").unwrap();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
        let output = std::process::Command::new("git").current_dir(&repository).args(identity).args(args).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "first"]);
    let rev = git(&["rev-parse", "HEAD"]);
    let source = crate::recipe::Source::Git { url: format!("file://{}", repository.display()), rev };
    let scene = Scene::new();
    let to = tempfile::tempdir().unwrap();
    let places = IndexSettings::default;
    let list = scene.store(places()).vendor(&[], Some(&source), &[], to.path(), (&quiet(), false)).unwrap();
    assert_eq!((list.files.len(), list.trees.len()), (0, 1));
    std::fs::remove_dir_all(&repository).unwrap();
    let there = Scene::new();
    let store = || there.store(places()).vendored_in(Some(to.path().to_owned()));
    let vendored = to.path().join("trees").join(list.trees[0].key.to_string()).join("a.c");
    std::fs::write(&vendored, "int b;\n").unwrap();
    let error = store().source(&source, &quiet(), true).unwrap_err();
    assert!(text(&error).contains("is not what was put there"), "{}", text(&error));
    std::fs::write(&vendored, "int a;\n").unwrap();
    let root = store().source(&source, &quiet(), true).unwrap();
    assert_eq!(std::fs::read(root.join("a.c")).unwrap(), b"int a;\n");
    // A lock that names no repository any more.
    scene.store(places()).vendor(&[], None, &[], to.path(), (&quiet(), true)).unwrap();
    assert!(!vendored.exists());
}
