//! What a user sees: every help text, mistakes, plans, completions and man pages.

use std::path::Path;

use crate::support::{CacheView, Ran, scratch, simpack, tool};

/// Every verb, and the verbs below it.
const VERBS: &[&[&str]] = &[
    &[],
    &["init"],
    &["check"],
    &["build"],
    &["plan"],
    &["merge"],
    &["lock"],
    &["vendor"],
    &["patch-source"],
    &["rebuild"],
    &["verify"],
    &["publish"],
    &["inspect"],
    &["patch"],
    &["resolve"],
    &["select"],
    &["doctor"],
    &["compile"],
    &["slice"],
    &["compose"],
    &["generate"],
    &["generate", "conda"],
    &["generate", "nix"],
    &["generate", "cmake"],
    &["generate", "pkgconfig"],
    &["generate", "docs"],
    &["generate", "github"],
    &["generate", "spack"],
    &["generate", "easybuild"],
    &["abi"],
    &["abi", "dump"],
    &["abi", "diff"],
    &["abi", "floor"],
    &["abi", "update"],
    &["toolchain"],
    &["toolchain", "list"],
    &["toolchain", "fetch"],
    &["toolchain", "show"],
    &["cache"],
    &["cache", "stat"],
    &["cache", "gc"],
    &["cache", "verify"],
    &["config"],
    &["schema"],
    &["completions"],
    &["man"],
    &["help"],
];

/// A snapshot of its own for each verb; the terminal's width does not matter below 100 columns.
#[test]
fn help() {
    let listed = simpack::cli::command();
    let shown = listed.get_subcommands().filter(|verb| !verb.is_hide_set());
    let known: Vec<_> = shown.map(|verb| verb.get_name().to_owned()).collect();
    let here: Vec<_> = VERBS.iter().filter(|verb| verb.len() == 1 && verb[0] != "help").map(|verb| verb[0]).collect();
    assert_eq!(here, known, "a verb has no snapshot");
    for verb in VERBS {
        let args: Vec<&str> = verb.iter().copied().chain(["--help"]).collect();
        let args = if *verb == ["help"] { vec!["help"] } else { args };
        let mut command = simpack(Path::new("."), &args);
        let ran = Ran::of(command.env("COLUMNS", "100")).exit(0);
        assert!(ran.stderr.is_empty(), "{}", ran.stderr);
        if *verb != ["help"] {
            let wide: Vec<_> = ran.stdout.lines().filter(|line| line.chars().count() > 100).collect();
            assert!(wide.is_empty(), "{wide:?}");
            let name = if verb.is_empty() { "simpack".to_owned() } else { verb.join("_") };
            insta::assert_snapshot!(format!("help_{name}"), ran.stdout);
        }
    }
}

#[test]
fn version() {
    let expected = concat!("simpack ", env!("CARGO_PKG_VERSION"), "\n");
    assert_cmd::Command::new(crate::support::program()).arg("--version").assert().success().stdout(expected);
}

/// The plan of the embedded simulator; only the keys differ between versions of the sources.
#[test]
fn plan() {
    let (dir, view) = (scratch(), CacheView::new(&[]));
    let plan = |args: &[&str]| {
        let mut command = simpack(dir.path(), args);
        Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0)
    };
    let ran = plan(&["plan", "volley", "--capability", "9.0,12.0", "--ptx", "7.5"]);
    insta::with_settings!({ filters => vec![(r"[0-9a-f]{8}  ", "<key>   "), (r"(tool +\S+ ).*", "$1<version>")] }, {
        insta::assert_snapshot!(ran.stdout);
    });
    // The same under --json: every step's key, the same each time, and parts by which it is explained.
    let args = ["plan", "volley", "--json"];
    let (one, two) = (plan(&args).json(), plan(&args).json());
    assert_eq!(one, two);
    let steps = one["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 56);
    assert!(steps.iter().all(|step| step["key"].as_str().is_some_and(|key| key.len() == 64)), "{}", steps[0]);
}

/// All mistakes of a recipe at once, each with its place, the choices and a hint.
#[test]
fn check() {
    let dir = scratch();
    fs_err::create_dir(dir.path().join("broken")).unwrap();
    let volley = fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley/simpack.toml"));
    let broken = volley
        .unwrap()
        .replace("\"8.9\", \"9.0\"", "\"9.2\", \"9.0\"")
        .replace("policy = \"major\"", "policy = \"mayor\"")
        .replace("form = \"cubin\"", "from = \"cubin\"")
        .replace("kernels/neuron.cu\"", "kernels/neurone.cu\"");
    fs_err::write(dir.path().join("broken/simpack.toml"), broken).unwrap();
    let ran = Ran::of(&mut simpack(dir.path(), &["check", "broken"])).exit(3);
    insta::assert_snapshot!(ran.stdout);
    let ran = Ran::of(&mut simpack(dir.path(), &["check", "broken", "--json"])).exit(3);
    assert!(ran.json()["mistakes"].as_array().unwrap().len() >= 3, "{}", ran.stdout);
    let ran = Ran::of(&mut simpack(dir.path(), &["build", "broken"])).exit(3);
    assert!(ran.stderr.contains("9.2"), "{}", ran.stderr);
    Ran::of(&mut simpack(dir.path(), &["check", "volley"])).exit(0);
}

/// What `init` starts, `check` finds in order.
#[test]
fn init_then_check() {
    let dir = scratch();
    Ran::of(&mut simpack(dir.path(), &["init", "mysim"])).exit(0);
    Ran::of(&mut simpack(dir.path(), &["check", "recipes/mysim"])).exit(0);
    Ran::of(&mut simpack(dir.path(), &["check", "mysim"])).exit(0);
    // Nobody gets packages that he did not ask for in a wrong directory.
    for verb in ["check", "build", "plan", "lock"] {
        let ran = Ran::of(&mut simpack(dir.path(), &[verb])).exit(2);
        assert!(ran.stderr.contains("there is no simpack.toml in this directory"), "{verb}: {}", ran.stderr);
        assert!(ran.stderr.contains("simpack init") && ran.stderr.contains("simpack build volley"), "{}", ran.stderr);
    }
    assert!(!dir.path().join("dist").exists() && !dir.path().join("target").exists());
    // A recipe of another encoding is a wrong recipe, with its line.
    fs_err::write(dir.path().join("latin.toml"), b"edition = 1\n[simulator]\nname = \"m\xfcller\"\n").unwrap();
    for verb in ["check", "plan", "generate"] {
        let args: &[&str] = if verb == "generate" { &["generate", "nix", "latin.toml"] } else { &[verb, "latin.toml"] };
        let ran = Ran::of(&mut simpack(dir.path(), args)).exit(3);
        assert!(ran.stderr.contains("latin.toml:3: the text is not UTF-8"), "{}", ran.stderr);
    }
    let ran = Ran::of(&mut simpack(dir.path(), &["init", "other", "--dir", "my sim"])).exit(0);
    assert!(ran.stdout.contains("next: simpack check 'my sim'   then   simpack build 'my sim'"), "{}", ran.stdout);
    let ran = Ran::of(&mut simpack(dir.path(), &["verify", "nosuch"])).exit(2);
    assert!(ran.stderr.contains("nosuch does not exist"), "{}", ran.stderr);
}

#[test]
fn flag_errors_are_json_where_json_is_asked_for() {
    let dir = scratch();
    for (args, kind, said) in [
        (&["build", "--josn", "--json"][..], "unexpected argument", "--josn"),
        (&["--json", "build", "--jobs", "many"], "invalid value", "many"),
        (&["--json", "fly"], "unrecognized subcommand", "fly"),
    ] {
        let ran = Ran::of(&mut simpack(dir.path(), args)).exit(2);
        assert!(ran.stderr.contains("error:"), "{}", ran.stderr);
        let error = &ran.json()["error"];
        assert_eq!((&error["kind"], &error["exit-code"]), (&"usage".into(), &2.into()));
        assert!(error["message"].as_str().unwrap().contains(kind), "{error}");
        assert!(error["details"].to_string().contains(said), "{error}");
    }
    assert_eq!(Ran::of(&mut simpack(dir.path(), &["build", "--josn"])).exit(2).stdout, "");
}

#[test]
fn what_was_started_is_not_started_again() {
    let dir = scratch();
    Ran::of(&mut simpack(dir.path(), &["init", "mysim"])).exit(0);
    Ran::of(&mut simpack(dir.path(), &["init", "mysim"])).exit(2);
    Ran::of(&mut simpack(dir.path(), &["init", "My Sim"])).exit(2);
}

#[test]
fn completions_are_scripts_that_shells_accept() {
    let dir = scratch();
    for shell in ["bash", "zsh", "fish"] {
        let ran = Ran::of(&mut simpack(dir.path(), &["completions", shell])).exit(0);
        for verb in ["build", "verify", "toolchain"] {
            assert!(ran.stdout.contains(verb), "{shell}: no {verb}");
        }
        let Some(program) = tool(shell) else { continue };
        let script = dir.path().join(shell);
        fs_err::write(&script, &ran.stdout).unwrap();
        Ran::of(std::process::Command::new(program).arg("-n").arg(&script)).exit(0);
    }
}

/// Words of data files are completed, too: lints, schemas, recipes, capabilities.
#[test]
fn completions_know_the_words_of_options() {
    let dir = scratch();
    let script = |shell: &str| Ran::of(&mut simpack(dir.path(), &["completions", shell])).exit(0).stdout;
    for shell in ["bash", "zsh", "fish"] {
        let script = script(shell);
        for word in ["kernel-abi", "driver-stub-wins", "12.1", "lock-result"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
    if let Some(fish) = tool("fish") {
        fs_err::write(dir.path().join("script.fish"), script("fish")).unwrap();
        for (line, expected) in [("simpack schema lock-r", "lock-result"), ("simpack check vol", "volley")] {
            let run = format!("source script.fish; complete -C '{line}'");
            let ran = Ran::of(std::process::Command::new(&fish).current_dir(dir.path()).args(["-c", &run])).exit(0);
            assert!(ran.stdout.split_whitespace().any(|word| word == expected), "{line}: {}", ran.stdout);
        }
    }
    assert!(script("bash").contains("volley"));
    let zsh = script("zsh");
    assert!(zsh.contains("compadd -- arbor brian2cuda neuron openmm strata volley\n    _files"), "{zsh}");
    let recipes = zsh.lines().filter(|line| line.contains("recipe -- ")).collect::<Vec<_>>();
    assert!(recipes.len() > 3 && recipes.iter().all(|line| line.contains(":_simpack_recipes'")), "{recipes:#?}");
    assert!(!zsh.contains("_hosts"), "{zsh}");
    let Some(bash) = tool("bash") else { return };
    fs_err::write(dir.path().join("script"), script("bash")).unwrap();
    for (line, expected) in [
        ("simpack verify --explain kernel-ab", "kernel-abi"),
        ("simpack schema lock-r", "lock-result"),
        ("simpack build --capability 12.", "12.1"),
        ("simpack check vol", "volley"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let run = format!(
            "source ./script; COMP_WORDS=({line}); COMP_CWORD={}; _simpack simpack {} {}; echo \"${{COMPREPLY[@]}}\"",
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2]
        );
        let ran = Ran::of(std::process::Command::new(&bash).current_dir(dir.path()).args(["-c", &run])).exit(0);
        assert!(ran.stdout.split_whitespace().any(|word| word == expected), "{line}: {}", ran.stdout);
    }
}

#[test]
fn man_pages_render() {
    let dir = scratch();
    let verbs = simpack::cli::command();
    let names: Vec<Option<String>> =
        [None].into_iter().chain(verbs.get_subcommands().map(|verb| Some(verb.get_name().to_owned()))).collect();
    for name in &names {
        let args: Vec<&str> = ["man"].into_iter().chain(name.as_deref()).collect();
        let ran = Ran::of(&mut simpack(dir.path(), &args)).exit(0);
        let title = name.as_ref().map_or("simpack".to_owned(), |name| format!("simpack-{name}"));
        assert!(ran.stdout.contains(&format!(".TH {title} 1")), "{title}: {}", ran.stdout);
        assert!(ran.stdout.contains(".SH OPTIONS"), "{title}");
    }
    Ran::of(&mut simpack(dir.path(), &["man", "fly"])).exit(2);
    // Verbs below verbs have pages of their own, and examples keep their lines.
    let page = Ran::of(&mut simpack(dir.path(), &["man", "cache", "gc"])).exit(0).stdout;
    assert!(page.contains(".TH simpack-cache-gc 1") && page.contains(".SH EXAMPLES\n.nf\n"), "{page}");
    assert!(page.lines().any(|line| line.starts_with("  simpack cache gc ")), "{page}");
    let ran = Ran::of(&mut simpack(dir.path(), &["man", "cache", "fly"])).exit(2);
    assert!(ran.stderr.contains("`simpack cache --help` lists the verbs"), "{}", ran.stderr);
    // A formatter finds nothing to warn about.
    let Some(groff) = tool("groff") else { return };
    let page = dir.path().join("simpack.1");
    fs_err::write(&page, Ran::of(&mut simpack(dir.path(), &["man"])).stdout).unwrap();
    let ran = Ran::of(std::process::Command::new(groff).args(["-man", "-Tascii", "-ww"]).arg(&page)).exit(0);
    assert!(ran.stdout.contains("simpack") && ran.stderr.is_empty(), "{}", ran.stderr);
}

/// A result that does not arrive is a failure; a reader that has read enough is none.
#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let dir = scratch();
    let cases: [&[&str]; 4] = [&["schema", "plan"], &["config", "--list", "--json"], &["inspect", "--help"], &["man"]];
    for args in cases {
        let full = fs_err::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(simpack(dir.path(), args).stdout(full.into_file())).exit(6);
        let said = "standard output: what was to be said there could not be written";
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        let mut reader = simpack(dir.path(), args).stdout(std::process::Stdio::piped()).spawn().unwrap();
        drop(reader.stdout.take());
        assert!(reader.wait().unwrap().success(), "{args:?}");
    }
}
