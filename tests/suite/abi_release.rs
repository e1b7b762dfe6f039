//! Three releases of volley and two programs that link it: each program gets the floor of the symbols
//! that it uses, and a release that loses a symbol is stopped.

use std::path::{Path, PathBuf};

use crate::support::{
    CacheView, Ran, client, copy_tree, digests, package_file, scratch, set_up, simpack, unpack, volley,
};

const ADDED: &str = "\nextern \"C\" __attribute__((visibility(\"default\"))) int volley_added(void) { return 7; }\n";

/// A copy of volley's recipe as another release.
fn release(dir: &Path, version: &str, edit: impl Fn(&Path)) -> PathBuf {
    let recipe = dir.join(format!("volley-{version}"));
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley"), &recipe);
    replace(&recipe.join("simpack.toml"), "version = \"1.0.0\"", &format!("version = \"{version}\""));
    edit(&recipe);
    recipe
}

fn replace(file: &Path, from: &str, to: &str) {
    let text = fs_err::read_to_string(file).unwrap();
    assert!(text.contains(from), "{}: no {from}", file.display());
    fs_err::write(file, text.replace(from, to)).unwrap();
}

/// Builds core alone into `dist`.
fn build(dir: &Path, view: &CacheView, recipe: &Path, dist: &str) -> Ran {
    let mut command = simpack(dir, &["build", recipe.to_str().unwrap(), "--component", "core,rtc,dev", "--dist", dist]);
    Ran::of(command.args(["--work", &format!("{dist}-work")]).env("SIMPACK_CACHE_DIR", view.root.path()))
}

/// A program that links the volley of `prefix`, packed by simpack.
fn consumer(dir: &Path, view: &CacheView, name: &str, body: &str, library: &Path, symbols: &Path) {
    let root = dir.join(name);
    fs_err::create_dir_all(root.join("lib")).unwrap();
    fs_err::copy(library, root.join("lib/libvolley.so.1")).unwrap();
    copy_tree(symbols, &root.join("symbols"));
    let recipe = format!(
        "edition = 1
[simulator]
name = \"{name}\"
version = \"0.1.0\"
license = \"BSD-3-Clause\"
summary = \"calls volley\"
[matrix]
cuda = [\"13.0\"]
capabilities = []
[toolchain]
host = \"system\"
[component.core]
policy = \"major\"
files = [\"bin/{name}\"]
[component.core.build]
driver = \"script\"
targets = [\"build.sh\"]
"
    );
    let script = format!(
        "mkdir -p \"$PREFIX/bin\"\n$CC -o \"$PREFIX/bin/{name}\" main.c lib/libvolley.so.1 \
         -Wl,--allow-shlib-undefined -Wl,-rpath,'$ORIGIN/../lib'\n"
    );
    for (file, text) in
        [("simpack.toml", recipe.as_str()), ("main.c", body), ("LICENSE", "free\n"), ("build.sh", script.as_str())]
    {
        fs_err::write(root.join(file), text).unwrap();
    }
    let mut command =
        simpack(dir, &["build", name, "--dist", &format!("{name}-dist"), "--work", &format!("{name}-work")]);
    Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
}

/// Whether py-rattler finds a set of packages with volley-core of one release only.
fn solves(channels: &[PathBuf], specs: &[&str]) -> Option<Ran> {
    let mut command = client("solve.py")?;
    for channel in channels {
        command.arg("--channel").arg(channel);
    }
    command.args(["--virtual", "__glibc=2.40", "--virtual", "__unix=0", "--virtual", "__linux=6.1"]);
    Some(Ran::of(command.args(specs)))
}

#[test]
fn each_program_gets_its_own_floor_and_a_lost_symbol_stops_the_release() {
    if set_up("SIMPACK_TEST_PYTHON").is_none() {
        return;
    }
    let (dir, view) = (scratch(), CacheView::with_artifacts());
    let dir = dir.path();

    // 1.0.0 is volley as it is; its symbols file is committed.
    let first = volley().channel();
    // 1.0.1 has one more export, which nobody recorded yet: said, and no reason to stop.
    let added = |recipe: &Path| {
        let api = recipe.join("src/core/api.cc");
        let text = fs_err::read_to_string(&api).unwrap();
        fs_err::write(&api, text + ADDED).unwrap();
    };
    let recipe = release(dir, "1.0.1", added);
    let ran = build(dir, &view, &recipe, "dist-1.0.1").exit(0);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let report =
        Ran::of(&mut simpack(dir, &["verify", "dist-1.0.1", "--recipe", recipe.to_str().unwrap(), "--json"])).json();
    assert!(report["findings"].to_string().contains("abi-unrecorded"), "{said}\n{report:#}");
    // Recorded, it is silent.
    let symbols = recipe.join("symbols");
    let args = ["abi", "update", "dist-1.0.1", "--symbols", symbols.to_str().unwrap()];
    assert!(Ran::of(&mut simpack(dir, &args)).exit(0).stdout.contains("1 new, 0 gone"));
    let ran = build(dir, &view, &recipe, "dist-1.0.1").exit(0);
    assert!(ran.stdout.contains("0 findings"), "{}", ran.stdout);
    let second = dir.join("dist-1.0.1/conda");

    // Two programs, both linked against 1.0.1: what was installed at build time does not matter.
    let prefix = dir.join("prefix");
    unpack(&package_file(&second, "volley-core"), "pkg", &prefix);
    let library = prefix.join("lib/libvolley.so.1");
    let plain =
        "#include <stddef.h>\nconst char *volley_version(void);\nint main(void) { return volley_version() == NULL; }\n";
    let eager = "int volley_added(void);\nint main(void) { return volley_added() != 7; }\n";
    consumer(dir, &view, "plain", plain, &library, &symbols);
    consumer(dir, &view, "eager", eager, &library, &symbols);
    let channel = |name: &str| dir.join(format!("{name}-dist/conda"));

    let old = |name: &str| solves(&[channel(name), first.clone()], &[&format!("{name}-core")]).unwrap();
    let new = |name: &str| solves(&[channel(name), second.clone()], &[&format!("{name}-core")]).unwrap();
    let ran = old("plain").exit(0);
    assert!(ran.stdout.contains("volley-core"), "plain does not depend on volley-core: {}", ran.stdout);
    let ran = old("eager").exit(1);
    assert!(ran.stderr.contains("volley-core >=1.0.1,<2"), "{}", ran.stderr);
    new("plain").exit(0);
    new("eager").exit(0);
    // The solver is right: with 1.0.0's library the program ends at start.
    let bin = dir.join("eager-work/bundles/eager-core/bin/eager");
    let run = |lib: &Path| Ran::of(std::process::Command::new(&bin).env("LD_LIBRARY_PATH", lib));
    assert_eq!(run(&prefix.join("lib")).code, Some(0));
    let before = dir.join("before");
    unpack(&package_file(&first, "volley-core"), "pkg", &before);
    assert!(run(&before.join("lib")).stderr.contains("volley_added"));

    // 1.1.0 loses a symbol: stopped, with the version that would be right; dist/ stays as it was.
    let lost = release(dir, "1.1.0", |recipe| {
        added(recipe);
        let declared = "VOLLEY_API volley_status volley_network_parse";
        let hidden = "__attribute__((visibility(\"hidden\"))) volley_status volley_network_parse";
        replace(&recipe.join("include/volley/volley.h"), declared, hidden);
    });
    fs_err::remove_dir_all(lost.join("symbols")).unwrap();
    copy_tree(&symbols, &lost.join("symbols"));
    let state = digests(&dir.join("dist-1.0.1"));
    let ran = build(dir, &view, &lost, "dist-1.0.1").exit(1);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("abi-broken") && said.contains("2.0.0") && said.contains("volley_network_parse"), "{said}");
    assert_eq!(digests(&dir.join("dist-1.0.1")), state);
}
