//! A recipe for a project that is there: what was found, with the reason beside it; what only its people know is marked.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::cmake::CmakeFiles;
use super::survey::{BuildFiles, Survey};
use crate::arch::{Capability, KernelTarget};
use crate::build_system::BuildDriver;
use crate::gpu::KernelSignature;

/// How a project's kernels ship.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Device code in files of their own, which the core loads by the driver.
    Cubin,
    /// Libraries with host code and kernels in one, which ship cut to one capability each.
    Slice,
}

/// Marks what a person has to look at.
pub(super) const EDIT: &str = "EDIT";
/// Name of the kernel table that is drafted.
pub(super) const TABLE: &str = "kernel-table.toml";
/// Name of the script that packs an installed tree.
pub(super) const SCRIPT: &str = "pack.sh";

/// What ships cut or apart, as far as the project shows it.
pub(super) fn shape(survey: &Survey) -> (Shape, String) {
    if let Some(path) = &survey.loads_modules {
        return (Shape::Cubin, format!("{path} loads device code by the driver"));
    }
    if let Some((name, _)) = survey.compiled.libraries.first_key_value() {
        return (Shape::Slice, format!("{name} holds host code and kernels in one"));
    }
    match survey.cmake.cuda() {
        Some(how) => (Shape::Slice, format!("{how}: the build puts kernels into its libraries")),
        None => (Shape::Slice, "nothing loads device code by the driver".to_owned()),
    }
}

/// The text of the recipe.
pub(super) fn recipe(name: &str, survey: &Survey, shape: (Shape, &str)) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |words: String| writeln!(text, "{words}").unwrap_or_default();
    let (shape, why) = (shape.0, comment(shape.1));
    let reference = name.replace('_', "-");
    line("# Drafted by `simpack init --here`. Comments say where each choice comes from; lines with EDIT are guesses that only".into());
    line("# you can settle. `simpack check` looks at it, `simpack build` makes packages of it.".into());
    line("edition = 1\n\n[simulator]".into());
    line(format!("name = \"{name}\""));
    line(match &survey.version {
        Some((version, place)) => format!("version = \"{version}\" # {place}"),
        None => format!("version = \"0.1.0\" # {EDIT}: no file says it plainly"),
    });
    line(match &survey.license {
        Some((Some(spdx), file)) => format!("license = \"{spdx}\" # the text of {file}"),
        Some((None, file)) => format!("license = \"LicenseRef-{reference}\" # {EDIT}: the SPDX expression of {file}"),
        None => format!(
            "license = \"LicenseRef-{reference}\" # {EDIT}: there is no LICENSE or COPYING, and packages need its text"
        ),
    });
    line(format!("summary = \"the simulator {name}\" # {EDIT}: what it is, in one line"));
    line("\n[source]\npath = \".\"\n\n[matrix]\ncuda = [\"13.0\"]".into());
    targets(survey).into_iter().for_each(&mut line);
    if shape == Shape::Slice && survey.build != Some(BuildFiles::Installed) {
        line("\n[toolchain]".into());
        line(
            "host = \"system\" # nvcc compiles host code with the machine's g++, and one library needs one C++ library"
                .into(),
        );
    }
    line("\n[component.core]".into());
    line("policy = \"major\"".into());
    let libraries = libraries(survey);
    line(format!("files = [{}]", core_files(survey, &libraries, shape).join(", ")));
    line("\n[component.core.build]".into());
    build(survey, shape).into_iter().for_each(&mut line);
    line("\n[component.dev] # what others compile and link against".into());
    line(format!("files = [{}]", dev_files(survey, &libraries, shape).join(", ")));
    line(format!("\n[kernels.{}] # {why}", if shape == Shape::Slice { "library" } else { "main" }));
    kernels(survey, &libraries, shape).into_iter().for_each(&mut line);
    line(
        "\n[driver]\nprofiles = [\"conventional\", \"container\", \"wsl\", \"nixos\"] # where libcuda.so.1 may lie"
            .into(),
    );
    if matches!(survey.build, Some(BuildFiles::Of(BuildDriver::Cmake, _))) && !survey.cmake.has_soversion() {
        line("\n[lint]".into());
        line(
            "warn = [\"soname-policy\"] # no target has a SOVERSION: give the libraries one, then remove this line"
                .into(),
        );
    }
    text
}

/// Capabilities that compiled code has, else those that most machines have.
fn targets(survey: &Survey) -> Vec<String> {
    let of = |is_ptx: bool| -> BTreeSet<Capability> {
        let wanted =
            survey.compiled.targets.iter().copied().filter(|target| matches!(target, KernelTarget::Ptx(_)) == is_ptx);
        wanted.filter_map(KernelTarget::capability).filter(|capability| capability.number() >= 75).collect()
    };
    let list = |capabilities: &BTreeSet<Capability>| {
        capabilities.iter().map(|capability| format!("\"{capability}\"")).collect::<Vec<_>>().join(", ")
    };
    let (sass, ptx) = (of(false), of(true));
    if sass.is_empty() {
        return vec![
            format!("capabilities = [\"8.0\", \"9.0\"] # {EDIT}: one for each generation of GPUs that you serve"),
            "ptx = [\"9.0\"] # what newer devices get".to_owned(),
        ];
    }
    let newest = sass.last().map(|capability| format!("\"{}\"", capability.plain())).unwrap_or_default();
    let ptx = if ptx.is_empty() { newest } else { list(&ptx) };
    vec![
        format!("capabilities = [{}] # those of the compiled code that is here", list(&sass)),
        format!("ptx = [{ptx}] # what newer devices get"),
    ]
}

/// Libraries with device code, by the name between `lib` and `.so`, and others.
fn libraries(survey: &Survey) -> (Vec<String>, Vec<String>) {
    let names: Vec<String> = survey
        .compiled
        .libraries
        .keys()
        .filter_map(|file| Some(file.strip_prefix("lib")?.split(".so").next()?.to_owned()))
        .collect();
    let declared = survey.cmake.libraries();
    let has_code = |name: &String, declared: bool| names.contains(name) || (names.is_empty() && declared);
    let (mut with, mut without): (Vec<_>, Vec<_>) =
        declared.iter().partition(|library| has_code(&library.name, library.has_device_code));
    let plain = |list: &mut Vec<&super::cmake::Library>| -> Vec<String> {
        let names: BTreeSet<String> = list.drain(..).map(|library| library.name.clone()).collect();
        names.into_iter().collect()
    };
    let (mut with, without) = (plain(&mut with), plain(&mut without));
    with.extend(names.into_iter().filter(|name| !without.contains(name)));
    with.sort();
    with.dedup();
    (with, without)
}

fn quoted(globs: impl IntoIterator<Item = String>) -> Vec<String> {
    globs.into_iter().map(text_value).collect()
}

/// A text as TOML writes it: names of files and symbols are somebody else's.
fn text_value(text: String) -> String {
    toml::Value::String(text).to_string()
}

/// Text in a comment, which ends with its line.
fn comment(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// How a library's file goes on behind `.so`: with a version where the project gives it one.
fn ending(survey: &Survey) -> &'static str {
    let versioned = survey.compiled.libraries.values().flatten().any(|soname| !soname.ends_with(".so"));
    if survey.cmake.has_soversion() || versioned { ".so.*" } else { ".so" }
}

fn core_files(survey: &Survey, (with, without): &(Vec<String>, Vec<String>), shape: Shape) -> Vec<String> {
    let ending = ending(survey);
    let own: Vec<String> = match shape {
        Shape::Cubin if with.is_empty() && without.is_empty() => vec![format!("lib/lib*{ending}")],
        Shape::Cubin => with.iter().chain(without).map(|name| format!("lib/lib{name}{ending}")).collect(),
        Shape::Slice => without.iter().map(|name| format!("lib/lib{name}{ending}")).collect(),
    };
    quoted(own.into_iter().chain(["bin/**".to_owned()]))
}

fn dev_files(survey: &Survey, (with, without): &(Vec<String>, Vec<String>), shape: Shape) -> Vec<String> {
    let mut globs = vec!["include/**".to_owned()];
    if survey.cmake.installs_config() {
        globs.push("lib/cmake/**".to_owned());
    }
    if ending(survey) == ".so.*" {
        match with.iter().chain(without).next() {
            Some(_) => globs.extend(with.iter().chain(without).map(|name| format!("lib/lib{name}.so"))),
            None if shape == Shape::Cubin => globs.push("lib/lib*.so".to_owned()),
            None => {}
        }
    }
    quoted(globs)
}

fn build(survey: &Survey, shape: Shape) -> Vec<String> {
    let mut lines = Vec::new();
    match survey.build {
        Some(BuildFiles::Of(driver, top)) if driver != BuildDriver::Cmake => {
            lines.push(format!("driver = \"{}\" # {top}", driver.name()));
            if driver == BuildDriver::Make {
                lines.push(format!(
                    "options = {{ PREFIX = \"{{prefix}}\" }} # {EDIT}: how your Makefile is told where to install"
                ));
            }
        }
        Some(BuildFiles::Installed) => {
            lines.push("driver = \"script\" # nothing is built here: the tree is installed as it is".to_owned());
            lines.push(format!("targets = [\"{SCRIPT}\"]"));
        }
        _ => {
            lines.push("driver = \"cmake\" # CMakeLists.txt".to_owned());
            let options = options(&survey.cmake, shape);
            if !options.is_empty() {
                lines.push("options = {".to_owned());
                lines.extend(options.into_iter().map(|(name, value, why)| format!("  {name} = {value}, # {why}")));
                lines.push("}".to_owned());
            }
        }
    }
    let mut inputs = survey.inputs.clone();
    if survey.build == Some(BuildFiles::Installed) {
        inputs = survey.inputs.iter().chain(&survey.left_out).cloned().chain([SCRIPT.to_owned()]).collect();
        inputs.sort();
        inputs.dedup();
    }
    lines.push(format!("inputs = [{}]", quoted(inputs).join(", ")));
    if !survey.left_out.is_empty() && survey.build != Some(BuildFiles::Installed) {
        lines.push(format!(
            "# left out of `inputs`, so that a change there builds nothing: {}",
            comment(&survey.left_out.join(" "))
        ));
    }
    lines
}

/// Options that a package's build wants otherwise than a developer's: name, value, reason.
fn options(cmake: &CmakeFiles, shape: Shape) -> Vec<(String, String, String)> {
    let mut options: Vec<(String, String, String)> = Vec::new();
    let mut add = |name: &str, value: &str, why: String| {
        if !options.iter().any(|(known, ..)| known == name) {
            options.push((name.to_owned(), value.to_owned(), why));
        }
    };
    if cmake.has_tests() {
        add("BUILD_TESTING", "false", "tests are in no package".to_owned());
    }
    if cmake.oldest_cmake().is_some_and(|oldest| oldest < (3, 5)) {
        add(
            "CMAKE_POLICY_VERSION_MINIMUM",
            "\"3.5\"",
            "some file asks for a CMake that today's is not compatible with".to_owned(),
        );
    }
    let is_shared = cmake.libraries().iter().any(|library| library.has_device_code && library.is_shared);
    if shape == Shape::Slice && !is_shared {
        add("BUILD_SHARED_LIBS", "true", "a static library cannot be cut after it was linked".to_owned());
    }
    if cmake.sets("CMAKE_INTERPROCEDURAL_OPTIMIZATION", &["TRUE", "ON", "1"]) {
        let why = "objects of link-time optimisation hide what is in them".to_owned();
        add("CMAKE_INTERPROCEDURAL_OPTIMIZATION", "false", why);
    }
    for entry in cmake.cache() {
        let (name, default) = (entry.name.to_uppercase(), entry.default.to_lowercase());
        let is_off = ["off", "false", "0", "no"].contains(&default.as_str());
        let is_on = ["on", "true", "1", "yes"].contains(&default.as_str());
        let is_of_gpu = ["CUDA", "GPU"].iter().any(|word| name.split('_').any(|part| part == *word));
        if shape == Shape::Slice && is_of_gpu && is_off {
            add(&entry.name, "true", format!("{EDIT}: is off unless it is asked for"));
        } else if shape == Shape::Slice && is_of_gpu && ["none", ""].contains(&default.as_str()) {
            add(&entry.name, "\"cuda\"", format!("{EDIT}: is `none` unless it is asked for"));
        } else if is_off && name.contains("BUNDLED") {
            add(&entry.name, "true", "what the source brings is what it was written for".to_owned());
        } else if default == "native" {
            add(&entry.name, "\"none\"", format!("{EDIT}: `native` compiles for the machine that builds"));
        } else if is_on && name.split('_').any(|part| ["TEST", "TESTS", "TESTING", "DOCS", "DOC"].contains(&part)) {
            add(&entry.name, "false", "is in no package".to_owned());
        }
    }
    options
}

fn kernels(survey: &Survey, (with, _): &(Vec<String>, Vec<String>), shape: Shape) -> Vec<String> {
    match shape {
        Shape::Slice => {
            let ending = ending(survey);
            let globs = with.iter().map(|name| format!("lib/lib{name}{ending}"));
            let mark =
                if with.is_empty() { format!(" # {EDIT}: which installed files hold kernels") } else { String::new() };
            let globs = if with.is_empty() { vec![format!("lib/lib*{ending}")] } else { globs.collect() };
            vec!["form = \"slice\"".to_owned(), format!("files = [{}]{mark}", quoted(globs).join(", "))]
        }
        Shape::Cubin => {
            let units = if survey.units.is_empty() { vec!["kernels/main.cu".to_owned()] } else { survey.units.clone() };
            let mark =
                if survey.units.is_empty() { format!(" # {EDIT}: no .cu file was found") } else { String::new() };
            vec![
                format!("sources = [{}]{mark}", quoted(units).join(", ")),
                format!("table = \"{TABLE}\""),
                format!("flags = [\"-O3\", \"-std=c++17\"] # {EDIT}: those that your build gives nvcc"),
            ]
        }
    }
}

/// The kernel table, of compiled code where there is some.
pub(super) fn table(survey: &Survey) -> String {
    let mut text = "# The kernels that the core launches and the layout of their parameters, in order. The kernel ABI tag is a hash over\n\
        # this table. Drafted by `simpack init --here`: compiled code knows sizes only, so give names and types.\n\
        edition = 1\n"
        .to_owned();
    for (kernel, file) in &survey.compiled.kernels {
        text.push_str(&declared(kernel, file));
    }
    if survey.compiled.kernels.is_empty() {
        text.push_str(
            "\n# EDIT: no compiled kernels were found; `simpack init --here --compiled PATH` reads them from cubins or PTX.\n\
             [[kernel]]\nname = \"step\"\nparams = [{ name = \"v\", type = \"ptr\" }, { name = \"count\", type = \"u32\" }]\n",
        );
    }
    text
}

fn declared(kernel: &KernelSignature, file: &str) -> String {
    let params = kernel.params.iter().enumerate().map(|(index, param)| {
        let kind = match param.size {
            8 => "type = \"ptr\"".to_owned(),
            4 => "type = \"u32\"".to_owned(),
            2 => "type = \"u16\"".to_owned(),
            1 => "type = \"u8\"".to_owned(),
            size => format!("type = \"struct\", size = {size}, align = {}", alignment(param.offset, size)),
        };
        format!("  {{ name = \"p{index}\", {kind} }},\n")
    });
    let (file, name) = (comment(file), text_value(kernel.name.clone()));
    format!("\n[[kernel]] # {file}\nname = {name}\nparams = [\n{}]\n", params.collect::<String>())
}

/// The largest alignment that a structure at an offset can have.
fn alignment(offset: u32, size: u32) -> u32 {
    [8, 4, 2, 1].into_iter().find(|align| offset.is_multiple_of(*align) && size.is_multiple_of(*align)).unwrap_or(1)
}
