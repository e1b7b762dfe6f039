//! Components: their defaults, their policies, what they use.

use std::collections::BTreeMap;

use globset::GlobBuilder;

use super::resolver::{Resolver, has};
use crate::arch::{CudaVersion, VersionPolicy};
use crate::build_system::{BuildDriver, DriverWord, OF_CUDA};
use crate::manifest::SonameVersion;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::file::{BuildTable, ComponentTable, GroupTable, OptionValue, VariantTable};
use crate::recipe::model::{
    BuildSpec, Component, ComponentKind, DeviceCompiler, Install, KernelForm, NONE, Need, PYTHON, Soname, Used,
    VariantAxis, VariantValue,
};
use crate::recipe::parse::words::{Use, is_obeyed, placeholders};

pub(in crate::recipe) fn components(resolver: &mut Resolver<'_>, cuda: Option<CudaVersion>) -> Option<Vec<Component>> {
    let file = resolver.file;
    let mut found: Vec<Component> =
        file.components.iter().map(|(kind, table)| component(resolver, *kind, table, cuda)).collect();
    if !file.components.is_empty() && !has(&found, ComponentKind::Core) {
        let first = file.components.values().map(|table| table.span.clone()).min_by_key(|span| span.start);
        let place = Spanned { value: (), span: first.unwrap_or(0..0) };
        let mistake = resolver.mistake(&place, "there is no component `core`");
        resolver.mistakes.push(mistake.hint("add [component.core]: the host library and its programs"));
    }
    if let Some(kernels) = file.components.get(&ComponentKind::Kernels).filter(|_| file.groups.is_empty()) {
        let place = Spanned { value: (), span: kernels.span.clone() };
        let mistake = resolver.mistake(&place, "component `kernels` has no kernel group");
        resolver.mistakes.push(mistake.hint("add [kernels.NAME] with its sources and table"));
    }
    kernels_build(resolver);
    let mut implied = vec![ComponentKind::Meta];
    if !file.groups.is_empty() {
        implied.push(ComponentKind::Kernels);
    }
    for kind in implied {
        if !has(&found, kind) {
            found.push(component(resolver, kind, &ComponentTable::default(), cuda));
        }
    }
    found.sort_by_key(|component| component.kind);
    Some(found)
}

/// Component `kernels` has a build where the form of its groups is compiled by it, and only there.
fn kernels_build(resolver: &mut Resolver<'_>) {
    let file = resolver.file;
    let mut forms = file.groups.values().filter_map(|group| group.form.as_ref());
    let wants = forms.find(|form| form.value.compiler() == DeviceCompiler::KernelsBuild);
    let build = file.components.get(&ComponentKind::Kernels).and_then(|kernels| kernels.build.as_ref());
    match (wants, build) {
        (Some(form), None) => {
            let name = file.simulator.name.as_ref().map_or("NAME", |name| &name.value);
            let hint = format!(
                "add [component.kernels.build]: it is called once for each target, and installs \
                 lib/lib{name}-kernels-{{target}}.so"
            );
            let mistake = resolver.mistake(form, format!("form `{}` needs a build", form.value.name())).hint(hint);
            resolver.mistakes.push(mistake);
        }
        (None, Some(build)) => {
            let place = Spanned { value: (), span: build.span.clone() };
            let mistake = resolver.mistake(&place, "component `kernels` has a build, and no group of form \"library\"");
            resolver.mistakes.push(mistake.hint("other forms are compiled from `sources`, or by the build of core"));
        }
        (Some(_), Some(BuildTable { driver: Some(driver), .. })) if driver.value.system().tools().is_empty() => {
            resolver.wrong(driver, format!("driver `{}` compiles nothing", driver.value.name()));
        }
        _ => {}
    }
    let others = file.components.iter().filter(|(kind, _)| **kind != ComponentKind::Kernels);
    let options = others.filter_map(|(_, table)| table.build.as_ref()).flat_map(|build| build.options.values());
    let naming = |word: &'static str| {
        let names = move |option: &&Spanned<OptionValue>| match &option.value {
            OptionValue::Text(text) => placeholders(text).contains(&word),
            OptionValue::Switch(_) => false,
        };
        options.clone().filter(names)
    };
    for option in naming("target") {
        resolver.wrong(option, "`{target}` is known to the build of component `kernels` alone");
    }
    let form = |group: &GroupTable| group.form.as_ref().map_or(KernelForm::Cubin, |form| form.value);
    if !file.groups.values().any(|group| form(group).is_cuda()) {
        for (word, option) in OF_CUDA.into_iter().flat_map(|word| naming(word).map(move |option| (word, option))) {
            let mistake = resolver.mistake(option, format!("`{{{word}}}` is known where device code is compiled"));
            resolver.mistakes.push(mistake.hint("add a kernel group: form = \"slice\" cuts what a build compiles"));
        }
    }
    let with_variants =
        |group: &&GroupTable| form(group).compiler() == DeviceCompiler::HostBuilds && !group.variants.is_empty();
    match file.groups.values().find(with_variants) {
        None => naming("variant").for_each(|option| {
            resolver.wrong(option, "`{variant}` is known where a group of form `slice` has variants");
        }),
        Some(group) if naming("variant").next().is_none() => {
            let place = Spanned { value: (), span: group.span.clone() };
            let mistake = resolver.mistake(&place, "no build tells its variants apart");
            let hint = "name `{variant}` in the options of the build, and let it be part of the library's name";
            resolver.mistakes.push(mistake.hint(hint));
        }
        Some(_) => {}
    }
}

fn component(
    resolver: &mut Resolver<'_>,
    kind: ComponentKind,
    table: &ComponentTable,
    cuda: Option<CudaVersion>,
) -> Component {
    let policy = policy(resolver, kind, table);
    let name = resolver.file.simulator.name.as_ref().map_or("", |name| &name.value);
    let files = match &table.files {
        // What is cut to one capability belongs to the packages of kernels.
        _ if kind == ComponentKind::Kernels => {
            let globs = resolver.file.groups.values().flat_map(|group| &group.files);
            globs.map(|glob| glob.value.clone()).collect()
        }
        Some(files) => files.iter().map(|file| file.value.clone()).collect(),
        None => default_files(kind, name),
    };
    let build = match &table.build {
        Some(build) => Some(build_spec(resolver, build)),
        None if kind == ComponentKind::Core => Some(build_spec(resolver, &BuildTable::default())),
        None => None,
    };
    let variants = axes(resolver, table);
    let uses = table.uses.iter().filter_map(|dependency| used(resolver, dependency, cuda)).collect();
    let release = cuda.and_then(|cuda| resolver.file.matrix.release(cuda));
    let opens = release.and_then(|release| release.opens.get(&kind)).unwrap_or(&table.opens);
    let opens = opens.iter().map(|name| name.value.clone()).collect();
    let sonames = table.sonames.iter().map(|soname| soname.value.clone()).collect();
    for soname in &table.sonames {
        promised(resolver, soname, kind, policy);
    }
    let compile = table.compile.as_ref().map(|compile| {
        let program = &compile.value.command[0];
        // Globs that are wrong are told where they stand.
        let is_own = |glob: &String| {
            let glob = GlobBuilder::new(glob).literal_separator(true).build();
            glob.map_or(true, |glob| glob.compile_matcher().is_match(program))
        };
        if !files.iter().any(is_own) {
            let mistake = resolver.mistake(compile, format!("component `{kind}` does not hold `{program}`"));
            resolver.mistakes.push(mistake.hint("`compile` calls a program of its own component: add it to `files`"));
        }
        compile.value.clone()
    });
    Component { kind, policy, build, variants, files, uses, opens, sonames, compile }
}

/// A SONAME changes when the pins of packages end: neither earlier, when programs would not start with a package that their
/// pin allows, nor later.
fn promised(resolver: &mut Resolver<'_>, soname: &Spanned<Soname>, kind: ComponentKind, policy: VersionPolicy) {
    let Some(version) = resolver.file.simulator.version.as_ref() else { return };
    let Some(series) = policy.series(version.value) else { return };
    let Soname { library, version: own } = &soname.value;
    if *own == series {
        return;
    }
    let pin = match own.starts_with(&format!("{series}.")) {
        true => "wider than its SONAME promises",
        false => "another than its SONAME promises",
    };
    let mistake = resolver.mistake(
        soname,
        format!("component `{kind}` has version policy `{policy}`, whose pin to {series}.* is {pin}: {}", soname.value),
    );
    let other = match policy {
        VersionPolicy::Major => VersionPolicy::MajorMinor,
        _ => VersionPolicy::Major,
    };
    let fits = other.series(version.value).is_some_and(|series| series == *own);
    let mistake = mistake.hint(match fits {
        true => format!("write policy = \"{other}\", or \"{library}.{series}\""),
        false => format!("write \"{library}.{series}\""),
    });
    resolver.mistakes.push(mistake);
}

/// The axes of a component, the default of each first: what does without, else the first of the recipe. A version of
/// Python needs that Python.
fn axes(resolver: &mut Resolver<'_>, table: &ComponentTable) -> Vec<VariantAxis> {
    let system = table.build.as_ref().and_then(|build| build.driver.as_ref());
    let driver = system.map_or(BuildDriver::Cmake, |driver| driver.value);
    let system = driver.system();
    let own = table.build.as_ref().map_or(&[][..], |build| &build.needs);
    let mut axes = Vec::new();
    for (axis, values) in &table.variants {
        if system.tools().is_empty() {
            resolver.wrong(
                axis,
                format!("`variants` cannot be combined with driver `{}`, which runs nothing", driver.name()),
            );
        }
        let value = |variant: &VariantTable| {
            let text = |option: &Spanned<OptionValue>| match &option.value {
                OptionValue::Text(text) => text.clone(),
                OptionValue::Switch(on) => system.switch(*on).to_owned(),
            };
            let mut needs: Vec<Need> = variant.needs.iter().map(|need| need.value.clone()).collect();
            let names_it = |need: &Need| need.is_of_channel() && need.name() == PYTHON;
            let is_named = own.iter().map(|need| &need.value).chain(&needs).any(names_it);
            if axis.value == PYTHON && !is_named && !has_python_of_machine(own, variant) {
                let versions = format!("{}.*", variant.name.value);
                needs.push(Need::Channel { name: PYTHON.to_owned(), versions, build: None });
            }
            VariantValue {
                name: variant.name.value.clone(),
                options: variant.options.iter().map(|(key, option)| (key.clone(), text(option))).collect(),
                needs,
            }
        };
        let is_python = |_: &&VariantTable| axis.value == PYTHON;
        for (variant, need) in
            values.iter().filter(is_python).flat_map(|it| own.iter().chain(&it.needs).map(move |need| (it, need)))
        {
            let Some(other) = need.value.python_of_machine().filter(|version| *version != variant.name.value) else {
                continue;
            };
            let message = format!("python={} would be built with the headers of Python {other}", variant.name.value);
            let mistake = resolver.mistake(need, message);
            resolver.mistakes.push(
                mistake.hint(format!("name \"system:python-{}\" in the needs of that variant", variant.name.value)),
            );
        }
        for (name, at) in values.iter().flat_map(|variant| &variant.options) {
            if system.sets_variables() && is_obeyed(name) {
                resolver.wrong(at, format!("option `{name}` {OBEYED}"));
            }
        }
        let mut values: Vec<VariantValue> = values.iter().map(value).collect();
        values.sort_by_key(|value| value.name != NONE);
        axes.push(VariantAxis { name: axis.value.clone(), values });
    }
    axes
}

/// Whether a version of Python is the machine's, by what its build needs; that this is another one is told elsewhere.
fn has_python_of_machine(own: &[Spanned<Need>], variant: &VariantTable) -> bool {
    own.iter().chain(&variant.needs).any(|need| need.value.python_of_machine().is_some())
}

/// The axis of a component that takes a version of Python from a channel.
fn python_of_channel(component: &ComponentTable) -> Option<&Spanned<String>> {
    let own = component.build.as_ref().map_or(&[][..], |build| &build.needs);
    let (axis, values) = component.variants.iter().find(|(axis, _)| axis.value == PYTHON)?;
    values.iter().any(|value| !has_python_of_machine(own, value)).then_some(axis)
}

/// What cannot be combined with host variants, and what only is there with them.
pub(in crate::recipe) fn variants(resolver: &mut Resolver<'_>) {
    let file = resolver.file;
    // What is built against such a library is a library of its own.
    let with_axes = file.components.get(&ComponentKind::Core).and_then(|core| core.variants.first());
    let cut = file.groups.values().find(|group| group.form.as_ref().is_some_and(|form| form.value.is_exclusive()));
    if let (Some((axis, _)), Some(_)) = (with_axes, cut) {
        let mistake = resolver.mistake(axis, "host variants of core cannot be combined with libraries that ship cut");
        resolver.mistakes.push(mistake.hint(match axis.value == PYTHON {
            true => "give component `python` a build of its own with `against = [\"core\"]`, and these variants",
            false => "build the simulator with one MPI, or let its kernels be `cubin` or `library`",
        }));
    }
    let Some(python) = file.components.get(&ComponentKind::Python) else { return };
    let source = match (&python.build, python.variants.first()) {
        (None, Some((axis, _))) => {
            let mistake = resolver.mistake(axis, "component `python` has variants and no build");
            resolver.mistakes.push(mistake.hint("add [component.python.build], or let core have these variants"));
            return;
        }
        (None, None) => file.components.get(&ComponentKind::Core),
        (Some(_), _) => Some(python),
    };
    if !source.is_some_and(|source| source.variants.iter().any(|(axis, _)| axis.value == PYTHON)) {
        let place = Spanned { value: (), span: python.span.clone() };
        let mistake = resolver.mistake(&place, "component `python` does not say for which versions of Python it is");
        resolver.mistakes.push(mistake.hint("add [component.python.variants] with python = [\"3.12\", \"3.13\"]"));
    }
}

fn policy(resolver: &mut Resolver<'_>, kind: ComponentKind, table: &ComponentTable) -> VersionPolicy {
    let default = match kind {
        ComponentKind::Kernels => VersionPolicy::Capability,
        // Code compiled on the user's machine sees the core's internals.
        ComponentKind::Rtc => VersionPolicy::MajorMinor,
        // A module is written against more of core than its interface of C.
        ComponentKind::Python => VersionPolicy::MajorMinor,
        _ => VersionPolicy::Major,
    };
    let Some(policy) = &table.policy else { return default };
    if (policy.value == VersionPolicy::Capability) != (kind == ComponentKind::Kernels) {
        let (message, hint) = match kind {
            ComponentKind::Kernels => (
                format!(
                    "component `kernels` has version policy `{}`, but kernels match one core exactly",
                    policy.value
                ),
                "kernels have policy = \"capability\", which is the default",
            ),
            _ => (
                format!("component `{kind}` has version policy `capability`, which is for kernels"),
                "choose \"major\" or \"major.minor\"",
            ),
        };
        let mistake = resolver.mistake(policy, message).hint(hint);
        resolver.mistakes.push(mistake);
    }
    for dependency in &table.uses {
        let library = resolver.manifests.vendor.by_name(&dependency.value.name);
        let Some(library) = library.filter(|library| library.opens_soname == Some(SonameVersion::MajorMinor)) else {
            continue;
        };
        if policy.value == VersionPolicy::Major {
            let opened: Vec<_> = library.opens.iter().map(|glob| glob.trim_end_matches(".so*")).collect();
            let message = format!(
                "component `{kind}` has version policy `major` but opens {}, whose SONAME is major.minor",
                opened.join(", ")
            );
            let mistake = resolver
                .mistake(policy, message)
                .note(format!("`{}` opens it with dlopen, so no NEEDED entry shows it", library.name))
                .hint("set policy = \"major.minor\"");
            resolver.mistakes.push(mistake);
        }
    }
    policy.value
}

fn default_files(kind: ComponentKind, name: &str) -> Vec<String> {
    match kind {
        ComponentKind::Core => vec![format!("lib/lib{name}.so.*"), "bin/*".to_owned()],
        ComponentKind::Rtc => vec![format!("lib/lib{name}_rtc.so.*")],
        ComponentKind::Dev => {
            ["include/**", "lib/cmake/**", "lib/pkgconfig/**", "lib/lib*.so"].map(str::to_owned).to_vec()
        }
        ComponentKind::Static => vec!["lib/lib*.a".to_owned()],
        ComponentKind::Python => vec!["lib/python*/site-packages/**".to_owned()],
        ComponentKind::Source => vec![format!("share/{name}/kernels/**")],
        ComponentKind::Kernels | ComponentKind::Meta => Vec::new(),
    }
}

/// Why an option is refused.
const OBEYED: &str = "would be obeyed by the loader, the C library or the shell of every program of the build";

fn build_spec(resolver: &mut Resolver<'_>, table: &BuildTable) -> BuildSpec {
    let driver = table.driver.as_ref().map_or(BuildDriver::Cmake, |driver| driver.value);
    if let Some(source) = &table.source {
        resolver.must_be_in_source(source);
    }
    let system = driver.system();
    let names: Vec<&str> = table.options.keys().map(String::as_str).collect();
    for wrong in system.mistakes(table.targets.len(), &names) {
        let span = match wrong.at {
            DriverWord::Driver => table.driver.as_ref().map(|driver| &driver.span),
            DriverWord::Target(index) => table.targets.get(index).map(|target| &target.span),
            DriverWord::Option(index) => table.options.values().nth(index).map(|option| &option.span),
        };
        let place = Spanned { value: (), span: span.cloned().unwrap_or(0..0) };
        let mistake = resolver.mistake(&place, wrong.message);
        resolver.mistakes.push(mistake.hint(wrong.hint));
    }
    for (name, at) in table.options.iter().filter(|(name, _)| system.sets_variables() && is_obeyed(name)) {
        resolver.wrong(at, format!("option `{name}` {OBEYED}"));
    }
    if let Some((from, _)) = table.install.first().filter(|_| system.tools().is_empty()) {
        let message = format!("`install` cannot be combined with driver `{}`, which builds nothing", driver.name());
        resolver.wrong(from, message);
    }
    let text = |value: &OptionValue| match value {
        OptionValue::Text(text) => text.clone(),
        OptionValue::Switch(on) => system.switch(*on).to_owned(),
    };
    let options: BTreeMap<_, _> =
        table.options.iter().map(|(key, option)| (key.clone(), text(&option.value))).collect();
    // What was fetched counts whole; a directory of the user's leaves out what it says itself.
    let fetched = resolver.is_source_elsewhere();
    let globs = |list: &[Spanned<String>]| list.iter().map(|glob| glob.value.clone()).collect();
    BuildSpec {
        driver,
        source: table.source.as_ref().map_or(".".to_owned(), |source| source.value.clone()),
        options,
        inputs: table.inputs.as_deref().map(globs).or_else(|| fetched.then(|| vec!["**".to_owned()])),
        targets: globs(&table.targets),
        install: table
            .install
            .iter()
            .map(|(from, to)| Install { from: from.value.clone(), to: to.value.clone() })
            .collect(),
        needs: table.needs.iter().map(|need| need.value.clone()).collect(),
        against: table.against.iter().map(|kind| kind.value).collect(),
    }
}

/// Channels are there where builds need packages, and only there; directories exist.
pub(in crate::recipe) fn channels(resolver: &mut Resolver<'_>) {
    let file = resolver.file;
    let builds = || file.components.values().filter_map(|component| component.build.as_ref());
    let of_variants = || file.components.values().flat_map(|component| &component.variants);
    let added = of_variants().flat_map(|(_, values)| values).flat_map(|value| &value.needs);
    let mut needs = builds().flat_map(|build| &build.needs).chain(added).filter(|need| need.value.is_of_channel());
    let channels = &file.dependencies.channels;
    let python = file.components.values().find_map(python_of_channel);
    if let (Some(axis), None) = (python, channels.first()) {
        let mistake = resolver.mistake(axis, "no channel is named that has `python`");
        let hint = "add [dependencies] with channels = [\"https://...\"], or take the machine's: \
                    python.\"3.12\" = { needs = [\"system:python-3.12\"] }";
        resolver.mistakes.push(mistake.hint(hint));
    }
    match (needs.next(), channels.first()) {
        (Some(need), None) => {
            let mistake = resolver.mistake(need, format!("no channel is named that has `{}`", need.value.name()));
            let hint = "add [dependencies] with channels = [\"https://...\"], or take the machine's: \"system:NAME\"";
            resolver.mistakes.push(mistake.hint(hint));
        }
        (None, Some(channel)) if python.is_none() => {
            let mistake = resolver.mistake(channel, "no build needs a package of a channel");
            let hint = "name packages in `needs` of a component's build, or remove [dependencies]";
            resolver.mistakes.push(mistake.hint(hint));
        }
        _ => {}
    }
    for channel in channels.iter().filter(|channel| !channel.value.contains("://")) {
        resolver.must_exist(channel, &channel.value);
    }
    for component in file.components.values() {
        let Some(build) = &component.build else { continue };
        let driver = build.driver.as_ref().map_or(BuildDriver::Cmake, |driver| driver.value);
        if let Some(need) = build.needs.first().filter(|_| driver.system().tools().is_empty()) {
            resolver
                .wrong(need, format!("`needs` cannot be combined with driver `{}`, which runs nothing", driver.name()));
        }
        let is_used = |option: &Spanned<OptionValue>| matches!(&option.value, OptionValue::Text(text) if placeholders(text).contains(&"dependencies"));
        let unmet = build.options.values().find(|option| is_used(option));
        let added = component.variants.iter().flat_map(|(_, values)| values).flat_map(|value| &value.needs);
        let is_given = build.needs.iter().chain(added).any(|need| need.value.is_of_channel())
            || python_of_channel(component).is_some();
        if let Some(option) = unmet.filter(|_| !is_given) {
            let mistake = resolver
                .mistake(option, "`{dependencies}` stands for packages of a channel, and this build needs none");
            resolver.mistakes.push(mistake.hint("name them in `needs` of the build"));
        }
    }
}

/// A dependency under conda's name.
fn used(resolver: &mut Resolver<'_>, dependency: &Spanned<Use>, cuda: Option<CudaVersion>) -> Option<Used> {
    let Use { name, verbatim, range, provides, wheel } = &dependency.value;
    let (package, provides) = (name.clone(), provides.clone());
    let wheel = wheel.clone();
    let package = Used { library: None, package, versions: range.clone(), provides, headers_only: false, wheel };
    if *verbatim {
        return Some(package);
    }
    let vendor = &resolver.manifests.vendor;
    let Some(library) = vendor.by_name(name) else {
        let names = || vendor.libraries().map(|library| library.name.clone());
        let mistake = resolver
            .mistake(dependency, format!("unknown vendor library `{name}`"))
            .known("known", names())
            .near(name, names());
        let known = vendor.driver(&format!("lib{name}.so.1"));
        let mistake = match known {
            Some(driver) => mistake.note(format!("it is never a dependency: {}", driver.reason)),
            None => mistake.hint(format!("any other conda package is written \"conda:{package}\"")),
        };
        resolver.mistakes.push(mistake);
        return None;
    };
    let versions = match cuda {
        Some(cuda) if range.is_empty() && library.versioned_with_cuda => format!(">={cuda},<{}", cuda.major + 1),
        _ => range.clone(),
    };
    let (headers_only, package) = (library.headers_only, library.conda.clone());
    Some(Used {
        library: Some(library.name.clone()),
        package,
        versions,
        provides: Vec::new(),
        headers_only,
        wheel: None,
    })
}
