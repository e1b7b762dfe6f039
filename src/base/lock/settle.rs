//! An older lock and what the recipe asks for now become the lock that holds: what was locked stays
//! unless the recipe has outgrown it or somebody asks for an update.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::model::{
    DEPENDENCIES, Lock, LockedDependencies, LockedHost, LockedPackage, LockedPart, LockedSource, LockedTool,
};
use crate::amount::count;
use crate::recipe::HostVariant;

/// What may change although the lock still fits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Update {
    /// Nothing.
    #[default]
    Nothing,
    /// Everything.
    All,
    /// `source`, a tool, or a project among its wheels.
    Name(String),
}

impl Update {
    /// Whether it is about `name`.
    pub fn names(&self, name: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::Name(asked) => asked == name,
        }
    }
}

/// One difference between two locks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Change {
    /// What: `host`, `source`, `cuda 13.0`, `tool cmake`, `wheel cmake`.
    pub what: String,
    /// What the lock says; none when it says nothing.
    pub locked: Option<String>,
    /// What holds instead; none when nothing does.
    pub now: Option<String>,
}

/// The lock that holds, and how it differs from the older one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The lock.
    pub lock: Lock,
    /// Differences, sorted; all of it when there was no older one.
    pub changes: Vec<Change>,
}

/// What of the packages of an older lock stays when `fresh`, of which no package is chosen yet, is asked for: all of them
/// where the same is asked for, and nobody wants an update. Else those that a choice should keep to where it can.
pub fn kept<'a>(
    old: Option<&'a Lock>,
    host: Option<&HostVariant>,
    fresh: &LockedDependencies,
    update: &Update,
) -> Kept<'a> {
    let Some(old) = old.and_then(|old| old.given_to(host)).filter(|old| !old.packages.is_empty()) else {
        return Kept::Prefer(Vec::new());
    };
    let is_updated = |package: &&LockedPackage| update.names(DEPENDENCIES) || update.names(&package.name);
    let stay = || old.packages.iter().filter(|package| !is_updated(package));
    match old.asks_as(fresh) && stay().count() == old.packages.len() {
        true => Kept::All(old),
        false => Kept::Prefer(stay().collect()),
    }
}

/// What stays of the packages of an older lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept<'a> {
    /// All of them.
    All(&'a LockedDependencies),
    /// There is to be a new choice, which keeps to these where it can.
    Prefer(Vec<&'a LockedPackage>),
}

/// Settles `old` with `fresh`, which is what the recipe and the pins say today.
pub fn settle(old: Option<&Lock>, fresh: Lock, update: &Update) -> Settled {
    let tools = fresh.tools.iter().map(|tool| settle_tool(old.and_then(|old| old.tool(&tool.name)), tool, update));
    let mut lock = Lock { tools: tools.collect(), ..fresh };
    lock.tools.sort_by(|a, b| a.name.cmp(&b.name));
    lock.cuda.sort();
    lock.cuda.dedup();
    if let (
        Some(LockedSource::Git { url, rev, tree }),
        Some(LockedSource::Git { url: old_url, rev: old_rev, tree: Some(old_tree) }),
    ) = (&mut lock.source, old.and_then(|old| old.source.as_ref()))
        && url == old_url
        && rev == old_rev
        && !update.names("source")
    {
        *tree = Some(*old_tree);
    }
    let changes = changes(old, &lock);
    Settled { lock, changes }
}

fn settle_tool(old: Option<&LockedTool>, fresh: &LockedTool, update: &Update) -> LockedTool {
    let mut tool = fresh.clone();
    let projects = |tool: &LockedTool| tool.wheels.iter().map(|wheel| wheel.project.clone()).collect::<BTreeSet<_>>();
    // Another set of wheels belongs to another arrangement, into which the old ones would not fit.
    if let Some(old) = old.filter(|old| projects(old) == projects(fresh) && !update.names(&fresh.name)) {
        for wheel in &mut tool.wheels {
            if let Some(kept) = old.wheels.iter().find(|kept| kept.project == wheel.project)
                && !update.names(&wheel.project)
            {
                *wheel = kept.clone();
            }
        }
    }
    tool.wheels.sort();
    tool
}

/// What differs, as words.
fn changes(old: Option<&Lock>, now: &Lock) -> Vec<Change> {
    let facts = |lock: &Lock| -> BTreeMap<String, String> {
        let mut facts: BTreeMap<String, String> =
            lock.cuda.iter().map(|release| (format!("cuda {release}"), "a release of the recipe".to_owned())).collect();
        facts.extend(lock.host.iter().map(|locked| ("host".to_owned(), host(locked))));
        facts.extend(lock.source.iter().map(|locked| ("source".to_owned(), source(locked))));
        for tool in &lock.tools {
            facts.insert(format!("tool {}", tool.name), count(tool.wheels.len(), "wheel"));
            facts.extend(tool.wheels.iter().map(|wheel| {
                let text = format!("{} sha256 {} {} {} B", wheel.version, wheel.sha256, wheel.file, wheel.size);
                (format!("wheel {}", wheel.project), text)
            }));
        }
        for (host, dependencies) in lock.given() {
            let of = host.map(|host| format!(" of {host}")).unwrap_or_default();
            facts.insert(format!("{DEPENDENCIES}{of}"), asked(dependencies));
            facts.extend(dependencies.packages.iter().map(|package| {
                let text = format!("{} {} sha256 {} {}", package.version, package.build, package.sha256, package.url);
                (format!("package {}{of}", package.name), text)
            }));
        }
        facts
    };
    let (old, now) = (old.map(facts).unwrap_or_default(), facts(now));
    let names: BTreeSet<&String> = old.keys().chain(now.keys()).collect();
    let differing = names.into_iter().filter(|name| old.get(*name) != now.get(*name));
    differing
        .map(|name| Change { what: name.clone(), locked: old.get(name).cloned(), now: now.get(name).cloned() })
        .collect()
}

fn asked(dependencies: &LockedDependencies) -> String {
    let glibc = dependencies.glibc.map(|glibc| format!(" for glibc {glibc}")).unwrap_or_default();
    format!("{} from {}{glibc}", dependencies.needs.join(", "), dependencies.channels.join(", "))
}

fn host(host: &LockedHost) -> String {
    match host {
        LockedHost::Zig { glibc } => format!("zig for glibc {glibc}"),
        LockedHost::System { cxx, glibc } => {
            let cxx = cxx.map(|cxx| format!(", g++ {cxx} or newer")).unwrap_or_default();
            let glibc = glibc.map(|glibc| format!(", for glibc {glibc}")).unwrap_or_default();
            format!("the machine's{cxx}{glibc}")
        }
    }
}

fn source(source: &LockedSource) -> String {
    match source {
        LockedSource::Git { url, rev, tree: None } => format!("{url} at {rev}"),
        LockedSource::Git { url, rev, tree: Some(tree) } => format!("{url} at {rev}, files {tree}"),
        LockedSource::Url { url, sha256 } => format!("{url} sha256 {sha256}"),
        LockedSource::Pypi { name, version, sha256 } => format!("{name} {version} sha256 {sha256}"),
        LockedSource::Composed { tree, parts } => {
            let files = tree.map(|tree| format!("files {tree}: ")).unwrap_or_default();
            files + &parts.iter().map(part).collect::<Vec<_>>().join("; ")
        }
    }
}

fn part(part: &LockedPart) -> String {
    let mut words = vec![part.into.clone()];
    words.extend(part.source.iter().map(source));
    words.extend(part.patches.iter().map(|patch| format!("patch {patch}")));
    words.extend(part.overlay.iter().map(|overlay| format!("overlay {overlay}")));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::model::{LOCK_EDITION, LockedVariant, LockedWheel};
    use super::*;
    use crate::fs::Digest;

    fn wheel(project: &str, version: &str) -> LockedWheel {
        LockedWheel {
            project: project.to_owned(),
            version: version.to_owned(),
            file: format!("{project}-{version}-py3-none-any.whl"),
            sha256: Digest::of(version.as_bytes()),
            size: 3,
        }
    }

    fn lock(version: &str, rev: &str) -> Lock {
        let tool = |name: &str, projects: &[&str]| LockedTool {
            name: name.to_owned(),
            wheels: projects.iter().map(|project| wheel(project, version)).collect(),
        };
        Lock {
            edition: LOCK_EDITION,
            cuda: vec!["13.0".parse().unwrap()],
            host: Some(LockedHost::Zig { glibc: "2.28".parse().unwrap() }),
            source: Some(LockedSource::Git { url: "https://x.example/r".into(), rev: rev.to_owned(), tree: None }),
            tools: vec![tool("cuda-13.0", &["nvcc", "nvvm"]), tool("cmake", &["cmake"])],
            dependencies: None,
            variants: Vec::new(),
        }
    }

    fn versions(settled: &Settled) -> Vec<String> {
        let wheels = settled.lock.tools.iter().flat_map(|tool| &tool.wheels);
        wheels.map(|wheel| format!("{} {}", wheel.project, wheel.version)).collect()
    }

    #[test]
    fn what_is_locked_stays_until_somebody_asks() {
        let old = settle(None, lock("1", "a"), &Update::Nothing).lock;
        let of = |update: &Update| settle(Some(&old), lock("2", "a"), update);
        assert_eq!(of(&Update::Nothing).changes, []);
        assert_eq!(versions(&of(&Update::Nothing)), ["cmake 1", "nvcc 1", "nvvm 1"]);
        assert_eq!(versions(&of(&Update::Name("nvvm".into()))), ["cmake 1", "nvcc 1", "nvvm 2"]);
        assert_eq!(versions(&of(&Update::Name("cuda-13.0".into()))), ["cmake 1", "nvcc 2", "nvvm 2"]);
        assert_eq!(versions(&of(&Update::All)), ["cmake 2", "nvcc 2", "nvvm 2"]);
    }

    #[test]
    fn what_the_recipe_asks_for_now_is_named() {
        let old = settle(None, lock("1", "a"), &Update::Nothing).lock;
        let mut fresh = lock("1", "b");
        fresh.host = Some(LockedHost::System { cxx: Some(12), glibc: None });
        fresh.tools.remove(1);
        fresh.tools.push(LockedTool { name: "zig".into(), wheels: vec![wheel("ziglang", "1")] });
        fresh.tools[0].wheels.push(wheel("crt", "1"));
        let settled = settle(Some(&old), fresh, &Update::Nothing);
        let named: Vec<&str> = settled.changes.iter().map(|change| change.what.as_str()).collect();
        let expected = ["host", "source", "tool cmake", "tool cuda-13.0", "tool zig", "wheel cmake", "wheel crt"];
        assert_eq!(named, [&expected[..], &["wheel ziglang"]].concat());
        assert_eq!(settled.changes[0].locked.as_deref(), Some("zig for glibc 2.28"));
    }

    fn dependencies(needs: &[&str], packages: &[&str]) -> LockedDependencies {
        let package = |name: &&str| LockedPackage {
            name: (*name).to_owned(),
            version: "1.10.8".to_owned(),
            build: "h1_0".to_owned(),
            url: format!("channel/linux-64/{name}-1.10.8-h1_0.conda"),
            sha256: Digest::of(name.as_bytes()),
            size: 7,
        };
        LockedDependencies {
            channels: vec!["channel".to_owned()],
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
            glibc: None,
            packages: packages.iter().map(package).collect(),
        }
    }

    #[test]
    fn packages_stay_while_the_same_is_asked_for() {
        let old = Lock { dependencies: Some(dependencies(&["hdf5"], &["hdf5", "zlib"])), ..lock("1", "a") };
        let stay = |needs: &[&str], update: Update| match kept(Some(&old), None, &dependencies(needs, &[]), &update) {
            Kept::All(_) => vec!["all"],
            Kept::Prefer(some) => some.iter().map(|package| package.name.as_str()).collect(),
        };
        assert_eq!(stay(&["hdf5"], Update::Nothing), ["all"]);
        assert_eq!(stay(&["hdf5"], Update::Name("nvcc".into())), ["all"]);
        assert_eq!(stay(&["hdf5"], Update::Name("zlib".into())), ["hdf5"]);
        assert_eq!(stay(&["hdf5 >=1.12"], Update::Nothing), ["hdf5", "zlib"]);
        assert_eq!(stay(&["hdf5"], Update::Name(DEPENDENCIES.into())), [""; 0]);
        assert_eq!(stay(&["hdf5"], Update::All), [""; 0]);
        let changed = Lock { dependencies: Some(dependencies(&["hdf5 >=1.12"], &["hdf5"])), ..lock("1", "a") };
        let changes = settle(Some(&old), changed, &Update::Nothing).changes;
        let named: Vec<&str> = changes.iter().map(|change| change.what.as_str()).collect();
        assert_eq!(named, ["dependencies", "package zlib"]);
        assert_eq!(changes[0].now.as_deref(), Some("hdf5 >=1.12 from channel"));
    }

    #[test]
    fn text_and_values_are_one() {
        let lock = settle(None, lock("1", "a"), &Update::Nothing).lock;
        let lock = Lock { dependencies: Some(dependencies(&["hdf5"], &["hdf5", "zlib"])), ..lock };
        let host = HostVariant::new([("mpi".to_owned(), "openmpi".to_owned())]);
        let variant = LockedVariant { host, dependencies: dependencies(&["openmpi"], &["openmpi"]) };
        let lock = Lock { variants: vec![variant], ..lock };
        assert_eq!(lock.given_to(Some(&lock.variants[0].host)).unwrap().needs, ["openmpi"]);
        let text = lock.text().unwrap();
        assert_eq!(Lock::parse(&text, "simpack.lock").unwrap(), lock);
        assert!(Lock::parse(&text.replace("edition = 1", "edition = 2"), "x").is_err());
        assert!(Lock::parse(&text.replace("[host]", "[host]\nmore = 1"), "x").is_err());
        assert!(Lock::parse(&text.replace("sha256 = \"", "sha256 = \"0"), "x").is_err());
    }

    #[test]
    fn the_digest_of_a_commits_files_stays_with_the_commit() {
        let with = |rev: &str, tree: &[u8]| {
            let mut lock = lock("1", rev);
            if let Some(LockedSource::Git { tree: slot, .. }) = &mut lock.source {
                *slot = Some(Digest::of(tree));
            }
            lock
        };
        let tree = |settled: Settled| match settled.lock.source {
            Some(LockedSource::Git { tree, .. }) => tree,
            _ => None,
        };
        let old = with("a", b"one");
        assert_eq!(tree(settle(Some(&old), with("a", b"two"), &Update::Nothing)), Some(Digest::of(b"one")));
        assert_eq!(tree(settle(Some(&old), with("a", b"two"), &Update::All)), Some(Digest::of(b"two")));
        assert_eq!(tree(settle(Some(&old), with("b", b"two"), &Update::Nothing)), Some(Digest::of(b"two")));
    }
}
