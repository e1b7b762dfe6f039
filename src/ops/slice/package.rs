//! Slicing what holds many files: a wheel, a `.conda` package, a directory. It is unpacked once; for each slice its
//! files are planned one by one, then written, then put together again: whole or not there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::file::named;
use super::label::{conda_label, index_directory, local_version};
use super::report::{Announce, FileReport, Outcome};
use super::request::SliceRequest;
use crate::arch::Capability;
use crate::elf;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{self, Content};
use crate::gpu::slice::{SliceError, SlicePlan, SliceSpec, plan};
use crate::manifest::Manifests;
use crate::slice::{Conda, Member, Wheel, tree_members, wheel_name, write_slice};

/// What holds the files.
enum Holder {
    Wheel(Box<Wheel>),
    Conda(Box<Conda>),
    Directory,
}

/// Whether the path is sliced as a whole, and not as one file.
pub(super) fn is_package(path: &Path) -> bool {
    path.is_dir() || Wheel::is_one(path) || Conda::is_one(path)
}

/// Makes all slices of the package at `path`; a report for every file that holds device code.
pub(super) fn slice(
    path: &Path,
    request: &SliceRequest,
    manifests: &Manifests,
    announce: &Announce<'_>,
) -> Vec<FileReport> {
    let failed = |output: &Path, ask: &SliceSpec, error| {
        let mut report = FileReport::new(path, output, ask);
        report.fail(error);
        report
    };
    let mut job = match Job::open(path, request, manifests) {
        Ok(job) => job,
        Err(error) => return vec![failed(&request.output, &request.ask, error)],
    };
    let mut reports = Vec::new();
    for ask in request.asks() {
        let mut own = Vec::new();
        if let Err(error) = job.slice(&ask, &mut own, announce) {
            own.retain(|report: &FileReport| report.outcome == Outcome::Refused);
            own.push(failed(&request.directory(&ask), &ask, error));
        }
        reports.append(&mut own);
    }
    reports
}

struct Job<'a> {
    path: &'a Path,
    request: &'a SliceRequest,
    manifests: &'a Manifests,
    holder: Holder,
    members: Vec<Member>,
    scratch: TempDir,
}

/// A file that is cut: its place in the list of members, and how.
type Cut = (usize, SlicePlan);

impl<'a> Job<'a> {
    fn open(path: &'a Path, request: &'a SliceRequest, manifests: &'a Manifests) -> Result<Self> {
        let scratch = match request.dry_run {
            true => tempfile::tempdir()?,
            // On the file system of the slices, so that what is done is only renamed.
            false => {
                fs_err::create_dir_all(&request.output)?;
                tempfile::Builder::new().prefix(".simpack-").tempdir_in(&request.output)?
            }
        };
        let fat = scratch.path().join("fat");
        fs_err::create_dir(&fat)?;
        let (holder, members) = if path.is_dir() {
            (Holder::Directory, tree_members(path)?)
        } else if Conda::is_one(path) {
            let conda = Conda::unpack(path, &fat)?;
            let members = conda.members()?;
            (Holder::Conda(Box::new(conda)), members)
        } else {
            let wheel = Wheel::open(path)?;
            let members = wheel.members(&fat)?;
            (Holder::Wheel(Box::new(wheel)), members)
        };
        Ok(Self { path, request, manifests, holder, members, scratch })
    }

    fn slice(&mut self, ask: &SliceSpec, reports: &mut Vec<FileReport>, announce: &Announce<'_>) -> Result<()> {
        let (cuts, served) = self.cuts(ask)?;
        if cuts.is_empty() {
            return Err(named(SliceError::Nothing, self.path));
        }
        let output = self.output(ask, &cuts)?;
        let refused = |plan: &SlicePlan| (plan.loses() || plan.leaves_out(&served)) && !self.request.allow_missing;
        let any_refused = cuts.iter().any(|(_, plan)| refused(plan));
        for (index, plan) in &cuts {
            let mut report = FileReport::new(&self.path.join(&self.members[*index].name), &output, ask);
            report.plan(plan);
            report.permission.clone_from(&self.request.permission);
            // One file that is refused refuses the package.
            report.outcome = match (refused(plan), any_refused || self.request.dry_run) {
                (true, _) => Outcome::Refused,
                (false, true) => Outcome::WouldWrite,
                (false, false) => Outcome::Written,
            };
            announce(&report);
            reports.push(report);
        }
        if any_refused || self.request.dry_run {
            return Ok(());
        }
        let scratch = tempfile::tempdir_in(self.scratch.path())?;
        let mut sliced: BTreeMap<String, PathBuf> = BTreeMap::new();
        for (index, plan) in &cuts {
            let (member, place) = (&self.members[*index], scratch.path().join(format!("slice-{index}")));
            write_slice(&member.file, &place, plan, self.request.room, ask, self.manifests)?;
            sliced.insert(member.name.clone(), place);
        }
        self.write(ask, &cuts, &sliced, scratch.path(), &output)
    }

    /// The files that lose something, each with its plan, and the capabilities that some file of the slice serves.
    fn cuts(&self, ask: &SliceSpec) -> Result<(Vec<Cut>, BTreeSet<Capability>)> {
        let (mut cuts, mut served) = (Vec::new(), BTreeSet::new());
        for (index, member) in self.members.iter().enumerate() {
            let content = Content::open(&member.file)?;
            match plan(content.bytes(), ask, self.request.room, self.manifests) {
                Ok(plan) if plan.is_empty() && plan.losses.is_empty() => served.extend(plan.served),
                Ok(plan) => {
                    served.extend(plan.served.iter().copied());
                    self.permitted(member, content.bytes())?;
                    cuts.push((index, plan));
                }
                Err(SliceError::Nothing) => {}
                // A directory holds what it holds: cubins and broken files stay as they are.
                Err(_) if matches!(self.holder, Holder::Directory) => {}
                Err(error) => return Err(named(error, &self.path.join(&member.name))),
            }
        }
        Ok((cuts, served))
    }

    /// Refuses to make a package with a slice of a vendor's library, unless the user says what permits it.
    fn permitted(&self, member: &Member, bytes: &[u8]) -> Result<()> {
        if self.request.permission.is_some() || matches!(self.holder, Holder::Directory) {
            return Ok(());
        }
        let name = member.name.rsplit('/').next().unwrap_or_default();
        let soname = elf::facts(bytes).ok().and_then(|facts| facts.soname);
        let mut names = std::iter::once(name).chain(soname.as_deref());
        let Some((plain, library)) = names.find_map(|name| self.manifests.vendor.original(name)) else { return Ok(()) };
        let message = format!(
            "{}: {name} is the vendor's {plain} (package {}), and a package of its slice is passed on",
            self.path.display(),
            library.conda
        );
        Err(Error::new(ErrorKind::Usage, message)
            .hint("name what permits that by `--permission TEXT`, or slice the library itself for your own use"))
    }

    fn output(&self, ask: &SliceSpec, cuts: &[Cut]) -> Result<PathBuf> {
        let dir = self.request.directory(ask);
        match &self.holder {
            Holder::Wheel(_) => {
                let index = self.request.output.join(index_directory(ask));
                Ok(index.join(wheel_name(self.path, &local_version(ask))?))
            }
            Holder::Conda(conda) => Ok(dir.join(conda.name(&self.conda_label(ask, cuts))?)),
            Holder::Directory => {
                let own = fs_err::canonicalize(self.path)?;
                let name = own.file_name().ok_or_else(|| Error::usage("the whole file system is not sliced"))?;
                let output = dir.join(name);
                let inside = fs_err::canonicalize(&dir).is_ok_and(|dir| dir.starts_with(&own));
                if inside && !self.request.dry_run {
                    return Err(Error::usage(format!("the slice would lie in {} itself", self.path.display()))
                        .hint("name a directory elsewhere by `--output`"));
                }
                if output.symlink_metadata().is_ok() {
                    return Err(Error::usage(format!("{} is there already", output.display()))
                        .hint("remove it, or name another directory by `--output`"));
                }
                Ok(output)
            }
        }
    }

    fn conda_label(&self, ask: &SliceSpec, cuts: &[Cut]) -> crate::slice::CondaLabel {
        let kept: u64 = cuts.iter().map(|(_, plan)| plan.new_length).sum();
        conda_label(ask, cuts.iter().map(|(_, plan)| plan), kept, self.manifests)
    }

    fn write(
        &mut self,
        ask: &SliceSpec,
        cuts: &[Cut],
        sliced: &BTreeMap<String, PathBuf>,
        scratch: &Path,
        output: &Path,
    ) -> Result<()> {
        let label = self.conda_label(ask, cuts);
        match &mut self.holder {
            Holder::Wheel(wheel) => wheel.write(sliced, &local_version(ask), output),
            Holder::Conda(conda) => conda.write(sliced, &label, scratch, output),
            Holder::Directory => {
                let tree = scratch.join("tree");
                fs::copy_tree(self.path, &tree, sliced)?;
                fs::replace_dir(&tree, output)
            }
        }
    }
}
