//! A wheel: no build system is run, its files are installed as the format says (packaging.python.org, "Binary
//! distribution format"), for one version of Python.

use std::collections::BTreeMap;
use std::path::Path;

use super::{BuildSystem, DriverMistake, DriverWord, HostBuild, HostTools};
use crate::error::{Error, Result};
use crate::fs::{self, EntryKind, Tree};
use crate::printable;
use crate::process::Call;

pub(super) struct Wheel;

/// The option that says for which version of Python; without it the wheel's tags do.
const PYTHON: &str = "python";

/// Most bytes of a script that is rewritten, and of a wheel's own tables.
const MOST_TEXT: u64 = 16 << 20;

impl BuildSystem for Wheel {
    fn tools(&self) -> &'static [&'static str] {
        &[]
    }

    fn mistakes(&self, targets: usize, options: &[&str]) -> Vec<DriverMistake> {
        let mistake = |at| DriverMistake {
            at,
            message: "driver `wheel` runs nothing: it has no targets, and no option but `python`",
            hint: "`python = \"3.12\"` says for which version a wheel is installed that is for several",
        };
        let others = options.iter().enumerate().filter(|(_, name)| **name != PYTHON);
        (0..targets).map(DriverWord::Target).chain(others.map(|(at, _)| DriverWord::Option(at))).map(mistake).collect()
    }

    fn calls(&self, step: &HostBuild<'_>, _tools: &dyn HostTools) -> Result<Vec<Call>> {
        let about = About::of(step.source, step.options.get(PYTHON).map(String::as_str))?;
        let (from, to) = (Tree::at(step.source)?, Tree::at(step.tree)?);
        let mut installed = Vec::new();
        for entry in fs::walk(step.source)? {
            let executable = match entry.kind {
                EntryKind::Directory => continue,
                EntryKind::Link(_) => return Err(odd(&format!("{} is a link", printable::text(&entry.path)))),
                EntryKind::File { executable, .. } => executable,
            };
            let (place, is_script) = about.place(&entry.path)?;
            if place == about.record() {
                continue;
            }
            let mode = if executable || is_script { 0o755 } else { 0o644 };
            let file = from.open(&entry.path)?;
            match is_script && file.metadata()?.len() <= MOST_TEXT {
                true => to.file(&place, &started_by_python(from.read(&entry.path)?), mode)?,
                false => to.copy(&file, &place, Some(mode))?,
            }
            installed.push(place);
        }
        for (name, start) in about.entry_points(&from)? {
            let place = format!("bin/{name}");
            to.file(&place, &started_by_python(start.into_bytes()), 0o755)?;
            installed.push(place);
        }
        to.file(&about.site(&format!("{}/INSTALLER", about.info)), b"simpack\n", 0o644)?;
        installed.push(about.site(&format!("{}/INSTALLER", about.info)));
        to.file(&about.record(), &about.recorded(installed)?, 0o644)?;
        Ok(Vec::new())
    }
}

/// What a wheel says of itself.
struct About {
    /// `NAME-VERSION.dist-info`.
    info: String,
    /// `NAME-VERSION.data`.
    data: String,
    /// `NAME`.
    name: String,
    /// `3.11`.
    python: String,
}

impl About {
    fn of(source: &Path, python: Option<&str>) -> Result<Self> {
        let mut infos = Vec::new();
        for entry in fs_err::read_dir(source)? {
            let name = entry?.file_name().into_string().unwrap_or_default();
            infos.extend(name.ends_with(".dist-info").then_some(name));
        }
        let [info] = infos.as_slice() else {
            return Err(odd(&format!("it has {} directories `*.dist-info`, and not one", infos.len()))
                .hint("`source` of the build names the directory that the wheel was unpacked into"));
        };
        let text = text_of(&Tree::at(source)?, &format!("{info}/WHEEL"))?;
        let python = match (python, versions(&text).as_slice()) {
            (Some(asked), []) => asked.to_owned(),
            (Some(asked), of) if of.iter().any(|version| version == asked) => asked.to_owned(),
            (Some(asked), of) => return Err(odd(&format!("it is for Python {}, not {asked}", of.join(", ")))),
            (None, [one]) => one.clone(),
            (None, _) => {
                return Err(odd("it is for several versions of Python")
                    .hint("options = { python = \"3.12\" } says for which one it is installed"));
            }
        };
        let stem = info.strip_suffix(".dist-info").unwrap_or(info);
        let name = stem.split('-').next().unwrap_or(stem);
        Ok(Self { data: format!("{stem}.data"), name: name.to_owned(), info: info.clone(), python })
    }

    /// A path of `site-packages` below the prefix.
    fn site(&self, path: &str) -> String {
        format!("lib/python{}/site-packages/{path}", self.python)
    }

    fn record(&self) -> String {
        self.site(&format!("{}/RECORD", self.info))
    }

    /// Where a file of the wheel goes, and whether it is a script.
    fn place(&self, path: &str) -> Result<(String, bool)> {
        let Some(rest) = path.strip_prefix(&self.data).and_then(|rest| rest.strip_prefix('/')) else {
            return Ok((self.site(path), false));
        };
        let (scheme, rest) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(match scheme {
            "purelib" | "platlib" => (self.site(rest), false),
            "scripts" => (format!("bin/{rest}"), true),
            "data" => (rest.to_owned(), false),
            "headers" => (format!("include/python{}/{}/{rest}", self.python, self.name), false),
            other => return Err(odd(&format!("nobody knows where its `{}` goes", printable::text(other)))),
        })
    }

    /// Programs that the wheel names by a function, with the text that starts each.
    fn entry_points(&self, tree: &Tree) -> Result<BTreeMap<String, String>> {
        let path = format!("{}/entry_points.txt", self.info);
        let mut found = BTreeMap::new();
        if tree.open(&path).is_err() {
            return Ok(found);
        }
        let mut section = "";
        let text = text_of(tree, &path)?;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name.trim();
                continue;
            }
            if !["console_scripts", "gui_scripts"].contains(&section) {
                continue;
            }
            let wrong = || odd(&format!("{path} holds `{}`", printable::text(line)));
            let (name, target) = line.split_once('=').ok_or_else(wrong)?;
            // What stands behind it in brackets are extras, which packages of Python decide about.
            let target = target.split('[').next().unwrap_or_default().trim();
            let (module, function) = target.split_once(':').ok_or_else(wrong)?;
            let (name, module, function) = (name.trim(), module.trim(), function.trim());
            let is_name = |text: &str| {
                !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || "._-".contains(letter))
            };
            if ![name, module, function].into_iter().all(is_name) || [".", ".."].contains(&name) {
                return Err(wrong());
            }
            let first = function.split('.').next().unwrap_or(function);
            let text = format!("#!python\nimport sys\nfrom {module} import {first}\nsys.exit({function}())\n");
            found.insert(name.to_owned(), text);
        }
        Ok(found)
    }

    /// The list of what was installed, as `pip uninstall` wants it. It holds no digests: packing changes search paths, and
    /// `simpack.json` has the digests of what ships.
    fn recorded(&self, mut installed: Vec<String>) -> Result<Vec<u8>> {
        installed.push(self.record());
        installed.sort();
        let site = self.site("");
        let mut rows = csv::Writer::from_writer(Vec::new());
        for path in &installed {
            let path = path.strip_prefix(&site).map_or_else(|| format!("../../../{path}"), str::to_owned);
            rows.write_record([path.as_str(), "", ""]).map_err(std::io::Error::from)?;
        }
        rows.into_inner().map_err(|error| error.into_error().into())
    }
}

/// Versions of Python that tags name one by one: `cp311-cp311-...` is 3.11. None for tags such as `py3`.
fn versions(wheel: &str) -> Vec<String> {
    let tags = wheel.lines().filter_map(|line| line.strip_prefix("Tag:")).map(str::trim);
    let pythons = tags.filter_map(|tag| tag.split('-').next()).flat_map(|pythons| pythons.split('.'));
    let of = |python: &str| {
        let number = python.strip_prefix("cp").or_else(|| python.strip_prefix("py"))?;
        let minor = number.strip_prefix('3').filter(|minor| !minor.is_empty())?;
        minor.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("3.{minor}"))
    };
    let mut found: Vec<String> = pythons.filter_map(of).collect();
    found.sort();
    found.dedup();
    found
}

/// How a script begins that [`started_by_python`] made, up to Python's arguments: to the shell these are two commands, the
/// first of which never returns; to Python one string.
const STARTS_PYTHON: &str = "#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")/python\"";
/// What follows the arguments.
const WITH_ARGUMENTS: &str = " \"$0\" \"$@\"\n' '''";

/// The script of a wheel that became this one when it was installed, if that is what it is.
pub fn script_of_wheel(installed: &[u8]) -> Option<Vec<u8>> {
    let rest = installed.strip_prefix(STARTS_PYTHON.as_bytes())?;
    let end = rest.windows(WITH_ARGUMENTS.len()).position(|window| window == WITH_ARGUMENTS.as_bytes())?;
    let (arguments, rest) = (&rest[..end], &rest[end + WITH_ARGUMENTS.len()..]);
    Some([b"#!python", arguments, rest].concat())
}

/// A script whose first line asks for the Python of its environment starts that which lies beside it, wherever the
/// environment is.
fn started_by_python(script: Vec<u8>) -> Vec<u8> {
    let first = script.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(rest) = first.strip_prefix(b"#!python").and_then(|rest| std::str::from_utf8(rest).ok()) else {
        return script;
    };
    let arguments = rest.trim_start_matches('w').trim();
    let arguments = if arguments.is_empty() { String::new() } else { format!(" {arguments}") };
    let start = format!("{STARTS_PYTHON}{arguments}{WITH_ARGUMENTS}");
    [start.as_bytes(), &script[first.len()..]].concat()
}

fn text_of(tree: &Tree, path: &str) -> Result<String> {
    let length = tree.open(path)?.metadata()?.len();
    if length > MOST_TEXT {
        return Err(odd(&format!("{path} has {length} bytes")));
    }
    String::from_utf8(tree.read(path)?).map_err(|_| odd(&format!("{path} is not UTF-8")))
}

fn odd(why: &str) -> Error {
    Error::recipe("the source is no wheel that can be installed").detail(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_name_versions() {
        assert_eq!(versions("Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\nTag: cp311-cp311-x\n"), ["3.11"]);
        assert_eq!(versions("Tag: py3-none-any\n"), Vec::<String>::new());
        assert_eq!(versions("Tag: cp39.cp310-abi3-any\n"), ["3.10", "3.9"]);
    }

    #[test]
    fn scripts_start_the_python_beside_them() {
        let text = |script: &str| String::from_utf8(started_by_python(script.into())).unwrap();
        assert_eq!(text("#!/bin/sh\necho\n"), "#!/bin/sh\necho\n");
        assert!(text("#!python -E\nprint(1)\n").ends_with("/python\" -E \"$0\" \"$@\"\n' '''\nprint(1)\n"));
        assert!(text("#!pythonw\n").contains("/python\" \"$0\""));
        for script in ["#!python\nprint(1)\n", "#!python -E -s\nprint(1)\n"] {
            assert_eq!(script_of_wheel(&started_by_python(script.into())), Some(script.into()));
        }
        assert_eq!(script_of_wheel(b"#!/bin/sh\necho\n"), None);
    }
}
