//! Pages of the book that follow from the program: nobody writes them by hand.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use simpack::cli::{FORMS, command};
use simpack::config::{ENVIRONMENT, Kind, SETTINGS};
use simpack::error::EXIT_CODES;
use simpack::lint::{LintInfo, Over};

use super::keys::{cell, description, name_of, sections};

const NOTE: &str = "<!-- Made from the program by tests/suite/book. Do not edit it: \
INSTA_UPDATE=always cargo test --profile suite --test suite book:: writes it. -->";

/// Path below `docs/src` and text of each page.
pub fn pages() -> Vec<(&'static str, String)> {
    let pages = [
        ("reference/recipe.md", recipe()),
        ("reference/kernel-table.md", kernel_table()),
        ("reference/verbs.md", verbs()),
        ("reference/settings.md", settings()),
        ("reference/lints.md", lints()),
        ("reference/exit-codes.md", exit_codes()),
        ("reference/json.md", json()),
    ];
    pages.map(|(path, text)| (path, format!("{NOTE}\n{}\n", text.trim_end()))).to_vec()
}

fn schema(form: &str) -> Value {
    let form = FORMS.iter().find(|known| known.name == form).expect("a form of this name");
    serde_json::from_str(&form.text().unwrap()).unwrap()
}

fn recipe() -> String {
    let schema = schema("recipe");
    format!(
        "# The recipe\n\n{} It is written in TOML and named `simpack.toml`. `simpack check` shows all its mistakes at \
         once; `simpack schema recipe` prints the JSON schema that this page is made from, with which an editor can \
         complete keys. [The recipe's edition](edition.md) says how the language changes.\n\n{}",
        description(&schema),
        sections(&schema)
    )
}

fn kernel_table() -> String {
    let schema = schema("kernel-table");
    format!(
        "# The kernel table\n\n{} The recipe names the file, as `table` of a kernel group. \
         [Kernel ABI tag](../concepts/glossary.md#kernel-abi-tag) says what it is for. A table in full:\n\n\
         ```toml\n{}```\n\n{}",
        description(&schema),
        fs_err::read_to_string(checkout("recipes/volley/kernels/table.toml")).unwrap(),
        sections(&schema)
    )
}

fn verbs() -> String {
    let mut text =
        "# Verbs\n\nWhat `simpack VERB --help` prints. Options of every verb are shown with `simpack` itself \
                    and left out below.\n"
            .to_owned();
    let mut whole = command().term_width(100);
    whole.build();
    add_verb(&mut text, &mut whole, "simpack");
    text
}

fn add_verb(text: &mut String, verb: &mut clap::Command, name: &str) {
    if name != "simpack" {
        *verb = verb.clone().mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg });
    }
    let help = verb.clone().term_width(100).render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n"));
    let below: Vec<String> = verb.get_subcommands().filter(|verb| !verb.is_hide_set()).map(name_of_verb).collect();
    for sub in below.iter().filter(|sub| *sub != "help") {
        let inner = verb.find_subcommand_mut(sub).expect("it was listed");
        add_verb(text, inner, &format!("{name} {sub}"));
    }
}

fn name_of_verb(verb: &clap::Command) -> String {
    verb.get_name().to_owned()
}

fn settings() -> String {
    let row = |setting: &simpack::config::Setting| {
        let of = match setting.kind {
            Kind::Path => "path".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::Count => "number above 0".to_owned(),
            Kind::Switch => "`true`, `false`".to_owned(),
            Kind::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        };
        let (name, variable) = (setting.name, setting.variable());
        format!("| `{name}` | `{variable}` | {of} | {} | {} |\n", setting.default, setting.about)
    };
    let rows: String = SETTINGS.iter().map(row).collect();
    let environment: String =
        ENVIRONMENT.iter().map(|(name, about)| format!("| `{name}` | {} |\n", cell(about))).collect();
    format!(
        "# Settings\n\nSettings say how simpack works on a machine. What is in a package follows from the recipe alone.\n\n\
         The command line outweighs variables, and these the user's file: `~/.config/simpack/config.toml`, or \
         `$XDG_CONFIG_HOME/simpack/config.toml`. `SIMPACK_CONFIG` names another one. Keys of the file are those of the \
         table; unknown keys are refused. `simpack config --list` shows every setting with its value and where that \
         came from.\n\n## The settings\n\n| key | variable | values | default | sets |\n|---|---|---|---|---|\n{rows}\n\
         ## Other variables\n\nVariables that are not simpack's own, and that it looks at:\n\n| variable | does |\n\
         |---|---|\n{environment}"
    )
}

fn lints() -> String {
    let dir = checkout("manifests/lints");
    let mut all: Vec<LintInfo> = crate::support::files(&dir)
        .iter()
        .map(|file| {
            let text = fs_err::read_to_string(dir.join(file)).unwrap();
            LintInfo::parse(file.strip_suffix(".toml").unwrap(), &text).unwrap()
        })
        .collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    let mut text = "# Lints\n\nWhat `simpack verify --explain ID` and `simpack doctor --explain ID` print. \
                    [Lint levels and waivers](../howto/lints.md) says how to change what is reported.\n"
        .to_owned();
    for (over, title) in [
        (Over::Bundles, "Packages and files"),
        (Over::Process, "The process that a loader would build"),
        (Over::Machine, "Machines"),
    ] {
        _ = write!(text, "\n## {title}\n\n| lint | level | finds |\n|---|---|---|\n");
        let these: Vec<_> = all.iter().filter(|lint| lint.over == over).collect();
        for lint in &these {
            _ = writeln!(text, "| [`{0}`](#{0}) | {1} | {2} |", lint.id, lint.level, cell(&lint.title));
        }
        for lint in these {
            _ = write!(text, "\n### {}\n\n{}\n\n**Fix**: {}\n", lint.id, plain(&lint.text), plain(&lint.fix));
            if !lint.aliases.is_empty() {
                _ = writeln!(text, "\nEarlier: `{}`", lint.aliases.join("`, `"));
            }
        }
    }
    text
}

/// A paragraph in which `<` is no mark of HTML.
fn plain(text: &str) -> String {
    text.trim().replace('<', "\\<").replace('*', "\\*")
}

fn exit_codes() -> String {
    let rows: String = EXIT_CODES.iter().map(|(code, meaning)| format!("| {code} | {meaning} |\n")).collect();
    format!(
        "# Exit codes\n\n| code | meaning |\n|---|---|\n{rows}\nOf several, the worst that happened counts. A run that \
         fails, is killed or is interrupted leaves `dist/` as it was; finished steps are kept in the cache.\n"
    )
}

fn json() -> String {
    let mut text = "# JSON forms\n\nEvery verb takes `--json`; one that fails prints its error as JSON, too. \
                    `simpack schema` lists the forms that have a schema, `simpack schema NAME` prints it (draft \
                    2020-12). The version of a form rises when a field goes away or changes its meaning; new fields \
                    may appear at any time, so readers must ignore what they do not know.\n"
        .to_owned();
    for form in FORMS {
        let schema: Value = serde_json::from_str(&form.text().unwrap()).unwrap();
        _ = write!(text, "\n## {}\n\nVersion {}: {}.\n", form.name, form.version, form.about);
        let Some(fields) = schema["properties"].as_object() else { continue };
        _ = write!(text, "\n| field | type | says |\n|---|---|---|\n");
        for (name, field) in fields {
            _ = writeln!(text, "| `{name}` | {} | {} |", json_type(field), cell(&description(field)));
        }
    }
    text
}

fn json_type(field: &Value) -> String {
    if let Some(name) = name_of(field) {
        return name.to_owned();
    }
    if let Some(ways) = field.get("anyOf").and_then(Value::as_array) {
        return ways.iter().map(json_type).collect::<Vec<_>>().join(" or ");
    }
    if let Some(items) = field.get("items") {
        return format!("array of {}", json_type(items));
    }
    match &field["type"] {
        Value::String(of) => of.clone(),
        Value::Array(of) => of.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

fn checkout(below: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}
