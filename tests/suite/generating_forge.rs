//! What conda-forge's bot, linter and jobs make of generated recipes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use serde_yaml::Value as Yaml;

use crate::generating_conda::{checkout, compilers_with, facts};
use crate::support::{Ran, client, conda_index, copy_tree, files, need, scratch, set_up, simpack, unpack};

/// volley's recipe with conda-forge's conventions, and what its linter asks of every recipe.
fn forge(dir: &Path) {
    copy_tree(&checkout("recipes/volley"), &dir.join("volley"));
    let recipe = dir.join("volley/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    let home = "summary = \"spiking networks on CPU and GPU\"\n";
    let homed = text.replace(home, &format!("{home}homepage = \"https://volley.example.org\"\n"));
    assert_ne!(homed, text);
    fs_err::write(&recipe, homed + "profile = \"conda-forge\"\nmaintainers = [\"volley-people\"]\n").unwrap();
}

/// Writes the texts of a recipe; answers their directory.
fn generate(dir: &Path, name: &str) -> std::path::PathBuf {
    Ran::of(&mut simpack(dir, &["generate", "conda", name])).exit(0);
    dir.join(name).join("packaging/conda")
}

/// What conda-forge's bot does to a recipe when it has it built again, as far as it is documented by its code
/// (regro/cf-scripts, conda_forge_tick/update_recipe/v1_recipe/build_number.py at 00ffa54bb6c8): where `context` has one of
/// three keys, that one alone gets the number; otherwise the recipe and every output get it.
fn bot(text: &str, number: u64) -> String {
    let mut recipe: Yaml = serde_yaml::from_str(text).unwrap();
    let context = recipe["context"].as_mapping_mut().unwrap();
    let key = context.keys().find(|key| matches!(key.as_str(), Some("build_number" | "build" | "number"))).cloned();
    match key {
        Some(key) => {
            context.insert(key, number.into());
        }
        None => {
            let sequence = recipe["outputs"].as_sequence_mut().unwrap().iter_mut();
            for output in sequence.filter(|output| !output["build"]["number"].is_null()) {
                output["build"]["number"] = number.into();
            }
            recipe["build"]["number"] = number.into();
        }
    }
    serde_yaml::to_string(&recipe).unwrap()
}

/// The packages that rattler-build would make of a recipe, put into the index of a channel.
fn rendered(recipe: &Path, channel: &Path, variants: Option<&Path>) -> Vec<Value> {
    let mut command = client("render.py").unwrap();
    command.arg(recipe).arg("--channel").arg(channel);
    if let Some(variants) = variants {
        command.arg("--variants").arg(variants);
    }
    Ran::of(&mut command).exit(0).json().as_array().unwrap().clone()
}

/// What a client takes on each machine: the kernel package, `cpu` without one.
fn solved(channel: &Path, machines: &[Vec<String>]) -> Vec<String> {
    let mut command = client("solve.py").unwrap();
    command.arg("--batch").arg("--channel").arg(channel).arg("volley-kernels");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = machines.iter().map(|machine| format!("{}\n", serde_json::json!(machine))).collect();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let chosen = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        let packages = answer.as_array().unwrap_or_else(|| panic!("{answer}")).iter();
        let mut names = packages.filter_map(|one| one["name"].as_str().unwrap().strip_prefix("volley-kernels-"));
        names.next().unwrap_or("cpu").to_owned()
    };
    answers.lines().map(chosen).collect()
}

/// Twenty machines: none with a GPU, those whose client does not tell the capability, and those that it tells.
fn machines() -> Vec<(Vec<String>, &'static str)> {
    let told = [
        ("6.1", "cpu"),
        ("7.5", "sm_75"),
        ("8.0", "sm_80"),
        ("8.6", "sm_86"),
        ("8.7", "compute_75"),
        ("8.9", "sm_89"),
        ("9.0", "sm_90"),
        ("10.0", "sm_100"),
        ("10.3", "sm_100"),
        ("11.0", "compute_75"),
        ("12.0", "sm_120"),
        ("12.1", "sm_120"),
        ("13.0", "compute_120"),
    ];
    let mut machines: Vec<(Vec<String>, &str)> = Vec::new();
    let virtual_package = |name: &str, version: &str| format!("__{name}={version}");
    machines.push((vec![], "cpu"));
    for (cuda, chosen) in [("12.6", "cpu"), ("13.0", "compute_75"), ("13.4", "compute_75")] {
        machines.push((vec![virtual_package("cuda", cuda)], chosen));
    }
    for (arch, chosen) in told {
        machines.push((vec![virtual_package("cuda", "13.0"), virtual_package("cuda_arch", arch)], chosen));
    }
    for arch in ["7.5", "9.0", "12.0"] {
        machines.push((vec![virtual_package("cuda", "12.6"), virtual_package("cuda_arch", arch)], "cpu"));
    }
    machines
}

#[test]
fn a_bot_that_raises_the_build_number_keeps_the_selection() {
    if client("render.py").is_none() {
        return;
    }
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    copy_tree(&checkout("recipes/volley"), &at("volley"));
    let place = generate(dir.path(), "volley");
    let text = fs_err::read_to_string(place.join("recipe.yaml")).unwrap();
    let before = rendered(&place.join("recipe.yaml"), &at("before"), None);
    fs_err::write(place.join("recipe.yaml"), bot(&text, 1)).unwrap();
    let after = rendered(&place.join("recipe.yaml"), &at("after"), None);
    let machines = machines();
    assert_eq!(machines.len(), 20);
    let (asked, expected): (Vec<_>, Vec<_>) = machines.into_iter().unzip();
    for channel in ["before", "after"] {
        assert_eq!(solved(&at(channel), &asked), expected, "{channel}");
    }
    // In one channel the rebuild is taken everywhere: its files have other names, but for the package that no build changes.
    let names = |packages: &[Value]| -> BTreeSet<String> {
        packages.iter().map(|one| format!("{} {}", one["name"], one["build"])).collect()
    };
    let (old, new) = (names(&before), names(&after));
    let same: Vec<&String> = old.intersection(&new).collect();
    assert_eq!(same.len(), 1, "{same:?}");
    assert!(same[0].starts_with("\"volley-kernel-abi\""), "{same:?}");
    let number = |packages: &[Value]| packages.iter().map(|one| one["build_number"].as_u64().unwrap()).max();
    assert_eq!(number(&after).unwrap() - number(&before).unwrap(), 100_000_000);

    // The same bot over plain numbers would have destroyed it, so these tests can fail.
    let mut plain: Yaml = serde_yaml::from_str(&text).unwrap();
    plain["context"].as_mapping_mut().unwrap().remove("build_number");
    let plain = serde_yaml::to_string(&plain).unwrap();
    fs_err::write(place.join("recipe.yaml"), bot(&plain, 1)).unwrap();
    rendered(&place.join("recipe.yaml"), &at("destroyed"), None);
    assert_ne!(solved(&at("destroyed"), &asked), expected);
}

/// What stands in for conda-forge's global pins: the releases that it pins, and none.
fn global_pins() -> String {
    let text = fs_err::read_to_string(checkout("tests/cases/conda-forge-pins.toml")).unwrap();
    let cases: toml::Table = toml::from_str(&text).unwrap();
    let rendered = cases["rendered"].as_array().unwrap();
    let mut pins: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let keys = ["c_compiler_version", "cxx_compiler_version", "c_stdlib_version", "cuda_compiler_version"];
    for key in keys {
        pins.entry(key.to_owned()).or_default().push(rendered[0][key].as_str().unwrap().to_owned());
        pins.get_mut(key).unwrap().extend(rendered.iter().map(|case| case[key].as_str().unwrap().to_owned()));
    }
    pins.get_mut("cuda_compiler_version").unwrap()[0] = "None".to_owned();
    let mut yaml = serde_yaml::to_value(&pins).unwrap();
    yaml["zip_keys"] = serde_yaml::to_value([keys]).unwrap();
    for key in ["c_compiler", "cxx_compiler", "c_stdlib", "cuda_compiler"] {
        yaml[key] = serde_yaml::to_value([rendered[0][key].as_str().unwrap()]).unwrap();
    }
    serde_yaml::to_string(&yaml).unwrap()
}

/// conda-forge builds a recipe once for each of its own releases, in jobs that know nothing of each other. No package is made
/// in two of them, and the host part is built in one.
#[test]
fn no_package_is_made_by_two_jobs() {
    if client("render.py").is_none() {
        return;
    }
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    forge(dir.path());
    let recipe = at("volley/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    fs_err::write(&recipe, text.replace("cuda = [\"13.0\"]", "cuda = [\"13.0\", \"12.9\"]")).unwrap();
    let place = generate(dir.path(), "volley");
    assert!(!place.join("variants.yaml").exists(), "conda-forge's own pins serve");
    fs_err::write(at("pins.yaml"), global_pins()).unwrap();
    let packages = rendered(&place.join("recipe.yaml"), &at("channel"), Some(&at("pins.yaml")));
    let mut made: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut stagings: BTreeSet<(String, &str)> = BTreeSet::new();
    for one in &packages {
        let release = one["release"].as_str().unwrap();
        assert_ne!(release, "None", "{one}");
        made.entry(format!("{} {}", one["name"], one["build"])).or_default().push(release);
        stagings
            .extend(one["from"].as_array().unwrap().iter().map(|from| (from.as_str().unwrap().to_owned(), release)));
        // What is found at build time is what is asked for at run time.
        for host in one["host"].as_array().unwrap() {
            assert_eq!(host[0], format!("cuda-version {release}.*"), "{one}");
        }
        if one["name"] == "volley-rtc" {
            assert!(one["host"][0].as_array().unwrap().contains(&"cuda-nvrtc-dev >=13.0,<14".into()), "{one}");
            assert!(one["depends"].as_array().unwrap().contains(&"cuda-nvrtc >=13.0,<14".into()), "{one}");
        }
    }
    assert!(made.values().all(|releases| releases.len() == 1), "{made:?}");
    let stagings: Vec<(String, &str)> = stagings.into_iter().collect();
    let expected = [("volley-device", "12.9"), ("volley-device", "13.0"), ("volley-host", "13.0")];
    assert_eq!(stagings, expected.map(|(name, release)| (name.to_owned(), release)));
    let kernels = made.keys().filter(|name| name.starts_with("\"volley-kernels-sm_90\"")).count();
    assert_eq!(kernels, 2, "{made:?}");
}

/// rattler-build itself builds and tests the recipe for conda-forge, with compilers whose packages are cut as conda-forge's
/// are (`tests/clients/split.py`): stand-ins in their names, made of the vendor's wheels and of this machine's g++.
#[test]
fn rattler_build_builds_the_recipe_for_conda_forge() {
    let Some(mut command) = client("build.py") else { return };
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let gxx = which::which("g++");
    need!(gxx.is_ok(), "no g++");
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    forge(dir.path());
    let recipe = at("volley/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    let lines = text.lines().map(|line| match line.split(' ').next() {
        Some("capabilities") => "capabilities = [\"9.0\"]",
        Some("ptx") => "ptx = [\"7.5\"]",
        _ => line,
    });
    fs_err::write(&recipe, lines.collect::<Vec<_>>().join("\n")).unwrap();
    // Headers of the packages that components use are found, though they lie apart.
    let source = at("volley/src/cli/main.cc");
    let main = fs_err::read_to_string(&source).unwrap();
    fs_err::write(&source, format!("#include <nvrtc.h>\n{main}")).unwrap();
    let place = generate(dir.path(), "volley");
    let split = [OsStr::new("--split"), cuda.as_os_str()];
    let (channel, major) = compilers_with(dir.path(), &gxx.unwrap(), &cuda, &split);
    let mut pins = String::from("c_stdlib: [sysroot]\nc_stdlib_version: [\"2.28\"]\ncuda_compiler: [cuda-nvcc]\n");
    pins.push_str("cuda_compiler_version: [\"13.0\"]\nc_compiler: [gcc]\ncxx_compiler: [gxx]\n");
    pins.push_str(&format!("c_compiler_version: [\"{major}\"]\ncxx_compiler_version: [\"{major}\"]\n"));
    fs_err::write(at("pins.yaml"), pins).unwrap();
    command.arg(place.join("recipe.yaml")).arg("--channel").arg(&channel).arg("--fast");
    command.arg("--output").arg(at("built")).arg("--variants").arg(at("pins.yaml"));
    // rattler-build's own package brings patchelf along.
    let own = set_up("SIMPACK_TEST_PYTHON").unwrap().parent().unwrap().to_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    Ran::of(command.env("PATH", format!("{}:{path}", own.display()))).exit(0);

    let built: Vec<String> = files(&at("built")).into_iter().filter(|file| file.ends_with(".conda")).collect();
    let find = |start: &str| -> std::path::PathBuf {
        at("built").join(built.iter().find(|file| file.contains(start)).unwrap_or_else(|| panic!("{start}: {built:?}")))
    };
    assert_eq!(built.len(), 13, "{built:?}");
    unpack(&find("linux-64/volley-core-"), "pkg", &at("core"));
    for name in ["bin/volley", "lib/libvolley.so.1.0.0"] {
        let words = facts(&fs_err::read(at("core").join(name)).unwrap()).0;
        let paths: Vec<&str> =
            words.iter().filter_map(|word| word.split_once("PATH ").map(|(_, paths)| paths)).collect();
        let entries: Vec<&str> = paths.iter().flat_map(|path| path.split(':')).collect();
        assert!(
            entries.iter().all(|entry| entry.starts_with("$ORIGIN")),
            "{name}: the driver's directories: {entries:?}"
        );
    }
    let depends = conda_index(&find("linux-64/volley-core-"))["depends"].to_string();
    assert!(
        !depends.contains("cuda") && depends.contains("volley-kernel-abi 3.* k"),
        "core asks for nothing of CUDA: {depends}"
    );
    let depends = conda_index(&find("noarch/volley-kernels-sm_90-"))["depends"].clone();
    assert_eq!(depends.as_array().unwrap().len(), 1, "device code asks for its table alone: {depends}");
    let depends = conda_index(&find("linux-64/volley-rtc-"))["depends"].to_string();
    assert!(depends.contains("\"cuda-nvrtc >=13.0,<14\"") && !depends.contains("13.0.88"), "{depends}");
    unpack(&find("noarch/volley-kernels-sm_90-"), "pkg", &at("kernels"));
    let kernels = files(&at("kernels"));
    assert_eq!(kernels.iter().filter(|file| file.ends_with(".cubin")).count(), 6, "{kernels:?}");
}

/// Without what conda-forge asks of every recipe nothing is generated for it, and it is said what to write.
#[test]
fn what_conda_forge_asks_for_is_said() {
    let dir = scratch();
    forge(dir.path());
    let recipe = dir.path().join("volley/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    for (line, says) in [("homepage", "`homepage` in [simulator]"), ("maintainers", "`maintainers` in [package.conda]")]
    {
        let lines = text.lines().filter(|other| !other.starts_with(line));
        fs_err::write(&recipe, lines.collect::<Vec<_>>().join("\n")).unwrap();
        let ran = Ran::of(&mut simpack(dir.path(), &["generate", "conda", "volley"])).exit(3);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
}

/// Committed so that the real linter can be given them: they are what is generated.
#[test]
fn the_committed_texts_are_those_that_are_generated() {
    let dir = scratch();
    forge(dir.path());
    let (place, committed) = (generate(dir.path(), "volley"), checkout("tests/generated/volley-conda-forge"));
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        drop(fs_err::remove_dir_all(&committed));
        copy_tree(&place, &committed);
    }
    assert_eq!(files(&committed), files(&place));
    for name in files(&place) {
        let read = |dir: &Path| fs_err::read_to_string(dir.join(&name)).unwrap();
        assert_eq!(read(&committed), read(&place), "tests/generated/volley-conda-forge/{name}");
    }
}

const ORDER: [&str; 9] =
    ["$schema", "schema_version", "context", "recipe", "source", "build", "outputs", "about", "extra"];

/// Requirements of an output by section, without expressions.
fn requirements(output: &Yaml) -> Vec<String> {
    let sections = output["requirements"].as_mapping().into_iter().flatten();
    let texts = sections.filter_map(|(_, list)| list.as_sequence()).flatten().filter_map(Yaml::as_str);
    texts.filter(|text| !text.contains("${{")).map(str::to_owned).collect()
}

/// Identifiers of the linter's messages that texts earn.
fn lints(recipe: &str, settings: &str) -> BTreeSet<&'static str> {
    let yaml: Yaml = serde_yaml::from_str(recipe).unwrap();
    let mut found = BTreeSet::new();
    let mut must = |id: &'static str, holds: bool| {
        if !holds {
            found.insert(id);
        }
    };
    let keys: Vec<&str> = yaml.as_mapping().unwrap().keys().map(|key| key.as_str().unwrap()).collect();
    let places: Vec<Option<usize>> = keys.iter().map(|key| ORDER.iter().position(|other| other == key)).collect();
    must("R-000", places.iter().all(Option::is_some));
    must("R-001", places.is_sorted());
    let about = &yaml["about"];
    must("R-002", ["homepage", "license", "summary"].iter().all(|key| about[*key].as_str().is_some()));
    must("R-003", yaml["extra"]["recipe-maintainers"].as_sequence().is_some_and(|names| !names.is_empty()));
    let outputs = yaml["outputs"].as_sequence().unwrap();
    let packages = || outputs.iter().filter(|output| output["staging"].is_null());
    must("R-006", packages().all(|output| output["tests"].as_sequence().is_some_and(|tests| !tests.is_empty())));
    must("R-008", !yaml["build"]["number"].is_null());
    let license = about["license"].as_str().unwrap_or_default();
    must("R-010", !license.to_lowercase().contains("license"));
    must("R-011", recipe.ends_with('\n') && !recipe.ends_with("\n\n"));
    must("R-013", about["license_file"].as_sequence().is_some_and(|files| !files.is_empty()));
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c));
    must("R-014", is_plain(yaml["recipe"]["name"].as_str().unwrap()));
    let noarch = packages().filter_map(|output| output["build"]["noarch"].as_str());
    must("R-020", noarch.into_iter().all(|word| ["generic", "python"].contains(&word)));
    let specs: Vec<String> = outputs.iter().flat_map(requirements).collect();
    let words = |spec: &str| spec.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let relations = ["!=", "=", "==", ">", "<", "<=", ">="];
    must("R-021", !specs.iter().any(|spec| words(spec).get(1).is_some_and(|word| relations.contains(&word.as_str()))));
    must("R-022", !specs.iter().any(|spec| words(spec)[0].contains(['<', '>'])));
    must("R-048", specs.iter().all(|spec| words(spec).len() <= 3 && !words(spec)[0].contains('=')));
    let mut expressions = recipe.split("${{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0));
    must("R-025", expressions.all(|inside| format!(" {} ", inside.trim()) == inside));
    let asks = |output: &Yaml, what: &str| {
        let build = output["requirements"]["build"].as_sequence().into_iter().flatten();
        build.filter_map(Yaml::as_str).any(|text| text.starts_with(&format!("${{{{ {what}(")))
    };
    must("R-033", outputs.iter().all(|output| !asks(output, "compiler") || asks(output, "stdlib")));
    must("R-040", !yaml["context"].as_mapping().unwrap().values().any(Yaml::is_f64));
    // The linter knows all names of SPDX, this the ones that recipes of this repository have.
    must("R-044", license.split(' ').all(|word| ["BSD-3-Clause", "MIT", "AND"].contains(&word)));
    let name = yaml["recipe"]["name"].as_str().unwrap().strip_suffix("-split");
    must("CF-013", yaml["extra"]["feedstock-name"].as_str() == name);
    let settings: Yaml = serde_yaml::from_str(settings).unwrap();
    must("CF-014", settings["upload_on_branch"].is_string());
    found
}

/// conda-forge's linter has nothing to say, and each of its rules would speak of the text that breaks it.
#[test]
fn the_linters_rules_are_kept() {
    let committed =
        |name: &str| fs_err::read_to_string(checkout("tests/generated/volley-conda-forge").join(name)).unwrap();
    let (recipe, settings) = (committed("recipe.yaml"), committed("conda-forge.yml"));
    assert_eq!(lints(&recipe, &settings), BTreeSet::new());
    let text = fs_err::read_to_string(checkout("tests/cases/conda-smithy-rules.toml")).unwrap();
    let cases: toml::Table = toml::from_str(&text).unwrap();
    let cases = cases["rule"].as_array().unwrap();
    for case in cases {
        let word = |key: &str| case[key].as_str().unwrap();
        let edit = |text: &str| text.replace(word("find"), word("put"));
        let (broken, other) = match case.get("file") {
            Some(_) => (recipe.clone(), edit(&settings)),
            None => (edit(&recipe), settings.clone()),
        };
        assert!(broken != recipe || other != settings, "{}: nothing was edited", word("id"));
        assert!(lints(&broken, &other).contains(word("id")), "{} is not seen: {}", word("id"), word("says"));
    }
    assert!(cases.len() >= 20, "{}", cases.len());
}
