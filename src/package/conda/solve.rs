//! Which packages of channels fit together: rattler's solver over the indexes of the channels.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rattler_conda_types::package::DistArchiveIdentifier;
use rattler_conda_types::{GenericVirtualPackage, MatchSpec, PackageRecord, ParseStrictness, RepoDataRecord};
use rattler_solve::{ChannelPriority, SolveError, SolverImpl, SolverTask, resolvo};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use url::Url;

use crate::arch::GlibcVersion;
use crate::fs::Digest;

/// The index of one subdirectory of a channel.
#[derive(Debug, Clone)]
pub struct ChannelIndex {
    /// The channel, as it is to stand before the places of its packages.
    pub channel: String,
    /// The subdirectory: `linux-64`, `noarch`.
    pub subdir: String,
    /// Its `repodata.json`.
    pub bytes: Vec<u8>,
}

/// A package that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chosen {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Build string.
    pub build: String,
    /// Its channel and its place there.
    pub url: String,
    /// Digest of the file.
    pub sha256: Digest,
    /// Bytes of the file.
    pub size: u64,
}

/// What is asked of a choice.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Match specs.
    pub specs: Vec<String>,
    /// Newest glibc that packages may need; any without.
    pub glibc: Option<GlibcVersion>,
    /// Name and address of packages to keep to where that is possible.
    pub preferred: Vec<(String, String)>,
}

/// A glibc newer than every package asks for: the machine's own compiler keeps to no ceiling.
const ANY_GLIBC: &str = "99";
/// A kernel newer than every package asks for: what runs where is not decided here.
const ANY_LINUX: &str = "99";

/// Chooses packages out of channels, of which the first counts most, with all that they depend on; sorted by name.
///
/// # Errors
/// Lines that say why there is no choice, or which index cannot be read.
pub fn solve(indexes: &[ChannelIndex], wishes: &Wishes) -> Result<Vec<Chosen>, Vec<String>> {
    let spec = |text: &String| {
        MatchSpec::from_str(text, ParseStrictness::Lenient).map_err(|error| vec![format!("`{text}`: {error}")])
    };
    let specs = wishes.specs.iter().map(spec).collect::<Result<Vec<_>, _>>()?;
    let records = reachable(indexes, &specs)?;
    let records: Vec<Vec<RepoDataRecord>> = records.into_values().collect();
    let is_preferred = |record: &&RepoDataRecord| {
        let preferred = |(name, url): &(String, String)| {
            record.package_record.name.as_normalized() == name && place(record).as_deref() == Some(url)
        };
        wishes.preferred.iter().any(preferred)
    };
    let task = SolverTask {
        available_packages: &records,
        locked_packages: records.iter().flatten().filter(is_preferred).collect(),
        pinned_packages: Vec::new(),
        virtual_packages: machine(wishes.glibc).map_err(|error| vec![error])?,
        specs,
        constraints: Vec::new(),
        timeout: None,
        channel_priority: ChannelPriority::Strict,
        exclude_newer: None,
        strategy: Default::default(),
        dependency_overrides: Vec::new(),
        excluded_candidates: Default::default(),
        cancellation_token: None,
    };
    let solved = resolvo::Solver.solve(task).map_err(|error| match error {
        SolveError::Unsolvable(reasons) => reasons.iter().flat_map(|text| text.lines()).map(str::to_owned).collect(),
        other => vec![other.to_string()],
    })?;
    let mut chosen = solved.records.iter().map(chosen).collect::<Result<Vec<_>, _>>().map_err(|error| vec![error])?;
    chosen.sort();
    Ok(chosen)
}

/// What stands for the machine: what packages are built into, not the machine at hand, so that everybody gets the same.
fn machine(glibc: Option<GlibcVersion>) -> Result<Vec<GenericVirtualPackage>, String> {
    let glibc = glibc.map_or_else(|| ANY_GLIBC.to_owned(), |glibc| glibc.to_string());
    let all =
        [("__unix", "0", "0"), ("__linux", ANY_LINUX, "0"), ("__glibc", &glibc, "0"), ("__archspec", "1", "x86_64")];
    let one = |(name, version, build): (&str, &str, &str)| {
        Ok(GenericVirtualPackage {
            name: name.parse().map_err(|error| format!("{name}: {error}"))?,
            version: version.parse().map_err(|error| format!("{name} {version}: {error}"))?,
            build_string: rattler_conda_types::package::BuildString::new_unchecked(build),
        })
    };
    all.into_iter().map(one).collect()
}

/// Channel and place of a record.
fn place(record: &RepoDataRecord) -> Option<String> {
    let channel = record.channel.as_deref()?;
    Some(format!("{channel}/{}/{}", record.package_record.subdir, record.identifier))
}

fn chosen(record: &RepoDataRecord) -> Result<Chosen, String> {
    let package = &record.package_record;
    let name = package.name.as_normalized().to_owned();
    let lacks = |what: &str| format!("the channel's index does not say the {what} of {}", record.identifier);
    let sha256 = package.sha256.ok_or_else(|| lacks("sha256"))?;
    Ok(Chosen {
        version: package.version.to_string(),
        build: package.build.to_string(),
        url: place(record).ok_or_else(|| lacks("channel"))?,
        sha256: sha256.iter().map(|byte| format!("{byte:02x}")).collect::<String>().parse()?,
        size: package.size.ok_or_else(|| lacks("size"))?,
        name,
    })
}

/// A record, as far as it says what else is needed.
#[derive(Deserialize)]
struct Needs {
    name: String,
    #[serde(default)]
    depends: Vec<String>,
}

/// The records of packages that specs can lead to, by index: a large channel has a hundred times as many.
fn reachable(
    indexes: &[ChannelIndex],
    specs: &[MatchSpec],
) -> Result<BTreeMap<usize, Vec<RepoDataRecord>>, Vec<String>> {
    let failed = |index: &ChannelIndex, error: String| {
        vec![format!("the index of {}/{} cannot be read: {error}", index.channel, index.subdir)]
    };
    let mut leads: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for index in indexes {
        let all: Vec<(String, Needs)> =
            records(&index.bytes, &|_| true).map_err(|error| failed(index, error.to_string()))?;
        for (_, needs) in all {
            let to = needs.depends.iter().filter_map(|spec| spec.split([' ', '=', '<', '>', '!', '~', '[']).next());
            leads.entry(needs.name.to_lowercase()).or_default().extend(to.map(str::to_lowercase));
        }
    }
    let names = specs.iter().filter_map(|spec| Some(spec.name.as_exact()?.as_normalized().to_owned()));
    let mut open: Vec<String> = names.collect();
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    while let Some(name) = open.pop() {
        if wanted.insert(name.clone()) {
            open.extend(leads.get(&name).into_iter().flatten().cloned());
        }
    }
    let mut found = BTreeMap::new();
    for (number, index) in indexes.iter().enumerate() {
        let is_wanted = |file: &str| package_name(file).is_some_and(|name| wanted.contains(&name.to_lowercase()));
        let all: Vec<(String, PackageRecord)> =
            records(&index.bytes, &is_wanted).map_err(|error| failed(index, error.to_string()))?;
        let records = all.into_iter().map(|(file, record)| of_channel(index, number, &file, record));
        found.insert(number, records.collect::<Result<_, _>>().map_err(|error| failed(index, error))?);
    }
    Ok(found)
}

fn of_channel(
    index: &ChannelIndex,
    number: usize,
    file: &str,
    mut record: PackageRecord,
) -> Result<RepoDataRecord, String> {
    record.subdir.clone_from(&index.subdir);
    let identifier = DistArchiveIdentifier::try_from_filename(file).filter(|_| !file.contains('/'));
    let identifier = identifier.ok_or_else(|| format!("`{file}` is no package"))?;
    // The solver tells packages apart by their addresses; nothing is fetched by this one.
    let url = Url::parse(&format!("channel://{number}/{}/{identifier}", index.subdir))
        .map_err(|error| format!("`{file}`: {error}"))?;
    Ok(RepoDataRecord { package_record: record, identifier, url, channel: Some(index.channel.clone()) })
}

/// `hdf5` of `hdf5-1.10.8-h1_0.conda`.
fn package_name(file: &str) -> Option<&str> {
    let mut parts = file.rsplitn(3, '-');
    parts.nth(2)
}

/// The records of an index whose files are wanted, with the names of the files.
fn records<T: for<'de> Deserialize<'de>>(
    bytes: &[u8],
    is_wanted: &dyn Fn(&str) -> bool,
) -> serde_json::Result<Vec<(String, T)>> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    Index { is_wanted, found: &mut found }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(found)
}

/// Reads an index and keeps what is wanted of it.
struct Index<'a, T> {
    is_wanted: &'a dyn Fn(&str) -> bool,
    found: &'a mut Vec<(String, T)>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Index<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Index<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the index of a channel")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "packages" | "packages.conda" => {
                    map.next_value_seed(Files { is_wanted: self.is_wanted, found: self.found })?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads one of the two lists of an index.
struct Files<'a, T> {
    is_wanted: &'a dyn Fn(&str) -> bool,
    found: &'a mut Vec<(String, T)>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Files<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Files<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("packages by file name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(file) = map.next_key::<String>()? {
            if !(self.is_wanted)(&file) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let record = map.next_value().map_err(|error| A::Error::custom(format!("{file}: {error}")))?;
            self.found.push((file, record));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(channel: &str, packages: &[(&str, &str, u64, &str, &[&str])]) -> ChannelIndex {
        let mut listed = serde_json::Map::new();
        for (name, version, number, build, depends) in packages {
            let file = format!("{name}-{version}-{build}.conda");
            let record = serde_json::json!({
                "name": name, "version": version, "build": build, "build_number": number, "depends": depends,
                "subdir": "linux-64", "size": 7, "sha256": Digest::of(file.as_bytes()).to_string(),
            });
            listed.insert(file, record);
        }
        let whole = serde_json::json!({"info": {"subdir": "linux-64"}, "packages": {}, "packages.conda": listed});
        let bytes = serde_json::to_vec(&whole).unwrap();
        ChannelIndex { channel: channel.to_owned(), subdir: "linux-64".to_owned(), bytes }
    }

    fn asked(specs: &[&str]) -> Wishes {
        Wishes { specs: specs.iter().map(|spec| (*spec).to_owned()).collect(), ..Wishes::default() }
    }

    fn names(solved: &[Chosen]) -> Vec<String> {
        solved.iter().map(|chosen| format!("{} {}", chosen.name, chosen.version)).collect()
    }

    #[test]
    fn what_is_needed_comes_with_what_it_needs() {
        let ours = index(
            "ours",
            &[
                ("hdf5", "1.14.3", 0, "h1_0", &["zlib >=1.3,<2", "__glibc >=2.17"]),
                ("hdf5", "1.10.8", 0, "h1_0", &["zlib"]),
                ("unrelated", "9", 0, "0", &["nothing-has-this"]),
            ],
        );
        let forge = index("forge", &[("zlib", "1.3.1", 0, "h2_0", &[]), ("hdf5", "2.0", 0, "h9_0", &[])]);
        let both = [ours, forge];
        let solved = solve(&both, &asked(&["hdf5"])).unwrap();
        // The first channel that has a name has it alone.
        assert_eq!(names(&solved), ["hdf5 1.14.3", "zlib 1.3.1"]);
        assert_eq!(solved[0].url, "ours/linux-64/hdf5-1.14.3-h1_0.conda");
        assert_eq!(solved[0].sha256, Digest::of(b"hdf5-1.14.3-h1_0.conda"));
        assert_eq!(names(&solve(&both, &asked(&["hdf5 <1.12"])).unwrap())[0], "hdf5 1.10.8");
        let kept = ("hdf5".to_owned(), "ours/linux-64/hdf5-1.10.8-h1_0.conda".to_owned());
        let wishes = Wishes { preferred: vec![kept], ..asked(&["hdf5"]) };
        assert_eq!(names(&solve(&both, &wishes).unwrap())[0], "hdf5 1.10.8");
        let old = Wishes { glibc: Some("2.12".parse().unwrap()), ..asked(&["hdf5 >=1.12"]) };
        assert!(solve(&both, &old).unwrap_err().join(" ").contains("__glibc"));
        let why = solve(&both, &asked(&["hdf5 >=3"])).unwrap_err().join(" ");
        assert!(why.contains("hdf5"), "{why}");
    }

    #[test]
    fn an_index_that_is_damaged_is_named() {
        let broken =
            ChannelIndex { channel: "ours".into(), subdir: "noarch".into(), bytes: b"{\"packages\": [".into() };
        let why = solve(&[broken], &asked(&["hdf5"])).unwrap_err().join(" ");
        assert!(why.contains("ours/noarch"), "{why}");
    }
}
