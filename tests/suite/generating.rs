//! Generated recipes: golden files, checking, templates of users, hostile texts read back by the targets' own parsers.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use simpack::data::Data;
use simpack::generate;

use crate::support::{Ran, Tiny, client, copy_tree, files, need, scratch, set_up, shellcheck, simpack};

/// Symbols of a library that every machine has, as if a package shipped it.
const SYMBOLS: &str =
    "simpack-symbols 1\nlibrary libm.so.6\npackage mathematics\npolicy major\n\npow@GLIBC_2.29 2.29\n";

fn checkout(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// The recipes and the directory that holds them side by side.
const RECIPES: [(&str, &str); 2] = [("volley", "recipes/volley"), ("every", "tests/recipes/every")];

/// Where a target's files go by default.
fn place(recipe: &str, target: &str) -> String {
    match target {
        "github" => ".github/workflows".to_owned(),
        target => format!("{recipe}/packaging/{target}"),
    }
}

/// All files of a target for a copy of a recipe.
fn generated(dir: &Path, recipe: &str, target: &str) -> Vec<(String, String)> {
    Ran::of(&mut simpack(dir, &["generate", target, recipe])).exit(0);
    let place = dir.join(place(recipe, target));
    let names = files(&place).into_iter().filter(|name| target != "github" || name.starts_with(recipe));
    names.map(|name| (name.clone(), fs_err::read_to_string(place.join(&name)).unwrap())).collect()
}

/// Reviewed by eye: the real simulator, and a recipe with every feature at once.
#[test]
fn golden_files() {
    let dir = scratch();
    for (recipe, from) in RECIPES {
        copy_tree(&checkout(from), &dir.path().join(recipe));
        let mut scripts = Vec::new();
        let targets = ["conda", "nix", "cmake", "pkgconfig", "github", "docs", "spack", "easybuild"];
        // EasyBuild asks for a home page, which volley has none of.
        for target in targets.into_iter().take(if recipe == "every" { 8 } else { 7 }) {
            let mut text = String::new();
            for (name, content) in generated(dir.path(), recipe, target) {
                if name.ends_with(".sh") {
                    let script = dir.path().join(place(recipe, target)).join(&name);
                    shellcheck(&script);
                    // The scripts of conda and nix are the same: one place shows them.
                    match scripts.iter().find(|(other, _)| *other == name) {
                        Some((_, other)) => assert_eq!(other, &content, "{name}"),
                        None => scripts.push((name.clone(), content.clone())),
                    }
                    if target != "conda" {
                        continue;
                    }
                }
                text.push_str(&format!("==> {name}\n{content}\n"));
            }
            insta::assert_snapshot!(format!("generated_{recipe}_{target}"), text);
            // A second run finds nothing to do, and no order, time or directory shows.
            let ran = Ran::of(&mut simpack(dir.path(), &["generate", target, recipe, "--check"])).exit(0);
            assert!(!ran.stdout.contains("stale"), "{}", ran.stdout);
        }
    }
}

/// What is committed is what would be generated.
#[test]
fn committed_files_are_current() {
    let args = ["generate", "nix", "recipes/volley", "--output", "nix/volley", "--check"];
    Ran::of(&mut simpack(&checkout(""), &args)).exit(0);
}

#[test]
fn checking_tells_stale_missing_and_superfluous_files_and_others_are_left_alone() {
    let dir = scratch();
    copy_tree(&checkout("recipes/volley"), &dir.path().join("volley"));
    generated(dir.path(), "volley", "cmake");
    let at = |name: &str| dir.path().join("volley/packaging/cmake").join(name);
    let text = fs_err::read_to_string(at("volleyConfig.cmake")).unwrap();
    fs_err::write(at("volleyConfig.cmake"), text.replace("volley::rtc", "volley::rct")).unwrap();
    fs_err::remove_file(at("volleyConfigVersion.cmake")).unwrap();
    fs_err::write(at("old.cmake"), "# Written by `simpack generate cmake`\n").unwrap();
    fs_err::write(at("mine.cmake"), "# by hand\n").unwrap();
    let check = ["generate", "cmake", "volley", "--check"];
    let ran = Ran::of(&mut simpack(dir.path(), &check)).exit(8);
    insta::assert_snapshot!("generate_check", ran.stdout);
    let json = Ran::of(simpack(dir.path(), &check).arg("--json")).exit(8).json();
    let status: Vec<_> = json["files"].as_array().unwrap().iter().map(|file| file["status"].clone()).collect();
    assert_eq!(status, ["superfluous", "stale", "missing"]);
    Ran::of(&mut simpack(dir.path(), &check[..3])).exit(0);
    Ran::of(&mut simpack(dir.path(), &check)).exit(0);
    assert!(!at("old.cmake").exists() && at("mine.cmake").exists());
    // A file that somebody wrote by hand is never overwritten.
    fs_err::write(at("volleyConfig.cmake"), "# by hand\n").unwrap();
    let ran = Ran::of(&mut simpack(dir.path(), &check[..3])).exit(2);
    assert!(ran.stderr.contains("was not generated"), "{}", ran.stderr);
    assert_eq!(fs_err::read_to_string(at("volleyConfig.cmake")).unwrap(), "# by hand\n");
}

#[test]
fn templates_on_disk_override_and_unescaped_values_are_refused() {
    let dir = scratch();
    copy_tree(&checkout("recipes/volley"), &dir.path().join("volley"));
    let template = dir.path().join("templates/generate/pkgconfig/component.pc.j2");
    fs_err::create_dir_all(template.parent().unwrap()).unwrap();
    fs_err::write(&template, "# Written by `simpack generate`, ours\nName: <{ module|pc }>\n").unwrap();
    let generate = || {
        let mut command = simpack(dir.path(), &["generate", "pkgconfig", "volley"]);
        Ran::of(command.env("SIMPACK_DATA_DIR", dir.path()))
    };
    generate().exit(0);
    let found = fs_err::read_to_string(dir.path().join("volley/packaging/pkgconfig/volley-core.pc")).unwrap();
    assert_eq!(found, "# Written by `simpack generate`, ours\nName: volley-core\n");
    for (text, says) in [
        ("# Written by `simpack generate`\nName: <{ module }>\n", "printed without an escaping filter"),
        ("# Written by `simpack generate`\n<{ nothing|pc }>\n", "undefined"),
        ("Name: <{ module|pc }>\n", "does not say what wrote the text"),
        ("<% if %>", "component.pc.j2:1"),
    ] {
        fs_err::write(&template, text).unwrap();
        let ran = generate().exit(3);
        assert!(ran.stderr.contains(says), "{text}: {}", ran.stderr);
    }
}

/// Texts that break out of quotes where they can: signs that mean something to one of the targets, and anything else.
pub fn hostile() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(vec![
        "${",
        "${{",
        "}}",
        "''",
        "'",
        "\"",
        "\\",
        "\n",
        "\t",
        "#",
        ": ",
        "- ",
        "$(",
        "`",
        "@",
        "$",
        "{",
        "}",
        "%",
        "&",
        "*",
        "!",
        "|",
        ">",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "é",
        "\u{1F980}",
        " ",
        "yes",
        "1.0",
        "\r",
        "''${",
    ]);
    prop::collection::vec(prop_oneof![sign.prop_map(str::to_owned), any::<char>().prop_map(String::from)], 0..12)
        .prop_map(|parts| parts.concat())
}

/// What the readers of recipes and workflows make of the expression that stands for a dollar sign.
fn evaluated(text: &str) -> String {
    text.replace("${{ '$' }}", "$")
}

#[test]
fn hostile_texts_come_back_from_yaml() {
    let config = Config { cases: 2000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let answer = runner.run(&hostile(), |text| {
        let Some(written) = generate::yaml(&text) else {
            prop_assert!(text.contains('\0'));
            return Ok(());
        };
        let read = serde_yaml::from_str::<String>(&format!("{written}\n"));
        prop_assert_eq!(read.as_deref().ok(), Some(text.as_str()), "{}", written);
        let written = generate::yaml_recipe(&text).unwrap();
        let read: String = serde_yaml::from_str(&written).unwrap();
        // No expression but our own is left, and that one gives the text back.
        prop_assert!(!read.replace("${{ '$' }}", "\0").contains("${{"), "{}", read);
        prop_assert_eq!(evaluated(&read), text);
        Ok(())
    });
    answer.unwrap();
}

/// Some texts for readers that are programs, which start too slowly for one at a time.
pub fn hostile_texts(count: usize) -> Vec<String> {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let texts: Vec<String> = (0..count).map(|_| hostile().new_tree(&mut runner).unwrap().current()).collect();
    texts.into_iter().filter(|text| !text.contains('\0')).collect()
}

/// CMake itself says what the arguments are.
#[test]
fn hostile_texts_come_back_from_cmake() {
    let shown = Ran::of(&mut simpack(Path::new("."), &["toolchain", "show", "cmake", "--json"])).exit(0).json();
    let dir = scratch();
    let texts = hostile_texts(300);
    let mut script = String::new();
    for (number, text) in texts.iter().enumerate() {
        let written = generate::cmake(text).unwrap();
        script.push_str(&format!(
            "set(value {written})\nfile(WRITE \"${{CMAKE_CURRENT_LIST_DIR}}/{number}\" \"${{value}}\")\n"
        ));
    }
    fs_err::write(dir.path().join("script.cmake"), script).unwrap();
    let mut command = std::process::Command::new(shown["program"].as_str().unwrap());
    Ran::of(command.arg("-P").arg(dir.path().join("script.cmake"))).exit(0);
    for (number, text) in texts.iter().enumerate() {
        let read = fs_err::read_to_string(dir.path().join(number.to_string())).unwrap();
        assert_eq!(&read, text, "{}", generate::cmake(text).unwrap());
    }
}

/// Generated version files answer as those that CMake itself writes for the same policy, asked by `find_package`.
#[test]
fn version_files_answer_as_cmakes_own() {
    let shown = Ran::of(&mut simpack(Path::new("."), &["toolchain", "show", "cmake", "--json"])).exit(0).json();
    let asked = "0.9 1 1.0 1.1 1.2 1.2.0 1.2.3 1.2.4 1.3 2 1.0...2 1.0...<2 1.0...<1.1 1.0...<1.2 1.2...<1.3 1.2...1.2.3 \
                 1.2.0...1.2.2 1.2.0...<1.2.3 1.2...1.9 1.2...<3 1.2.4...1.9 0.1...1.9";
    // CMake's own for an exact version warns of every range: these are not compared.
    let whole = asked.split_whitespace().filter(|asked| !asked.contains("...")).collect::<Vec<_>>().join(" ");
    let policies = [("major", "SameMajorVersion"), ("major.minor", "SameMinorVersion"), ("exact", "ExactVersion")];
    for (policy, word) in policies {
        let asked = if policy == "exact" { whole.as_str() } else { asked };
        let dir = scratch();
        copy_tree(&checkout("recipes/volley"), &dir.path().join("volley"));
        let recipe = dir.path().join("volley/simpack.toml");
        let text = fs_err::read_to_string(&recipe).unwrap().replacen("\"1.0.0\"", "\"1.2.3\"", 1);
        let written = if policy == "exact" { "major" } else { policy };
        let with = text.replacen("policy = \"major\"", &format!("policy = \"{written}\""), 1);
        fs_err::write(&recipe, with).unwrap();
        generated(dir.path(), "volley", "cmake");
        let ours = dir.path().join("volley/packaging/cmake");
        fs_err::write(ours.join("volleyConfig.cmake"), "").unwrap();
        if policy == "exact" {
            // No recipe asks for it alone: it is what a SONAME of three numbers gives, as only what was built can say.
            let templates = generate::Templates::load(&Data::at(checkout("")), generate::Target::Cmake).unwrap();
            let values = serde_json::json!({ "model": { "version": "1.2.3" }, "series": null });
            let text = templates.fill("cmake/ConfigVersion.cmake", &values).unwrap();
            fs_err::write(ours.join("volleyConfigVersion.cmake"), text).unwrap();
        }
        let script = format!(
            "include(CMakePackageConfigHelpers)\n\
             set(theirs {theirs})\n\
             file(WRITE ${{theirs}}/volleyConfig.cmake \"\")\n\
             write_basic_package_version_file(${{theirs}}/volleyConfigVersion.cmake VERSION 1.2.3 COMPATIBILITY {word} \
             ARCH_INDEPENDENT)\n\
             foreach(asked IN ITEMS {asked})\n\
             foreach(place IN ITEMS {ours} ${{theirs}})\n\
             unset(volley_DIR CACHE)\nunset(volley_DIR)\n\
             find_package(volley ${{asked}} QUIET CONFIG PATHS ${{place}} NO_DEFAULT_PATH)\n\
             message(\"${{asked}} ${{volley_FOUND}}\")\n\
             endforeach()\nendforeach()\n",
            theirs = dir.path().join("theirs").display(),
            ours = ours.display(),
        );
        fs_err::write(dir.path().join("script.cmake"), script).unwrap();
        let mut command = std::process::Command::new(shown["program"].as_str().unwrap());
        let ran = Ran::of(command.arg("-P").arg(dir.path().join("script.cmake"))).exit(0);
        let answers: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(' ')).collect();
        assert_eq!(answers.len(), asked.split_whitespace().count() * 2, "{}", ran.stderr);
        for pair in answers.chunks(2) {
            assert_eq!(pair[0], pair[1], "{policy}: ours and CMake's");
        }
        let found = answers.iter().filter(|line| line.ends_with(" 1")).count();
        assert!(found > 0 && found < answers.len(), "{answers:?}");
        if policy == "exact" {
            assert_eq!(found, 2, "1.2.3, and nothing else: {answers:?}");
            continue;
        }
        let range = if policy == "major" { "1.0...<2 1" } else { "1.2...<1.3 1" };
        assert!(answers.contains(&range) && answers.contains(&"1.0...<1.1 0"), "{answers:?}");
    }
}

/// pkg-config itself says what the descriptions are.
#[test]
fn hostile_texts_come_back_from_pkg_config() {
    need!(which::which("pkg-config").is_ok(), "no pkg-config");
    let dir = scratch();
    let mut written = 0;
    for (number, text) in hostile_texts(600).iter().enumerate() {
        // What is not there is no description, and other controls are refused by the recipe.
        let Some(value) = generate::pkg_config(text).filter(|_| !text.is_empty()) else { continue };
        if text.chars().any(char::is_control) {
            continue;
        }
        let file = format!("dollar=$\nName: n{number}\nDescription: {value}\nVersion: 1\n");
        fs_err::write(dir.path().join(format!("m{number}.pc")), file).unwrap();
        let mut command = std::process::Command::new("pkg-config");
        let ran = Ran::of(command.env("PKG_CONFIG_LIBDIR", dir.path()).arg("--list-all")).exit(0);
        let expected = format!(" - {text}\n");
        assert!(ran.stdout.ends_with(&expected), "{text:?}: {}", ran.stdout);
        fs_err::remove_file(dir.path().join(format!("m{number}.pc"))).unwrap();
        written += 1;
    }
    assert!(written > 50, "{written}");
}

/// A reader of Markdown says what stands in a cell of a table, and that nothing leaves it.
#[test]
fn hostile_texts_come_back_from_markdown() {
    let mut written = 0;
    for text in hostile_texts(600) {
        let Some(value) = generate::markdown(&text) else {
            assert!(text.chars().any(char::is_control), "{text:?}");
            continue;
        };
        let page = format!("| a | b |\n|---|---|\n| {value} | end |\n");
        let (mut cells, mut inside) = (Vec::new(), false);
        for event in Parser::new_ext(&page, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::TableCell) => {
                    cells.push(String::new());
                    inside = true;
                }
                Event::End(TagEnd::TableCell) => inside = false,
                Event::Text(part) | Event::Code(part) if inside => cells.last_mut().unwrap().push_str(&part),
                Event::Start(Tag::Table(_) | Tag::TableHead | Tag::TableRow)
                | Event::End(TagEnd::Table | TagEnd::TableHead | TagEnd::TableRow) => {}
                other => panic!("{text:?} makes {other:?}"),
            }
        }
        // Blanks around the content of a cell are no content.
        assert_eq!(cells, ["a", "b", text.trim_matches(' '), "end"], "{page}");
        written += 1;
    }
    assert!(written > 50, "{written}");
}

/// The page about shaders: what a host passes, with the structures in the buffers.
#[test]
fn the_page_about_shaders_says_what_the_host_passes() {
    let dir = scratch();
    copy_tree(&checkout("tests/recipes/shaded"), &dir.path().join("shaded"));
    let pages = generated(dir.path(), "shaded", "docs");
    let [(name, page)] = pages.as_slice() else { panic!("{pages:?}") };
    assert_eq!(name, "kernels.md");
    insta::assert_snapshot!("generated_shaded_docs", page);
    // A table that changed makes it stale.
    let table = dir.path().join("shaded/shaders/table.toml");
    let text = fs_err::read_to_string(&table).unwrap();
    fs_err::write(&table, text.replace("\"leak\"", "\"decay\"")).unwrap();
    let ran = Ran::of(&mut simpack(dir.path(), &["generate", "docs", "shaded", "--check"])).exit(8);
    assert!(ran.stdout.contains("+| `decay` | `f32` | 4 | 4 |"), "{}", ran.stdout);
    // A library that ships cut has no table.
    copy_tree(&checkout("tests/recipes/whole"), &dir.path().join("whole"));
    let ran = Ran::of(&mut simpack(dir.path(), &["generate", "docs", "whole"])).exit(3);
    assert!(ran.stderr.contains("the recipe has no kernel table"), "{}", ran.stderr);
}

/// A recipe's directory is what a workflow repeats of a machine: its shell gets the very name.
#[test]
fn hostile_directories_come_back_from_a_workflow() {
    let dir = scratch();
    for (number, name) in
        ["${{ github.token }} x", "it's \"quoted\" $(id)", "yes", "1.0", "- a: b # c"].iter().enumerate()
    {
        copy_tree(&checkout("tests/recipes/every"), &dir.path().join(name));
        let to = format!("workflows-{number}");
        Ran::of(&mut simpack(dir.path(), &["generate", "github", &format!("./{name}"), "--output", &to])).exit(0);
        let text = fs_err::read_to_string(dir.path().join(&to).join("every.yml")).unwrap();
        let yaml: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let read = yaml["env"]["RECIPE"].as_str().unwrap();
        assert_eq!(evaluated(read), format!("./{name}"));
        let steps = yaml["jobs"]["shard"]["steps"].as_sequence().unwrap();
        let build = steps.iter().find(|step| step["name"] == "build").unwrap()["run"].as_str().unwrap();
        assert!(build.contains(" build \"$RECIPE\" --locked --shard \"$SHARD\""), "all CUDA releases at once: {build}");
        // No script has the name itself.
        let scripts = yaml["jobs"].as_mapping().unwrap().values().flat_map(|job| job["steps"].as_sequence().unwrap());
        let scripts: Vec<_> = scripts.filter_map(|step| step["run"].as_str()).collect();
        assert!(
            scripts.len() > 5 && scripts.iter().all(|script| !script.contains(&format!("./{name}"))),
            "{scripts:?}"
        );
    }
}

/// conda-forge's own words for what generated variants say of CUDA and the compilers beside it.
#[test]
fn variants_are_what_conda_forge_pins() {
    let text = fs_err::read_to_string(checkout("tests/cases/conda-forge-pins.toml")).unwrap();
    let cases: toml::Table = toml::from_str(&text).unwrap();
    for case in cases["rendered"].as_array().unwrap() {
        let dir = scratch();
        copy_tree(&checkout("tests/recipes/every"), &dir.path().join("every"));
        let recipe = dir.path().join("every/simpack.toml");
        let before = fs_err::read_to_string(&recipe).unwrap();
        let release = case["cuda_compiler_version"].as_str().unwrap();
        let one = before.replace("cuda = [\"13.0\", \"12.9\"]", &format!("cuda = [\"{release}\"]"));
        assert_ne!(one, before);
        fs_err::write(&recipe, one).unwrap();
        let found = generated(dir.path(), "every", "conda");
        let text = &found.iter().find(|(name, _)| name == "variants.yaml").unwrap().1;
        let yaml: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
        for (key, value) in case.as_table().unwrap().iter().filter(|(key, _)| *key != "source") {
            let expected = match value {
                // Keys that go together.
                toml::Value::Array(keys) => serde_yaml::to_value([keys]).unwrap(),
                value => serde_yaml::to_value([value.as_str().unwrap()]).unwrap(),
            };
            assert_eq!(yaml[key.as_str()], expected, "{release}: {key} is not what {} says", case["source"]);
        }
    }
    // What conda-forge does not pin is said.
    let dir = scratch();
    copy_tree(&checkout("tests/recipes/every"), &dir.path().join("every"));
    let recipe = dir.path().join("every/simpack.toml");
    let before = fs_err::read_to_string(&recipe).unwrap();
    fs_err::write(&recipe, before.replace("\"12.9\"", "\"13.1\"")).unwrap();
    let found = generated(dir.path(), "every", "conda");
    let text = &found.iter().find(|(name, _)| name == "variants.yaml").unwrap().1;
    assert!(text.contains("conda-forge pins nothing for CUDA 13.1"), "{text}");
}

/// Without `--dist` texts follow from the recipe alone, and what was built is compared with them.
#[test]
fn what_was_built_is_compared_or_taken_into_the_texts() {
    let tiny = Tiny::new();
    // Its globs name no library: only what was built does.
    let cmake = ["generate", "cmake", "recipe", "--output", "cmake"];
    let ran = Ran::of(&mut tiny.simpack(&cmake)).exit(3);
    assert!(ran.stderr.contains("has a library that can be linked"), "{}", ran.stderr);
    let conda = ["generate", "conda", "recipe", "--output", "conda"];
    let ran = Ran::of(&mut tiny.simpack(&conda)).exit(0);
    assert!(ran.stderr.contains("no packages in dist: texts follow from the recipe alone"), "{}", ran.stderr);
    let taken = |args: &[&str]| Ran::of(tiny.simpack(args).args(["--dist", "dist"]));
    let ran = taken(&cmake).exit(2);
    assert!(ran.stderr.contains("dist holds no packages with host code"), "{}", ran.stderr);

    // A library of others, whose first release with a symbol is known.
    tiny.write("recipe/symbols/libm.so.6.symbols", SYMBOLS);
    let source = fs_err::read_to_string(tiny.path("recipe/sim.cc")).unwrap();
    let calls = format!(
        "#include <cmath>\n{source}extern \"C\" __attribute__((visibility(\"default\"))) double \
                         tiny_power(double a) {{ return std::pow(a, a + 1); }}\n"
    );
    tiny.write("recipe/sim.cc", &calls);
    Ran::of(&mut tiny.build(&[])).exit(0);
    let ran = Ran::of(&mut tiny.simpack(&conda)).exit(0);
    assert!(ran.stderr.contains("what was built says more than the recipe"), "{}", ran.stderr);
    assert!(ran.stderr.contains("mathematics >=2.29,<3"), "{}", ran.stderr);
    let json = Ran::of(tiny.simpack(&conda).args(["--check", "--json"])).exit(0).json();
    assert_eq!(json["built"], "current");
    assert_eq!(json["otherwise"], serde_json::json!(["recipe.yaml"]));
    let ran = taken(&conda).exit(0);
    assert!(ran.stdout.contains("changed      recipe.yaml"), "{}", ran.stdout);
    taken(&[&conda[..], &["--check"]].concat()).exit(0);
    let yaml = fs_err::read_to_string(tiny.path("conda/recipe.yaml")).unwrap();
    assert!(yaml.contains("mathematics >=2.29") && !yaml.contains("__glibc"), "{yaml}");
    taken(&cmake).exit(0);
    let text = fs_err::read_to_string(tiny.path("cmake/tinyConfig.cmake")).unwrap();
    assert!(text.contains("lib/libtiny.so.1\""), "{text}");

    // A glob that names another library than the one that was built.
    tiny.change("\"lib/**\"", "\"lib/libother.so.*\", \"lib/**\"");
    let ran = Ran::of(&mut tiny.simpack(&cmake)).exit(0);
    assert!(ran.stderr.contains("dist is stale"), "{}", ran.stderr);
    let ran = taken(&cmake).exit(2);
    assert!(ran.stderr.contains("was built from another state of the recipe"), "{}", ran.stderr);
    Ran::of(&mut simpack(&tiny.path(""), &["generate", "cmake", "recipe", "--dist", "nowhere"])).exit(2);
}

#[test]
fn hostile_texts_come_back_from_a_shell() {
    let texts = hostile_texts(300);
    let dir = scratch();
    let script = dir.path().join("script");
    let words: Vec<String> = texts.iter().map(|text| generate::shell(text).unwrap()).collect();
    fs_err::write(&script, format!("printf '%s\\0' {}\n", words.join(" "))).unwrap();
    let ran = Ran::of(std::process::Command::new("bash").arg(&script)).exit(0);
    let read: Vec<&str> = ran.stdout.split_terminator('\0').collect();
    assert_eq!(read, texts);
}

/// Through the whole program: summary and home page of a recipe, read back from what was written.
#[test]
fn hostile_recipes_are_escaped_or_refused() {
    let dir = scratch();
    copy_tree(&checkout("recipes/volley"), &dir.path().join("volley"));
    let recipe = dir.path().join("volley/simpack.toml");
    let before = fs_err::read_to_string(&recipe).unwrap();
    for text in ["${{ 1 + 1 }} ''${x} \"'", "no: - #", "\u{1F980} \\ ${", "a\u{2028}b\u{feff}c"] {
        let quoted = toml::Value::from(text).to_string();
        let written = before.replace("\"spiking networks on CPU and GPU\"", &quoted);
        assert_ne!(written, before);
        fs_err::write(&recipe, written).unwrap();
        let conda = generated(dir.path(), "volley", "conda");
        let yaml: serde_yaml::Value = serde_yaml::from_str(&conda[2].1).unwrap();
        assert_eq!(conda[2].0, "recipe.yaml");
        assert_eq!(evaluated(yaml["about"]["summary"].as_str().unwrap()), text);
        generated(dir.path(), "volley", "nix");
        // A `.pc` file has no way to write these.
        let refused = text.contains(['#', '\\']);
        let ran = Ran::of(&mut simpack(dir.path(), &["generate", "pkgconfig", "volley"]));
        ran.exit(if refused { 3 } else { 0 });
    }
    for control in ["a\\u0000b", "a\\nb", "a\\u0085b"] {
        fs_err::write(&recipe, before.replace("spiking networks on CPU and GPU", control)).unwrap();
        let ran = Ran::of(&mut simpack(dir.path(), &["generate", "conda", "volley"])).exit(3);
        assert!(ran.stderr.contains("control character"), "{control}: {}", ran.stderr);
    }
}

/// rattler-build itself reads the recipe with every feature, and finds each package once for each CUDA release that it
/// is made for, and the host part once for all.
#[test]
fn rattler_build_renders_every_variant() {
    let Some(mut command) = client("render.py") else { return };
    let dir = scratch();
    copy_tree(&checkout("tests/recipes/every"), &dir.path().join("every"));
    generated(dir.path(), "every", "conda");
    let found = Ran::of(command.arg(dir.path().join("every/packaging/conda/recipe.yaml"))).exit(0).json();
    let names: Vec<&str> = found.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let count = |wanted: &str| names.iter().filter(|name| **name == wanted).count();
    for once in ["every", "every-core", "every-rtc", "every-dev", "every-static", "every-source", "every-kernel-abi"] {
        assert_eq!(count(once), 1, "{once}: {names:?}");
    }
    assert_eq!(count("every-kernels-sm_90"), 2, "{names:?}");
    // Eight targets of two releases, what serves unknown GPUs of each, and the CPU with and without a GPU.
    assert_eq!(count("every-kernels"), 20, "{names:?}");
    let builds = found.as_array().unwrap().iter().filter(|one| one["name"] == "every-kernels-sm_90");
    let builds: Vec<&str> = builds.map(|one| one["build"].as_str().unwrap()).collect();
    assert!(builds.iter().any(|build| build.starts_with("cuda12_")), "{builds:?}");
    assert!(builds.iter().any(|build| build.starts_with("cuda13_")), "{builds:?}");
}

/// What a workflow runs is named by commits in full, and simpack comes from where the user says or not at all.
#[test]
fn workflows_name_what_they_run_by_commits() {
    let dir = scratch();
    copy_tree(&checkout("tests/recipes/every"), &dir.path().join("every"));
    let generate = |from: Option<&str>| {
        let mut command = simpack(dir.path(), &["generate", "github", "every", "--output", "to"]);
        match from {
            Some(from) => command.env("SIMPACK_INSTALL_FROM", from),
            None => command.env_remove("SIMPACK_INSTALL_FROM"),
        };
        Ran::of(&mut command)
    };
    let ran = generate(None).exit(2);
    assert!(ran.stderr.contains("SIMPACK_INSTALL_FROM"), "{}", ran.stderr);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for wrong in [
        "https://git.example/simpack.git",
        "https://git.example/s.git#main",
        "simpack#0123456789",
        &format!("--config=x#{commit}"),
    ] {
        generate(Some(wrong)).exit(2);
    }
    generate(Some(&format!("https://git.example/$(id).git#{commit}"))).exit(0);
    let text = fs_err::read_to_string(dir.path().join("to/every.yml")).unwrap();
    let yaml: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    // Nothing but reading, where code of the recipe runs; what publishing needs, where none does.
    assert_eq!(yaml["permissions"].as_mapping().unwrap().len(), 0);
    let permissions = |job: &str| serde_json::to_value(&yaml["jobs"][job]["permissions"]).unwrap();
    for job in ["plan", "shard", "build"] {
        assert_eq!(permissions(job), serde_json::json!({ "contents": "read" }), "{job}");
    }
    let publish = serde_json::json!({ "contents": "write", "id-token": "write", "attestations": "write" });
    assert_eq!(permissions("publish"), publish);
    assert_eq!(yaml["env"]["SIMPACK_COMMIT"], commit);
    let mut installs = 0;
    let jobs = ["plan", "shard", "build", "publish"];
    assert_eq!(yaml["jobs"].as_mapping().unwrap().len(), jobs.len());
    for step in jobs.iter().flat_map(|job| yaml["jobs"][*job]["steps"].as_sequence().unwrap()) {
        if let Some(action) = step["uses"].as_str() {
            let (_, at) = action.split_once('@').unwrap();
            assert!(at.len() == 40 && at.bytes().all(|byte| byte.is_ascii_hexdigit()), "{action}");
        }
        let run = step["run"].as_str().unwrap_or_default();
        installs +=
            usize::from(run.contains("cargo install --locked --git \"$SIMPACK_REPOSITORY\" --rev \"$SIMPACK_COMMIT\""));
        assert!(!run.contains("git.example") && !run.contains("${{"), "{run}");
    }
    assert_eq!(installs, 2, "a job that may write takes no program from another");

    // GitHub's schema, and an auditor of workflows at its strictest.
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    let program = |name: &str| std::process::Command::new(python.parent().unwrap().join(name));
    let workflow = dir.path().join("to/every.yml");
    Ran::of(program("check-jsonschema").args(["--builtin-schema", "vendor.github-workflows"]).arg(&workflow)).exit(0);
    let audit =
        |path: &Path| Ran::of(program("zizmor").args(["--offline", "--persona=auditor", "--no-progress"]).arg(path));
    audit(&workflow).exit(0);
    // It would tell: a tag in the place of a commit, and permissions for all.
    let loose = dir.path().join("loose.yml");
    fs_err::write(&loose, text.replacen("@11bd71901bbe5b1630ceea73d27597364c9af683", "@v4", 1)).unwrap();
    assert_ne!(audit(&loose).code, Some(0));
    fs_err::write(&loose, text.replace("runs-on: ubuntu-24.04", "runs-at: ubuntu-24.04")).unwrap();
    let schema = ["--builtin-schema", "vendor.github-workflows"];
    assert_ne!(Ran::of(program("check-jsonschema").args(schema).arg(&loose)).code, Some(0));
}
