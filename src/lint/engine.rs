//! The engine: joins data files and predicates, runs them, applies levels and waivers.

use std::collections::BTreeMap;

use super::settings::Origin;
use super::{LintInfo, ParameterKind, Parameters, Settings};
use crate::error::{Error, Result};
use crate::report::{Finding, Incomplete, Level, NotRun, Place, Report, Rule, Subject, Waived};

/// Id of the lint about waivers that no finding needed.
pub const UNUSED_WAIVER: &str = "unused-waiver";

/// The named function behind a lint.
pub struct Predicate<F> {
    /// Id of the lint.
    pub id: &'static str,
    /// Parameters that the function reads; the data file holds exactly these.
    pub parameters: &'static [(&'static str, ParameterKind)],
    /// Says everything it finds; never stops at the first.
    pub check: fn(&F, &Parameters, &mut Hits),
}

/// The predicate of [`UNUSED_WAIVER`]: only the engine knows which waivers were used.
pub fn unused_waiver<F>() -> Predicate<F> {
    Predicate { id: UNUSED_WAIVER, parameters: &[], check: |_, _, _| {} }
}

/// What a predicate says.
#[derive(Default)]
pub struct Hits {
    hits: Vec<Hit>,
    incomplete: Vec<(Subject, String)>,
    not_run: Vec<(Subject, String)>,
}

struct Hit {
    subject: Subject,
    message: String,
    evidence: Vec<String>,
    fix: Option<String>,
    at: Option<Place>,
    weight: Option<Level>,
}

/// A hit that can still get evidence and its own fix.
pub struct HitBuilder<'a>(&'a mut Hit);

impl Hits {
    /// Something is wrong with `subject`.
    pub fn add(&mut self, subject: impl Into<Subject>, message: impl Into<String>) -> HitBuilder<'_> {
        let (subject, message) = (subject.into(), message.into());
        self.hits.push(Hit { subject, message, evidence: Vec::new(), fix: None, at: None, weight: None });
        let last = self.hits.len() - 1;
        HitBuilder(&mut self.hits[last])
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty() && self.incomplete.is_empty()
    }

    /// The lint could not look at `subject`.
    pub fn incomplete(&mut self, subject: impl Into<Subject>, reason: impl Into<String>) {
        self.incomplete.push((subject.into(), reason.into()));
    }

    /// The lint does not look at `subject`, because nothing tells it what would be right. That is no gap in what was
    /// examined, and it is said.
    pub fn not_run(&mut self, subject: impl Into<Subject>, reason: impl Into<String>) {
        self.not_run.push((subject.into(), reason.into()));
    }
}

impl HitBuilder<'_> {
    /// Adds a line of what was seen.
    pub fn evidence(self, line: impl Into<String>) -> Self {
        self.0.evidence.push(line.into());
        self
    }

    /// Adds lines of what was seen.
    pub fn evidence_lines<L: Into<String>>(self, lines: impl IntoIterator<Item = L>) -> Self {
        self.0.evidence.extend(lines.into_iter().map(Into::into));
        self
    }

    /// Says what to do in this case, in place of the lint's own words.
    pub fn fix(self, fix: impl Into<String>) -> Self {
        self.0.fix = Some(fix.into());
        self
    }

    /// This case weighs another level than the lint, unless the user gave the lint one.
    pub fn weighs(self, level: Level) -> Self {
        self.0.weight = Some(level);
        self
    }

    /// Says where it is written what this follows from.
    pub fn at(self, place: Option<&Place>) -> Self {
        self.0.at = place.cloned();
        self
    }
}

/// All lints over one type of facts, by id.
pub struct Registry<F> {
    lints: BTreeMap<&'static str, (LintInfo, Predicate<F>)>,
}

impl<F> Registry<F> {
    /// Joins predicates with their data files; `text` answers the file of an id.
    ///
    /// # Errors
    /// A file is missing or wrong, or its parameters are not those of the predicate.
    pub fn new(predicates: Vec<Predicate<F>>, text: impl Fn(&str) -> Result<String>) -> Result<Self> {
        let mut lints = BTreeMap::new();
        for predicate in predicates {
            let info = LintInfo::parse(predicate.id, &text(predicate.id)?)?;
            if let Some(what) = info.parameters.mismatch(predicate.parameters) {
                return Err(Error::recipe(format!("manifests/lints/{}.toml: {what}", predicate.id)));
            }
            if lints.insert(predicate.id, (info, predicate)).is_some() {
                return Err(Error::bug("two predicates have one lint id"));
            }
        }
        let registry = Self { lints };
        for alias in registry.infos().flat_map(|info| &info.aliases) {
            let owners = registry.infos().filter(|info| info.id == *alias || info.aliases.contains(alias));
            if owners.count() > 1 {
                return Err(Error::recipe(format!("manifests/lints: two lints have the id `{alias}`")));
            }
        }
        Ok(registry)
    }

    /// Metadata of all lints, by id.
    pub fn infos(&self) -> impl Iterator<Item = &LintInfo> {
        self.lints.values().map(|(info, _)| info)
    }

    /// All lints as reports show them.
    pub fn rules(&self) -> Vec<Rule> {
        self.infos().map(LintInfo::rule).collect()
    }

    /// Metadata of one lint, by an id that it has or had.
    ///
    /// # Errors
    /// There is no such lint.
    pub fn info(&self, id: &str) -> Result<&LintInfo> {
        self.find(id, Origin::CommandLine)
    }

    fn find(&self, id: &str, origin: Origin) -> Result<&LintInfo> {
        let found = self.infos().find(|info| info.id == id || info.aliases.iter().any(|alias| alias == id));
        found.ok_or_else(|| self.unknown(id, origin))
    }

    fn unknown(&self, id: &str, origin: Origin) -> Error {
        let near = self.lints.keys().find(|known| known.contains(id) || id.contains(*known) || same_words(known, id));
        let error = Error::new(origin.error_kind(), format!("unknown lint `{id}`"));
        match near {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("`simpack verify --list` shows all lints"),
        }
    }

    /// The settings with every lint under the id that it has now.
    ///
    /// # Errors
    /// They name a lint that does not exist.
    pub fn resolve(&self, settings: Settings) -> Result<Settings> {
        // The command line comes last: it wins over a recipe that uses another id of the same lint.
        let mut said: Vec<(String, (Level, Origin))> = settings.levels.into_iter().collect();
        said.sort_by_key(|(_, (_, origin))| *origin);
        let mut levels = BTreeMap::new();
        for (id, (level, origin)) in said {
            levels.insert(self.find(&id, origin)?.id.clone(), (level, origin));
        }
        let mut waivers = settings.waivers;
        // A package may be older or newer than the lints.
        waivers.retain(|waiver| waiver.within.is_none() || self.find(&waiver.waiver.id, waiver.origin).is_ok());
        for compiled in &mut waivers {
            compiled.waiver.id = self.find(&compiled.waiver.id, compiled.origin)?.id.clone();
        }
        Ok(Settings { levels, waivers, ..settings })
    }

    /// Level of a lint in a run; `allow` for one that is not here.
    pub fn level(&self, id: &str, settings: &Settings) -> Level {
        let default = self.lints.get(id).map_or(Level::Allow, |(info, _)| info.level);
        settings.levels.get(id).map_or(default, |(level, _)| *level)
    }

    /// Runs all lints that are not allowed. `examined` and `incomplete` come from the collector.
    pub fn run(&self, facts: &F, settings: &Settings, examined: Vec<String>, incomplete: Vec<Incomplete>) -> Report {
        self.run_with_places(facts, settings, examined, incomplete, |_| None, |_| false)
    }

    /// The same; `place_of` says where people write what a subject follows from, for findings that do not know better, and
    /// `is_foreign` which subjects simpack did not make.
    pub fn run_with_places(
        &self,
        facts: &F,
        settings: &Settings,
        examined: Vec<String>,
        mut incomplete: Vec<Incomplete>,
        place_of: impl Fn(&Subject) -> Option<Place>,
        is_foreign: impl Fn(&Subject) -> bool,
    ) -> Report {
        let mut findings = Vec::new();
        let mut waived = Vec::new();
        let mut not_run = Vec::new();
        let mut used = vec![false; settings.waivers.len()];
        for (id, (info, predicate)) in &self.lints {
            let level = self.level(id, settings);
            if level == Level::Allow {
                continue;
            }
            let mut hits = Hits::default();
            (predicate.check)(facts, &info.parameters, &mut hits);
            incomplete.extend(hits.incomplete.into_iter().map(|(subject, reason)| Incomplete {
                subject,
                topic: (*id).to_owned(),
                reason,
            }));
            let lint = (*id).to_owned();
            not_run.extend(hits.not_run.into_iter().map(|(subject, reason)| NotRun {
                lint: lint.clone(),
                reason,
                subjects: vec![subject],
            }));
            for hit in hits.hits {
                let foreign = info.foreign.as_ref().filter(|_| is_foreign(&hit.subject));
                let is_default = !settings.levels.contains_key(*id);
                let own = hit.weight.or(foreign.and_then(|foreign| foreign.level)).filter(|_| is_default);
                let fix = foreign.and_then(|foreign| foreign.fix.clone()).or(hit.fix);
                let finding = Finding {
                    lint: (*id).to_owned(),
                    level: own.unwrap_or(level),
                    at: hit.at.or_else(|| place_of(&hit.subject)),
                    subject: hit.subject,
                    also: Vec::new(),
                    message: hit.message,
                    evidence: hit.evidence,
                    fix: Some(fix.unwrap_or_else(|| info.fix.trim().to_owned())).filter(|fix| !fix.is_empty()),
                };
                let general = finding.subject.of_any_release();
                match settings.waivers.iter().position(|it| it.waives(&finding.lint, &finding.subject, &general)) {
                    Some(index) => {
                        used[index] = true;
                        let reason = settings.waivers[index].waiver.reason.clone();
                        waived.push(Waived { finding, reason });
                    }
                    None => findings.push(finding),
                }
            }
        }
        if !settings.partial {
            findings.extend(self.unused_waivers(settings, &used));
        }
        let mut report = Report::new(findings, incomplete, examined);
        report.set_waived(waived);
        report.add_not_run(not_run);
        report
    }

    /// Waivers that met no finding; those of lints that did not run are not judged.
    fn unused_waivers(&self, settings: &Settings, used: &[bool]) -> Vec<Finding> {
        let level = self.level(UNUSED_WAIVER, settings);
        let fix = self.lints.get(UNUSED_WAIVER).map(|(info, _)| info.fix.trim().to_owned());
        let unused = settings.waivers.iter().zip(used).filter(|(waiver, used)| {
            !**used
                && waiver.within.is_none()
                && self.level(&waiver.waiver.id, settings) != Level::Allow
                && level != Level::Allow
        });
        unused
            .map(|(waiver, _)| Finding {
                lint: UNUSED_WAIVER.to_owned(),
                level,
                subject: format!("waiver of {}", waiver.waiver.id).into(),
                also: Vec::new(),
                message: format!("nothing to waive over `{}`", waiver.waiver.subject),
                evidence: vec![format!("its reason: {}", waiver.waiver.reason)],
                fix: fix.clone(),
                at: None,
            })
            .collect()
    }
}

/// Whether two ids share a word: `kernel-tag` is near `kernel-abi`.
fn same_words(a: &str, b: &str) -> bool {
    a.split('-').any(|word| word.len() > 3 && b.split('-').any(|other| other == word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{LintSettings, Waiver};

    /// The engine knows nothing of bundles: these facts are names.
    type Names = Vec<String>;

    const SHOUT: &str = r#"
edition = 1
id = "shout"
aliases = ["capitals"]
over = "machine"
level = "deny"
title = "a name shouts"
text = "Names are lowercase."
fix = "write it in lowercase"
parameters = { except = ["README"] }
"#;
    const UNUSED: &str = r#"
edition = 1
id = "unused-waiver"
over = "machine"
level = "warn"
title = "a waiver waives nothing"
text = "It hides nothing any more."
fix = "remove it"
"#;

    fn registry() -> Registry<Names> {
        let shout = Predicate {
            id: "shout",
            parameters: &[("except", ParameterKind::Texts)],
            check: |names: &Names, parameters, hits| {
                for name in names {
                    if name.contains('?') {
                        hits.incomplete(name, "not readable");
                    } else if name.to_uppercase() == *name && !parameters.texts("except").contains(&name.as_str()) {
                        hits.add(Subject::written(name), "is in capitals");
                    }
                }
            },
        };
        let text = |id: &str| Ok(if id == "shout" { SHOUT } else { UNUSED }.to_owned());
        Registry::new(vec![shout, unused_waiver()], text).unwrap()
    }

    fn run(names: &[&str], settings: &Settings) -> Report {
        let names: Names = names.iter().map(|name| (*name).to_owned()).collect();
        registry().run(&names, settings, names.clone(), Vec::new())
    }

    fn waiver(id: &str, subject: &str, reason: &str) -> Waiver {
        Waiver { id: id.to_owned(), subject: subject.to_owned(), reason: reason.to_owned() }
    }

    #[test]
    fn fires_and_stays_silent() {
        let report = run(&["LOUD", "quiet", "README"], &Settings::default());
        assert_eq!(report.findings.len(), 1);
        assert_eq!(report.findings[0].subject, "LOUD".into());
        assert_eq!(report.findings[0].fix.as_deref(), Some("write it in lowercase"));
        assert!(report.is_denied());
    }

    /// A waiver over a package's file holds for those of all its CUDA releases, or for one that it names.
    #[test]
    fn waivers_hold_for_all_releases_or_for_one() {
        let subjects = ["SIM (CUDA 11.8): LIB", "SIM (CUDA 13.0): LIB"];
        for (waived, left) in [("SIM: LIB", 0), ("SIM (CUDA 11.8): *", 1), ("SIM: OTHER", 3)] {
            let settings = Settings::default().waive(waiver("shout", waived, "known")).unwrap();
            let findings = run(&subjects, &settings).findings;
            assert_eq!(findings.iter().flat_map(Finding::subjects).count(), left, "{waived}");
        }
    }

    #[test]
    fn the_command_line_wins_over_the_recipe() {
        let recipe = LintSettings { levels: BTreeMap::from([("shout".to_owned(), Level::Allow)]), waivers: Vec::new() };
        let settings = Settings::new(&recipe).unwrap();
        assert!(run(&["LOUD"], &settings).findings.is_empty());
        let settings = settings.level("shout", Level::Warn);
        assert_eq!(run(&["LOUD"], &settings).findings[0].level, Level::Warn);
    }

    #[test]
    fn waivers_need_a_reason_and_a_finding() {
        assert!(Settings::default().waive(waiver("shout", "LOUD", "  ")).is_err());
        assert!(Settings::default().waive(waiver("shout", "[", "why")).is_err());
        let mut settings = Settings::default().waive(waiver("shout", "LO*", "old name")).unwrap();
        let report = run(&["LOUD"], &settings);
        assert!(report.findings.is_empty());
        assert_eq!(report.waived()[0].reason, "old name");

        let report = run(&["quiet"], &settings);
        assert_eq!(report.findings[0].lint, UNUSED_WAIVER);
        settings.partial = true;
        assert!(run(&["quiet"], &settings).findings.is_empty(), "a part proves nothing about waivers");
    }

    #[test]
    fn a_waiver_of_a_lint_that_did_not_run_is_not_judged() {
        let settings = Settings::default().waive(waiver("shout", "LOUD", "why")).unwrap();
        assert!(run(&["LOUD"], &settings.level("shout", Level::Allow)).findings.is_empty());
    }

    #[test]
    fn what_could_not_be_examined_is_never_a_pass() {
        let report = run(&["?"], &Settings::default());
        assert_eq!(report.verdict(), crate::report::Verdict::Incomplete);
        assert_eq!(report.incomplete[0].topic, "shout");
    }

    #[test]
    fn unknown_ids_are_refused_with_a_hint() {
        let error = registry().resolve(Settings::default().level("shoot-waiver", Level::Deny)).unwrap_err();
        assert_eq!(error.to_string(), "unknown lint `shoot-waiver`");
        assert_eq!(error.hints(), ["did you mean `unused-waiver`?"]);
        let waived = Settings::default().waive(waiver("nothing", "*", "why")).unwrap();
        assert!(registry().resolve(waived).is_err());
    }

    #[test]
    fn earlier_ids_mean_the_lint_that_has_them() {
        let recipe = LintSettings {
            levels: BTreeMap::from([("capitals".to_owned(), Level::Note)]),
            waivers: vec![waiver("capitals", "LO*", "old name")],
        };
        let settings = registry().resolve(Settings::new(&recipe).unwrap()).unwrap();
        let report = run(&["LOUD", "BIG"], &settings);
        assert_eq!((report.findings[0].lint.as_str(), report.findings[0].level), ("shout", Level::Note));
        assert_eq!((report.findings.len(), report.waived().len()), (1, 1));
        // The command line wins, by whichever id.
        let settings = Settings::new(&recipe).unwrap().level("shout", Level::Deny);
        assert!(run(&["BIG"], &registry().resolve(settings).unwrap()).is_denied());
        assert_eq!(registry().info("capitals").unwrap().id, "shout");
    }

    #[test]
    fn data_files_must_fit_their_predicate() {
        let build = |text: &'static str| {
            let predicate: Predicate<Names> =
                Predicate { id: "shout", parameters: &[("except", ParameterKind::Texts)], check: |_, _, _| {} };
            Registry::new(vec![predicate], move |_| Ok(text.to_owned())).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(build(SHOUT), Ok(()));
        assert!(build(UNUSED).unwrap_err().contains("file's name says `shout`"));
        let without = "edition = 1\nid = \"shout\"\nover = \"machine\"\nlevel = \"deny\"\ntitle = \"\"\ntext = \"\"\nfix = \"\"\n";
        assert!(build(without).unwrap_err().contains("parameter `except` is missing"));
    }
}
