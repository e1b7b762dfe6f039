//! Completion scripts: those of clap, with the words that an option takes.

use clap::builder::PossibleValuesParser;
use clap::{Command, ValueHint};
use clap_complete::Shell;

use super::FORMS;
use crate::data::Data;
use crate::doctor;
use crate::error::Result;
use crate::manifest::Manifests;
use crate::verify::VerifyContext;

/// What clap's script for zsh calls for a name of a host: no argument of ours is one, so it marks those that are recipes.
const ZSH_HOSTS: &str = "_hosts";

/// The script for a shell.
///
/// # Errors
/// A data file is wrong.
pub(super) fn script(mut command: Command, shell: Shell) -> Result<Vec<u8>> {
    let words = Words::load(shell)?;
    command = words.added(command, "simpack");
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "simpack", &mut script);
    match shell {
        Shell::Fish => script.extend(words.without_options(&command)),
        Shell::Zsh => script = words.with_recipes(&String::from_utf8_lossy(&script)).into_bytes(),
        _ => {}
    }
    Ok(script)
}

/// Words that clap does not know, because data files name them, or other words are right, too.
struct Words {
    packages: Vec<&'static str>,
    machines: Vec<&'static str>,
    capabilities: Vec<&'static str>,
    schemas: Vec<&'static str>,
    embedded: Vec<&'static str>,
    /// Those that clap's script offers; none for shells that would offer nothing else: a recipe is a directory more often.
    recipes: Vec<&'static str>,
}

impl Words {
    fn load(shell: Shell) -> Result<Self> {
        let data = Data::here();
        // clap takes words that live as long as the program, which ends when the script is printed.
        let kept = |word: String| -> &'static str { word.leak() };
        let packages = VerifyContext::load(&data)?.lints().infos().map(|info| kept(info.id.clone())).collect();
        let machines = doctor::registry(&data)?.infos().map(|info| kept(info.id.clone())).collect();
        let capabilities = Manifests::load(&data)?.capabilities;
        let current = capabilities.iter().filter(|entry| entry.renamed.is_none());
        let embedded: Vec<_> = data.embedded_names("recipes").into_iter().map(kept).collect();
        Ok(Self {
            packages,
            machines,
            capabilities: current.map(|entry| kept(entry.capability().to_string())).collect(),
            schemas: FORMS.iter().map(|form| form.name).collect(),
            recipes: if shell == Shell::Bash { embedded.clone() } else { Vec::new() },
            embedded,
        })
    }

    /// zsh's script, in which a function of our own offers recipes: clap knows words or files for an argument, not both.
    fn with_recipes(&self, script: &str) -> String {
        let function = format!("_simpack_recipes() {{\n    compadd -- {}\n    _files\n}}\n", self.embedded.join(" "));
        let script = script.replace(&format!(":{ZSH_HOSTS}'"), ":_simpack_recipes'");
        script.replacen('\n', &format!("\n\n{function}"), 1)
    }

    /// Lines for arguments without an option, which clap's script for fish leaves out.
    fn without_options(&self, command: &Command) -> Vec<u8> {
        let line = |verb: &str, words: &[&str], more: &str| {
            let words = words.join(" ");
            format!("complete -c simpack -n \"__fish_simpack_using_subcommand {verb}\" {more}-a \"{words}\"\n")
        };
        // A recipe is a directory, too.
        let takes_recipe = |verb: &&Command| verb.get_positionals().any(|arg| arg.get_id() == "recipe");
        let verbs = command.get_subcommands().filter(takes_recipe);
        let recipes = verbs.map(|verb| line(verb.get_name(), &self.embedded, ""));
        recipes.chain([line("schema", &self.schemas, "-f ")]).collect::<String>().into_bytes()
    }

    fn added(&self, command: Command, verb: &str) -> Command {
        let names: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        let command = command.mut_args(|arg| {
            let value: Vec<&str> = arg.get_value_names().into_iter().flatten().map(|name| name.as_str()).collect();
            let words = match (arg.get_id().as_str(), value.as_slice()) {
                (_, ["ID"]) if verb == "doctor" => &self.machines,
                (_, ["ID"]) if verb != "resolve" => &self.packages,
                ("capability" | "ptx" | "device", _) => &self.capabilities,
                ("name", _) if verb == "schema" => &self.schemas,
                ("recipe", _) if self.recipes.is_empty() => return arg.value_hint(ValueHint::Hostname),
                ("recipe", _) => &self.recipes,
                _ => return arg,
            };
            arg.value_parser(PossibleValuesParser::new(words.iter().copied()))
        });
        names.into_iter().fold(command, |command, name| {
            let own = name.clone();
            command.mut_subcommand(name, |verb| self.added(verb, &own))
        })
    }
}
