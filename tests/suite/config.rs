//! Settings: the user's file, variables and the command line; and what follows from them.

use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::config::SETTINGS;

use crate::support::{CacheView, Ran, scratch, simpack};

/// A home with a file of settings, and nothing of this machine's.
struct Home(tempfile::TempDir);

impl Home {
    fn new(settings: &str) -> Self {
        let home = Self(scratch());
        fs_err::create_dir_all(home.path("config/simpack")).unwrap();
        fs_err::write(home.path("config/simpack/config.toml"), settings).unwrap();
        home
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn simpack(&self, args: &[&str]) -> Command {
        let mut command = simpack(self.0.path(), args);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SIMPACK_")) {
            command.env_remove(name);
        }
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "GITHUB_ACTIONS", "GITLAB_CI", "CI"] {
            command.env_remove(name);
        }
        command.env("XDG_CONFIG_HOME", self.path("config")).env("SIMPACK_CACHE_DIR", self.path("cache"));
        command
    }
}

/// `(value, origin)` of a row in `config --list --json`.
fn row(listing: &serde_json::Value, part: &str, name: &str) -> (String, String) {
    let row = listing[part].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    (row["value"].as_str().unwrap_or("-").to_owned(), row["origin"].as_str().unwrap().to_owned())
}

#[test]
fn every_setting_is_listed_with_where_it_came_from() {
    let home = Home::new("edition = 1\n\njobs = 3\noffline = false\nquiet = false\n");
    let mut command = home.simpack(&["config", "--list", "--json", "--verbose"]);
    command.env("SIMPACK_LOCKED", "yes").env("SIMPACK_OFFLINE", "1");
    command
        .env("https_proxy", "http://me:secret@proxy.example:3128")
        .env("PIP_INDEX_URL", "https://me:secret@index.example/simple");
    command.env("PIP_PROXY", "me:secret@other.example:8080");
    let ran = Ran::of(&mut command).exit(0);
    assert!(!ran.stdout.contains("secret"), "{}", ran.stdout);
    let listing = ran.json();
    let file = home.path("config/simpack/config.toml").display().to_string();
    assert_eq!((&listing["file"], &listing["file-exists"]), (&file.as_str().into(), &true.into()));
    let setting = |name: &str| row(&listing, "settings", name);
    let pair = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    assert_eq!(setting("jobs"), pair("3", &format!("{file}:3")));
    assert_eq!(setting("locked"), pair("true", "SIMPACK_LOCKED"));
    assert_eq!(setting("offline"), pair("true", "SIMPACK_OFFLINE"));
    assert_eq!(setting("verbose"), pair("true", "command line"));
    assert_eq!(setting("quiet"), pair("false", &format!("{file}:5")));
    assert_eq!(setting("color"), pair("auto", "default"));
    assert_eq!(setting("cache-dir").1, "SIMPACK_CACHE_DIR");
    assert_eq!(setting("index-url"), pair("https://index.example/simple", "pip's configuration"));
    assert_eq!(row(&listing, "environment", "HTTPS_PROXY"), pair("http://proxy.example:3128", "https_proxy"));
    assert_eq!(row(&listing, "environment", "pip proxy"), pair("other.example:8080", "pip's configuration"));
    assert_eq!(row(&listing, "environment", "NO_COLOR"), pair("-", "not set"));
    let names: Vec<&str> =
        listing["settings"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, SETTINGS.map(|setting| setting.name));

    let words = Ran::of(&mut home.simpack(&["config"])).exit(0);
    assert!(
        words.stdout.lines().any(|line| line.contains("jobs") && line.ends_with(&format!("{file}:3"))),
        "{words:?}"
    );
    assert_eq!(Ran::of(&mut home.simpack(&["config", "jobs"])).exit(0).stdout, "3\n");
    let near = Ran::of(&mut home.simpack(&["config", "job"])).exit(2);
    assert!(near.stderr.contains("did you mean `jobs`?"), "{}", near.stderr);
}

#[test]
fn wrong_settings_are_refused_by_every_verb() {
    let home = Home::new("# mine\njbos = 3\n");
    let ran = Ran::of(&mut home.simpack(&["toolchain", "list"])).exit(2);
    assert!(ran.stderr.contains("config/simpack/config.toml:2: unknown setting `jbos`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean `jobs`?") && ran.stdout.is_empty(), "{ran:?}");
    Ran::of(&mut home.simpack(&["--help"])).exit(0);
    let ran = Ran::of(home.simpack(&["toolchain", "list"]).env("SIMPACK_CONFIG", home.path("none.toml"))).exit(6);
    assert!(ran.stderr.contains("none.toml: the file of settings cannot be read"), "{}", ran.stderr);
    fs_err::write(home.path("other.toml"), "cache-dir = \"~/there\"\n").unwrap();
    let mut command = home.simpack(&["config", "cache-dir"]);
    command.env("SIMPACK_CONFIG", home.path("other.toml")).env("HOME", "/my/home").env_remove("SIMPACK_CACHE_DIR");
    assert_eq!(Ran::of(&mut command).exit(0).stdout, "/my/home/there\n");
    // An empty variable is none: the file of the user's directory counts.
    let ran = Ran::of(home.simpack(&["config"]).env("SIMPACK_CONFIG", "")).exit(2);
    assert!(ran.stderr.contains("unknown setting `jbos`"), "{}", ran.stderr);
    let home = Home::new("");
    let ran = Ran::of(home.simpack(&["config"]).env("SIMPACK_JOBS", "lots")).exit(2);
    assert!(ran.stderr.contains("SIMPACK_JOBS is `lots`"), "{}", ran.stderr);
}

/// The settings do what they say: the cache, and the promise of `offline`.
#[test]
fn settings_reach_the_work() {
    let home = Home::new("offline = true\nlocked = true\n");
    fs_err::write(
        home.path("config/simpack/config.toml"),
        format!("offline = true\nlocked = true\ncache-dir = \"{}\"\n", home.path("mine").display()),
    )
    .unwrap();
    Ran::of(&mut home.simpack(&["init", "tiny", "--dir", "tiny"])).exit(0);
    let run = |args: &[&str]| Ran::of(home.simpack(args).env_remove("SIMPACK_CACHE_DIR"));
    let ran = run(&["build", "tiny"]).exit(8);
    assert!(ran.stderr.contains("there is no tiny/simpack.lock"), "{}", ran.stderr);
    run(&["lock", "tiny"]).exit(0);
    let ran = run(&["build", "tiny"]).exit(4);
    assert!(ran.stderr.contains("this run is offline and lacks"), "{}", ran.stderr);
    run(&["lock", "volley", "--check"]).exit(0);
    assert!(
        home.path("mine/recipes").is_dir() && !home.path("cache").exists(),
        "the embedded recipe is unpacked elsewhere"
    );
}

#[test]
fn colours_and_quiet_and_verbose() {
    let home = Home::new("");
    let stderr =
        |args: &[&str], variables: &[(&str, &str)]| Ran::of(home.simpack(args).envs(variables.iter().copied())).stderr;
    let wrong = ["verify", "nothing-here/"];
    assert!(stderr(&wrong, &[]).starts_with("error: "));
    assert!(stderr(&wrong, &[("CLICOLOR_FORCE", "1")]).starts_with("\x1b[1;31merror:\x1b[0m "));
    assert!(stderr(&wrong, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).starts_with("error: "));
    assert!(stderr(&wrong, &[("CLICOLOR_FORCE", "0")]).starts_with("error: "));
    assert!(stderr(&wrong, &[("SIMPACK_COLOR", "always"), ("NO_COLOR", "1")]).starts_with("\x1b[1;31m"));
    Ran::of(&mut home.simpack(&["config", "-q", "-v"])).exit(2);
}

/// What a build says, in words: more with `-v`, folded on GitHub and GitLab, nothing but results with `-q`.
#[test]
fn logs_fold_where_they_are_shown() {
    let home = Home::new("");
    let view = CacheView::with_artifacts();
    let build = |args: &[&str], variables: &[(&str, &str)]| {
        // A directory of its own: a build of what was built has nothing to say.
        let dir = tempfile::tempdir_in(home.path(".")).unwrap();
        let mut command =
            home.simpack(&["build", "volley", "--component", "kernels", "--capability", "9.0", "--ptx", "none"]);
        command
            .args(args)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
            .arg("--dist")
            .arg(dir.path().join("dist"));
        command.arg("--work").arg(dir.path().join("work")).env("SIMPACK_CACHE_DIR", view.root.path());
        Ran::of(command.envs(variables.iter().copied())).exit(0)
    };
    let plain = build(&[], &[]);
    assert!(!plain.stderr.contains("::group::") && !plain.stderr.contains('\x1b'), "{}", plain.stderr);
    assert!(!plain.stderr.contains("step  "), "{}", plain.stderr);
    let github = build(&["--json"], &[("GITHUB_ACTIONS", "true")]);
    github.json();
    let folds: Vec<&str> = github.stderr.lines().filter(|line| line.starts_with("::")).collect();
    let end = "::endgroup::";
    assert_eq!(folds, ["::group::toolchain", end, "::group::build", end, "::group::packages", end]);
    let gitlab = build(&[], &[("GITLAB_CI", "true")]).stderr;
    for fold in ["toolchain", "build", "packages"] {
        let at = |word: &str| gitlab.find(&format!("\x1b[0Ksection_{word}:")).unwrap_or_else(|| panic!("{gitlab:?}"));
        assert!(at("start") < at("end"));
        assert!(gitlab.contains(&format!(":{fold}\r\x1b[0K{fold}\n")), "{gitlab:?}");
        assert!(gitlab.contains(&format!(":{fold}\r\x1b[0K\n")), "{gitlab:?}");
    }
    let none = build(&[], &[("GITHUB_ACTIONS", "true"), ("SIMPACK_LOG_GROUPS", "none")]);
    assert!(!none.stderr.contains("::group::"), "{}", none.stderr);
    let verbose = build(&["-v"], &[]).stderr;
    for line in ["cache      ", "lock       ", "tool       nvcc 13.0", "step       "] {
        assert!(verbose.lines().any(|found| found.starts_with(line)), "{line}: {verbose}");
    }
    let quiet = build(&["-q"], &[("GITHUB_ACTIONS", "true")]);
    assert!(quiet.stderr.is_empty() && quiet.stdout.contains("volley-kernels-sm_90"), "{quiet:?}");
}

/// Whoever reads a variable of simpack's own reads a setting: no variable is missing from the list.
#[test]
fn no_variable_is_read_beside_the_table() {
    let known: Vec<String> =
        SETTINGS.iter().map(simpack::config::Setting::variable).chain(["SIMPACK_CONFIG".to_owned()]).collect();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut unknown = Vec::new();
    for file in crate::support::files(&src) {
        let text = fs_err::read_to_string(src.join(&file)).unwrap();
        for (at, _) in text.match_indices("SIMPACK_") {
            let name: String =
                text[at..].chars().take_while(|c| c.is_ascii_uppercase() || *c == '_' || c.is_ascii_digit()).collect();
            let is_test = name.starts_with("SIMPACK_TEST_") || name == "SIMPACK_" || name == "SIMPACK_NAME";
            if !is_test && !known.contains(&name) {
                unknown.push(format!("{file}: {name}"));
            }
        }
    }
    assert!(unknown.is_empty(), "not in simpack::config::SETTINGS: {unknown:?}");
}
