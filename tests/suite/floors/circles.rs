//! Files of a module make no circle: whoever reads one file can read those that it names before it.

use std::collections::{BTreeMap, BTreeSet};

use super::{imports, module_of, sources, tree};

type Path = Vec<String>;

/// Files by the modules that they are.
struct Files {
    /// What a file says, without what it hands on.
    code: BTreeMap<Path, String>,
    /// Modules directly below a module, by name.
    children: BTreeMap<Path, BTreeSet<String>>,
    /// What a file hands on, by name, with where that comes from.
    handed_on: BTreeMap<Path, BTreeMap<String, Path>>,
}

impl Files {
    fn new<'t>(texts: impl IntoIterator<Item = (Path, &'t str)>) -> Self {
        let mut files = Self { code: BTreeMap::new(), children: BTreeMap::new(), handed_on: BTreeMap::new() };
        for (module, text) in texts {
            let (code, handed_on) = parted(text, &module);
            if let Some((name, parent)) = module.split_last().filter(|(_, parent)| !parent.is_empty()) {
                files.children.entry(parent.to_vec()).or_default().insert(name.clone());
            }
            files.handed_on.insert(module.clone(), handed_on);
            files.code.insert(module, code);
        }
        files
    }

    /// The file in which a path ends, re-exports followed.
    fn file_of(&self, path: &[String], depth: usize) -> Option<Path> {
        let length = (1..=path.len()).rev().find(|length| self.code.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        let source = rest.first().and_then(|name| self.handed_on[module].get(name));
        match source.filter(|source| **source != path[..=length] && depth < 8) {
            Some(source) => self.file_of(&[source, &rest[1..]].concat(), depth + 1),
            None => Some(module.to_vec()),
        }
    }

    /// The files that a file names.
    fn named_by(&self, module: &Path) -> BTreeSet<Path> {
        let code = &self.code[module];
        let mut found = imports(code, module);
        follow(code, "self", module, &mut found);
        for child in self.children.get(module).into_iter().flatten() {
            follow(code, child, &[module.as_slice(), std::slice::from_ref(child)].concat(), &mut found);
        }
        // Of a module with files below it counts what is named there.
        let (wide, mut paths): (BTreeSet<Path>, BTreeSet<Path>) =
            found.into_iter().partition(|path| path != module && self.children.contains_key(path));
        for path in wide {
            follow(code, &path[path.len() - 1], &path, &mut paths);
        }
        paths.iter().filter_map(|path| self.file_of(path, 0)).filter(|file| file != module).collect()
    }

    /// Sets of files each of which leads to all others of its set.
    fn circles(&self) -> BTreeSet<BTreeSet<String>> {
        let mut edges: BTreeMap<&Path, BTreeSet<Path>> =
            self.code.keys().map(|module| (module, self.named_by(module))).collect();
        // What leads to nothing but ends is in no circle.
        loop {
            let ends: BTreeSet<Path> =
                edges.iter().filter(|(_, named)| named.is_empty()).map(|(module, _)| (*module).clone()).collect();
            if ends.is_empty() {
                break;
            }
            edges.retain(|module, _| !ends.contains(*module));
            edges.values_mut().for_each(|named| named.retain(|module| !ends.contains(module)));
        }
        let reached: BTreeMap<&Path, BTreeSet<&Path>> =
            edges.keys().map(|module| (*module, reached(&edges, module))).collect();
        let circle = |module: &&Path| -> BTreeSet<String> {
            let back = reached[*module].iter().filter(|other| reached[**other].contains(*module));
            back.map(|other| other.join("/")).collect()
        };
        edges.keys().map(circle).filter(|circle| circle.len() > 1).collect()
    }
}

/// All that a file leads to.
fn reached<'e>(edges: &'e BTreeMap<&Path, BTreeSet<Path>>, from: &Path) -> BTreeSet<&'e Path> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Path> = edges[from].iter().collect();
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(&edges[module]);
        }
    }
    found
}

/// Adds all paths that begin with `name::` in the code, below `stem`.
fn follow(code: &str, name: &str, stem: &[String], found: &mut BTreeSet<Path>) {
    let word = format!("{name}::");
    for (at, _) in code.match_indices(&word) {
        if !code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_:.".contains(c)) {
            tree(&code[at + word.len()..], stem, found);
        }
    }
}

/// Whether a line begins a re-export: `pub use`, `pub(crate) use`.
fn is_re_export(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("pub") else { return false };
    let rest = if rest.starts_with('(') { rest.split_once(')').map_or("", |(_, rest)| rest) } else { rest };
    rest.starts_with(" use ")
}

/// A file's code without its re-exports and without `pub(in ...)`; and the re-exports.
fn parted(text: &str, module: &[String]) -> (String, BTreeMap<String, Path>) {
    let (mut code, mut handed_on, mut open) = (String::new(), BTreeMap::new(), false);
    let mut statement = String::new();
    for line in text.lines() {
        if !open && !is_re_export(line) {
            let (before, after) = line.split_once("pub(in ").unwrap_or((line, ""));
            code.extend([before, after.split_once(')').map_or("", |(_, after)| after), "\n"]);
            continue;
        }
        statement.push_str(line);
        open = !line.trim_end().ends_with(';');
        if !open {
            let (_, path) = statement.split_once(" use ").expect("it is a re-export");
            let mut found = BTreeSet::new();
            match path.split_once("::") {
                Some(("crate", rest)) => drop(tree(rest, &[], &mut found)),
                _ => drop(tree(path, module, &mut found)),
            }
            handed_on.extend(found.into_iter().filter_map(|path| Some((path.last()?.clone(), path))));
            statement.clear();
        }
    }
    (code, handed_on)
}

fn path(text: &str) -> Path {
    text.split('/').map(str::to_owned).collect()
}

#[test]
fn circles_are_seen_behind_re_exports() {
    let circles = |texts: &[(&str, &str)]| -> Vec<String> {
        let files = Files::new(texts.iter().map(|(module, text)| (path(module), *text)));
        files.circles().into_iter().map(|circle| circle.into_iter().collect::<Vec<_>>().join(" ")).collect()
    };
    let module = ("a", "mod b;\nmod c;\npub use b::{\n    B,\n};\npub(crate) use c::C;");
    assert_eq!(circles(&[module, ("a/b", "use super::C;"), ("a/c", "use super::B;")]), ["a/b a/c"]);
    assert_eq!(circles(&[module, ("a/b", "use super::C;"), ("a/c", "pub(in super::super) struct C;")]), [""; 0]);
    // A module that hands on and holds logic, too.
    let both = ("a", "mod b;\npub use b::B;\npub struct Own;\nfn f() { b::g() }");
    assert_eq!(circles(&[both, ("a/b", "use crate::a::Own;")]), ["a a/b"]);
    assert_eq!(circles(&[("a", "mod b;\npub use b::B;\npub struct Own;"), ("a/b", "use super::Own;")]), [""; 0]);
    // A module that is imported and then named in the code.
    let user = ("d", "use crate::a;\nfn f() -> a::B { a::B }");
    assert_eq!(circles(&[module, user, ("a/b", "use crate::d;\nuse d::f;"), ("a/c", "")]), ["a/b d"]);
    assert_eq!(circles(&[module, user, ("a/b", ""), ("a/c", "use crate::d::f;")]), [""; 0]);
}

#[test]
fn files_make_no_circle() {
    let sources = sources();
    let texts = sources.iter().map(|(_, path, code)| (module_of(path), code.as_str()));
    let files = Files::new(texts.filter(|(module, _)| !module.is_empty()));
    let mut wrong = Vec::new();
    for circle in &files.circles() {
        wrong.push("a circle of files:".to_owned());
        for file in circle {
            let named = files.named_by(&path(file)).into_iter().map(|other| other.join("/"));
            let named: Vec<String> = named.filter(|other| circle.contains(other)).collect();
            wrong.push(format!("  {file} names {}", named.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
