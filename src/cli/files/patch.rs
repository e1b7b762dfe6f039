//! `simpack patch`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::elf::edit::{NeededEdit, PathTag, Place};
use crate::error::Result;
use crate::ops::patch::{self, PatchRequest, PathRequest};
use crate::ui::Ui;

/// Tags of the dynamic section that hold a search path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TagArg {
    /// For the file's own needs, after LD_LIBRARY_PATH
    Runpath,
    /// Also for the needs of its needs, before LD_LIBRARY_PATH
    Rpath,
}

const PATH: &str = "Search path";
const NAMES: &str = "Names and needs";

#[derive(Debug, Args)]
#[command(after_help = "\
Every file is written beside its place, read back, and renamed over the old one; mode, owner, times
and extended attributes stay. All edits of a call are one pass; made twice they change nothing.

Exit codes: 0 done, 2 contradictory or refused edits, 6 a file failed (the others are done)

Examples:
  simpack patch --print lib/libvolley.so.1               what the loader reads
  simpack patch --set-runpath '$ORIGIN/../lib' bin/volley
  simpack patch --driver-profile wsl --driver-profile nixos --for-driver lib/
  simpack patch --for-driver lib/                        which files look for the driver
  simpack patch --check --remove-runpath lib/            what would change, and which bytes
  simpack patch --replace-needed libz.so=libz.so.1 --output patched.so plugin.so")]
pub(in crate::cli) struct PatchArgs {
    /// File, or directory whose ELF files are all meant
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,

    /// Search exactly this directory; repeat it or join directories with colons
    #[arg(long, help_heading = PATH, value_name = "DIR", conflicts_with_all = ["add_runpath", "remove_runpath"])]
    set_runpath: Vec<String>,

    /// Search this directory as well, after those already there
    #[arg(long, help_heading = PATH, value_name = "DIR", conflicts_with = "remove_runpath")]
    add_runpath: Vec<String>,

    /// Remove the search path
    #[arg(long, help_heading = PATH, conflicts_with_all = ["tag", "driver_profile"])]
    remove_runpath: bool,

    /// Tag for the search path [default: the one the file has, else runpath]
    #[arg(long, help_heading = PATH, value_enum)]
    tag: Option<TagArg>,

    /// Search where a kind of machine has its driver: conventional, nixos, wsl, container, eessi, none
    #[arg(long, help_heading = PATH, value_name = "NAME[:append|prepend]", value_parser = profile)]
    driver_profile: Vec<(String, Place)>,

    /// Accept a directory or path that would be refused (stubs, compat, absolute paths)
    #[arg(long, help_heading = PATH, value_name = "PATH")]
    allow_path: Vec<String>,

    /// Name of the library
    #[arg(long, help_heading = NAMES, value_name = "NAME")]
    set_soname: Option<String>,

    /// Need another library in place of one
    #[arg(long, help_heading = NAMES, value_name = "OLD=NEW", value_parser = replacement)]
    replace_needed: Vec<(String, String)>,

    /// Need this library too
    #[arg(long, help_heading = NAMES, value_name = "NAME")]
    add_needed: Vec<String>,

    /// Do not need this library
    #[arg(long, help_heading = NAMES, value_name = "NAME")]
    remove_needed: Vec<String>,

    /// Loader of an executable; in directories, of all executables
    #[arg(long, help_heading = NAMES, value_name = "PATH")]
    set_interpreter: Option<String>,

    /// Only files that link, open or call the driver; without an edit, list them
    #[arg(long)]
    for_driver: bool,

    /// Print what files say, as `key: value` lines
    #[arg(long, conflicts_with_all = EDITS, conflicts_with_all = ["check", "output"])]
    print: bool,

    /// Show what would change and which bytes, and write nothing
    #[arg(long)]
    check: bool,

    /// Write the result there and leave the file as it is
    #[arg(long, short, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,
}

const EDITS: [&str; 10] = [
    "set_runpath",
    "add_runpath",
    "remove_runpath",
    "tag",
    "driver_profile",
    "set_soname",
    "replace_needed",
    "add_needed",
    "remove_needed",
    "set_interpreter",
];

fn profile(text: &str) -> Result<(String, Place), String> {
    let (name, place) = match text.split_once(':') {
        None | Some((_, "append")) => (text.trim_end_matches(":append"), Place::Append),
        Some((name, "prepend")) => (name, Place::Prepend),
        Some((_, other)) => return Err(format!("`{other}` is neither `append` nor `prepend`")),
    };
    Ok((name.to_owned(), place))
}

fn replacement(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("write OLD=NEW")?;
    Ok((from.to_owned(), to.to_owned()))
}

impl PatchArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        patch::run(&self.request(), ui)
    }

    fn request(self) -> PatchRequest {
        let path = match (self.set_runpath, self.add_runpath, self.remove_runpath) {
            (_, _, true) => PathRequest::Remove,
            (set, _, _) if !set.is_empty() => PathRequest::Set(set),
            (_, add, _) if !add.is_empty() => PathRequest::Add(add),
            _ => PathRequest::Keep,
        };
        let replaced = self.replace_needed.into_iter().map(|(from, to)| NeededEdit::Replace { from, to });
        let removed = self.remove_needed.into_iter().map(NeededEdit::Remove);
        let added = self.add_needed.into_iter().map(NeededEdit::Add);
        PatchRequest {
            paths: self.paths,
            path,
            tag: self.tag.map(|tag| match tag {
                TagArg::Runpath => PathTag::Runpath,
                TagArg::Rpath => PathTag::Rpath,
            }),
            profiles: self.driver_profile,
            allow: self.allow_path,
            soname: self.set_soname,
            needed: replaced.chain(removed).chain(added).collect(),
            interpreter: self.set_interpreter,
            for_driver: self.for_driver,
            print: self.print,
            check: self.check,
            output: self.output,
        }
    }
}
