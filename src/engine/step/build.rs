//! A host step from its sources to what it installs: in an empty directory, or in the build tree that an earlier build of
//! the same configuration left.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::against::Against;
use super::explain::diagnose::Cause;
use super::explain::undeclared::{Keys, Scene};
use super::failure::{Share, StepFailure};
use super::host::HostStep;
use super::kind::cached_name;
use super::run::StepRun;
use super::sandbox::isolation::plain;
use super::sandbox::launcher::Launching;
use crate::amount::count;
use crate::engine::cache::{CacheEntry, Made};
use crate::engine::trees::{Beginning, Declared, Left, SOURCE};
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder, Tree};
use crate::plan::{Action, Step};
use crate::process::{Call, Outcome};

impl StepRun<'_> {
    /// Builds a host step, of what it takes: modules that it embeds, and what other builds installed that it is built
    /// against. One that embeds any begins with nothing.
    pub(super) fn build(
        &self,
        step: &Step,
        taken: &[(&Step, CacheEntry)],
        share: Share<'_>,
    ) -> Result<CacheEntry, StepFailure> {
        let Action::Host { driver, source, .. } = &step.action else {
            return Err(Error::bug("a step that builds no host part").into());
        };
        let started = Instant::now();
        let taken = Taken::of(taken)?;
        // Nobody has proven what is built against what was made incrementally.
        let is_unproven = taken.against.as_ref().is_some_and(Against::is_incremental);
        let declared = Declared::new(&self.root, source, step.inputs())?.with_empty(step.empty_directories())?;
        let resumes = driver.system().resumes() && taken.modules.is_empty();
        let mut tree = match resumes || is_unproven {
            true => self.trees.open(step, self.configuration(step, &taken)?)?,
            false => None,
        };
        let Some(tree) = &mut tree else {
            let scratch = self.scratch()?;
            declared.copy(&scratch.path().join(SOURCE))?;
            let (made, files) = self.build_in(scratch.path(), (step, &taken), share, started)?;
            return Ok(match is_unproven {
                false => self.cache.put(step.key, &made, &files)?,
                true => self.trees.keep(step.key, &Made { incremental: true, ..made }, &files)?,
            });
        };
        if !resumes {
            tree.discard()?;
        }
        let beginning = tree.begin(&declared, driver.system())?;
        self.tell(step, &beginning);
        let built = self.build_in(tree.path(), (step, &taken), share, started);
        let kept = match &built {
            Ok(_) => tree.left(Left::Ended),
            Err(failure) if failure.cause == Cause::Full => tree.discard(),
            Err(failure) if failure.ended => tree.left(Left::Ended),
            // It counts as running.
            Err(_) => Ok(()),
        };
        let is_incremental = matches!(beginning, Beginning::Incremental(_));
        match built {
            Err(failure) => Err(about_tree(failure, kept, is_incremental)),
            Ok((made, files)) => {
                kept?;
                let entry = match is_incremental || is_unproven {
                    false => self.cache.put(step.key, &made, &files)?,
                    true => self.trees.put(tree, step.key, &Made { incremental: true, ..made }, &files)?,
                };
                tree.tidy()?;
                Ok(entry)
            }
        }
    }

    /// Builds in the directory `work`, which holds the sources; answers what it installs, below that directory.
    fn build_in(
        &self,
        work: &Path,
        (step, taken): (&Step, &Taken<'_>),
        share: Share<'_>,
        started: Instant,
    ) -> Result<(Made, PathBuf), StepFailure> {
        let Action::Host { driver, source, options: settings, targets, install, sonames, .. } = &step.action else {
            return Err(Error::bug("a step that builds no host part").into());
        };
        let isolation = &self.options.isolation;
        let copy = work.join(SOURCE);
        let Taken { modules, against } = taken;
        let shaders = (!modules.is_empty()).then(|| lay_out(modules, work)).transpose()?;
        let against = against.as_ref().map(|against| against.lay_out(work)).transpose()?;
        let prefix = self.prefix(step);
        let launcher = self.tools.launcher.as_ref();
        let launching = launcher.map(|launcher| Launching::new(launcher, work, isolation.means()));
        let host = HostStep {
            driver: *driver,
            step,
            launching: launching.as_ref(),
            name: &self.options.name,
            source: &copy,
            options: settings,
            targets,
            install,
            sonames,
            cuda: step.cuda,
            dependencies: prefix.map(crate::fs::utf8).transpose()?,
            against: against.as_deref(),
            shaders: shaders.as_deref(),
            work,
            share,
        };
        let read = prefix.map(Path::to_owned).into_iter().chain(launcher.map(|it| it.program.clone()));
        let write = self.tools.compiler_cache.iter().chain(launcher.map(|it| &it.cache)).cloned();
        let sandbox = isolation.sandbox(work, read, write)?;
        let (calls, tree) = host.calls(self.tools)?;
        let calls: Vec<Call> = calls.into_iter().map(|call| call.within(sandbox.clone())).collect();
        let real = plain(&self.root.join(source));
        let declared = |path: &Path| {
            let path = Path::new(source).join(path);
            step.inputs().any(|(input, _)| Path::new(input) == path)
        };
        let scene = Scene {
            seen_as: &copy,
            source: &real,
            declared: &declared,
            files: &self.options.sources,
            below: source,
            keys: Keys::Build(step.component),
            vendor: &self.options.vendor,
            isolation,
            given: prefix,
            work,
        };
        let mut unused = Vec::new();
        let hear = &mut |outcome: Outcome| unused.extend(driver.system().unused(&outcome.all_text()));
        let spent = self.call_all(step, (&calls, launching.as_ref()), &scene, hear)?;
        host.finish(&step.id, &tree)?;
        Ok((Made { unused, ..self.made(step, started, spent) }, tree))
    }

    /// The prefix of the packages that a step is given.
    fn prefix(&self, step: &Step) -> Option<&Path> {
        let Action::Host { dependencies: true, .. } = step.action else { return None };
        self.tools.dependencies.get(&step.host).map(PathBuf::as_path)
    }

    /// All that has to be equal for a build to go on in the tree of another: the step, what its key holds besides sources,
    /// the programs that it calls by their paths, what it is built against, and what it sees of the machine.
    fn configuration(&self, step: &Step, taken: &Taken<'_>) -> Result<Digest> {
        let Action::Host { source, .. } = &step.action else { return Err(Error::bug("a tree of no host step")) };
        let tools = self.tools;
        let mut digest = DigestBuilder::default().field("simpack-build-tree 1").field(&step.id).field(source);
        for part in step.parts.iter().filter(|part| part.is_of_configuration()) {
            digest = digest.field(&part.name).field(&part.value);
        }
        for command in [&tools.cc, &tools.cxx].into_iter().chain(tools.companions.values()) {
            digest = command.iter().fold(digest.field("command"), DigestBuilder::field);
        }
        for program in
            tools.programs().iter().chain(&tools.compiler_cache).chain(self.prefix(step).map(Path::to_owned).as_ref())
        {
            digest = digest.field("path").field(program.as_os_str().as_encoded_bytes());
        }
        if let Some(against) = &taken.against {
            digest = digest.field("against").field(against.digest().as_bytes());
        }
        if let Some(launcher) = &tools.launcher {
            digest = digest.field("launcher").field(&launcher.version);
        }
        Ok(digest.field(self.options.isolation.kind().to_string()).finish())
    }

    fn tell(&self, step: &Step, beginning: &Beginning) {
        match beginning {
            Beginning::Incremental(changed) => {
                let changed = match changed {
                    0 => "no source has changed".to_owned(),
                    1 => "1 source has changed".to_owned(),
                    _ => format!("{} have changed", count(*changed, "source")),
                };
                self.ui.note(format!("  build      {} goes on in its build tree: {changed}", step.id));
            }
            Beginning::Clean(Some(why)) => {
                self.ui.note(format!("  build      {} begins in an empty build tree: {why}", step.id));
            }
            Beginning::Clean(None) => {}
        }
    }
}

/// What a step takes of what others have made.
struct Taken<'a> {
    /// Modules that it embeds.
    modules: Vec<(&'a Step, &'a CacheEntry)>,
    /// What it is built against.
    against: Option<Against<'a>>,
}

impl<'a> Taken<'a> {
    fn of(taken: &'a [(&'a Step, CacheEntry)]) -> Result<Self> {
        let is_module = |step: &Step| matches!(step.action, Action::Kernel { .. });
        let modules = taken.iter().filter(|(step, _)| is_module(step)).map(|(step, entry)| (*step, entry)).collect();
        let built = taken.iter().filter(|(step, _)| !is_module(step)).map(|(_, entry)| entry);
        Ok(Self { modules, against: Against::of(built)? })
    }
}

/// Says of a failure what is kept, and that an earlier build may be at fault.
fn about_tree(failure: StepFailure, kept: Result<()>, is_incremental: bool) -> StepFailure {
    let mut error = match kept {
        Ok(()) if failure.cause == Cause::Full => *failure.error,
        Ok(()) => failure.error.detail("its build tree is kept: the next build goes on in it where it can"),
        Err(why) => failure.error.detail(format!("its build tree is not kept: {why}")),
    };
    if is_incremental {
        error =
            error.hint("it went on where an earlier build had stopped; `simpack build --clean` begins with nothing");
    }
    StepFailure { error: Box::new(error), ..failure }
}

/// Puts modules where the build that embeds them finds them: `VARIANT/ENVIRONMENT/KERNEL.spv` below the directory that is
/// answered.
fn lay_out(modules: &[(&Step, &CacheEntry)], work: &Path) -> Result<PathBuf> {
    let dir = work.join("shaders");
    let tree = Tree::make(&dir)?;
    for (step, entry) in modules {
        let Action::Kernel { target, variant, .. } = &step.action else {
            return Err(Error::bug(format!("{} makes no module", step.id)));
        };
        let name = cached_name(step);
        tree.copy(&Tree::at(&entry.root)?.open(name)?, &format!("{variant}/{target}/{name}"), Some(0o644))?;
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use crate::build_system::BuildDriver;

    #[test]
    fn only_build_systems_that_see_what_has_changed_go_on() {
        let resuming = BuildDriver::NAMES.into_iter().filter(|(_, driver)| driver.system().resumes());
        assert_eq!(resuming.map(|(name, _)| name).collect::<Vec<_>>(), ["cmake", "make"]);
    }
}
