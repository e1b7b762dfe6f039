//! The verb: from paths and a machine to specs.

use std::path::{Path, PathBuf};

use super::answer::{FromWheels, Machine, SELECT_SCHEMA, Selected, Selection};
use super::files::{FileFormat, commands};
use super::pixi::{manifest, overrides};
use super::variants::VariantChoice;
use crate::arch::{Capability, CudaVersion};
use crate::data::Data;
use crate::doctor::Recorded;
use crate::error::{Error, Result};
use crate::fs;
use crate::machine::{Device, DeviceKind, Driver, Provider, VulkanDevice};
use crate::manifest::Manifests;
use crate::offers::{Source, sources};
use crate::probe::{Probe, Snapshot};
use crate::ui::Ui;

/// Exit code when a GPU is left without device code: the specs bring the CPU's part.
pub const UNSERVED: u8 = 1;
/// Where packages are when nobody says.
const DIST: &str = "dist";

/// What to select from, for which machine.
#[derive(Debug, Clone, Default)]
pub struct SelectRequest {
    /// `dist/` directories, channels, prefixes, packages; `dist` when there is none.
    pub paths: Vec<PathBuf>,
    /// Capabilities of the machine's GPUs, empty for none; without, this machine is asked.
    pub devices: Option<Vec<Capability>>,
    /// Versions of Vulkan of devices of the machine, which is then described as by capabilities.
    pub vulkan: Vec<(u8, u8)>,
    /// The driver's number: `580.159`.
    pub driver: Option<String>,
    /// The driver's CUDA version.
    pub cuda: Option<CudaVersion>,
    /// A machine that `simpack doctor --json` recorded, in the place of this one.
    pub replay: Option<PathBuf>,
    /// Host variants in the place of the default ones.
    pub variants: Vec<VariantChoice>,
    /// The fewest packages instead of the best for each device.
    pub smallest: bool,
    /// simpack itself, which opens the driver's libraries in a process of its own; without, this process does.
    pub program: Option<PathBuf>,
    /// Form of the answer.
    pub format: Format,
}

/// Form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Words, and an install command.
    #[default]
    Text,
    /// conda match specs, one a line.
    Conda,
    /// A command of pip.
    Pip,
    /// A command of uv.
    Uv,
    /// Commands that install files: archives, packages of Debian, an image.
    Files(FileFormat),
    /// A manifest of pixi.
    Pixi,
    /// A nix expression.
    Nix,
    /// As `--json`.
    Json,
}

/// Selects; answers the exit code: 0 or [`UNSERVED`].
///
/// # Errors
/// There is nothing to select from, the machine is not described well, or the format does not exist for it.
pub fn run(request: &SelectRequest, ui: &Ui) -> Result<u8> {
    let manifests = Manifests::load(&Data::here())?;
    let driver = named_driver(request, &manifests)?;
    let paths = match request.paths.as_slice() {
        [] if Path::new(DIST).is_dir() => vec![PathBuf::from(DIST)],
        [] => {
            return Err(Error::usage("there is no directory dist")
                .hint("run `simpack build` first, or name a dist/ directory, a channel, a prefix or packages"));
        }
        paths => paths.to_vec(),
    };
    let found: Vec<Source> = sources(&paths)?.into_iter().map(Source::with_needs).collect::<Result<_>>()?;
    let has_shaders = found.iter().any(|source| !source.distribution.shaders.is_empty());
    let machine = machine(request, driver, has_shaders, &manifests, ui)?;
    let wishes = (request.smallest, request.variants.as_slice());
    let is_of_conda = matches!(request.format, Format::Text | Format::Conda | Format::Pixi | Format::Json);
    if !request.variants.is_empty() && !is_of_conda {
        return Err(Error::usage("`--variant` is for conda: other formats have the default variants alone")
            .hint("select with --format conda"));
    }
    let simulators: Vec<Selected> =
        found.iter().map(|source| Selected::of(source, &machine, wishes, &manifests)).collect::<Result<_>>()?;
    let code = match simulators.iter().all(Selected::serves_all) {
        true => 0,
        false => UNSERVED,
    };
    let conda_overrides = overrides(&machine);
    let selection = Selection { schema: SELECT_SCHEMA, machine, conda_overrides, simulators };
    if ui.json(&selection)? {
        return Ok(code);
    }
    match request.format {
        Format::Text => ui.say(text(&selection)),
        Format::Json => {
            let text = serde_json::to_string_pretty(&selection)
                .map_err(|error| Error::bug("a selection does not print as JSON").because(error))?;
            ui.out(&text);
        }
        Format::Conda => ui.out(&lines(&selection, |selected| selected.conda.clone())),
        Format::Files(format) => ui.out(&commands(format, &paths, &selection)?),
        Format::Pixi => ui.out(&manifest(&selection)?),
        Format::Nix => ui.out(&lines(&selection, |selected| vec![selected.nix.clone()])),
        Format::Pip => ui.out(&install("pip", &selection)?),
        Format::Uv => ui.out(&install("uv pip", &selection)?),
    }
    Ok(code)
}

fn lines(selection: &Selection, of: impl Fn(&Selected) -> Vec<String>) -> String {
    selection.simulators.iter().flat_map(of).collect::<Vec<_>>().join("\n")
}

/// One command for all simulators: what follows `program` is what both installers understand.
fn install(program: &str, selection: &Selection) -> Result<String> {
    let mut words = vec![program.to_owned(), "install".to_owned()];
    let found = selection.simulators.iter().map(from_wheels).collect::<Result<Vec<_>>>()?;
    let mut pairs: Vec<&[String]> = Vec::new();
    let closed = found.iter().all(|wheels| wheels.options.iter().any(|option| option == CLOSED));
    words.extend(closed.then(|| CLOSED.to_owned()));
    for wheels in &found {
        let rest = wheels.options.strip_prefix(&[CLOSED.to_owned()]).unwrap_or(&wheels.options);
        if !pairs.contains(&rest) {
            pairs.push(rest);
        }
    }
    words.extend(pairs.into_iter().flatten().map(|word| quoted(word)));
    words.extend(found.iter().map(|wheels| quoted(&wheels.requirement)));
    Ok(words.join(" "))
}

/// The option by which installers look nowhere else.
const CLOSED: &str = "--no-index";

/// A word as shells take it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn from_wheels(selected: &Selected) -> Result<&FromWheels> {
    selected.wheels.as_ref().ok_or_else(|| {
        let Selected { fit, conda, channel, .. } = selected;
        let place = channel.as_ref().map_or_else(String::new, |channel| format!(" in {channel}"));
        Error::usage(format!("there are no wheels of {} {}", fit.simulator, fit.version))
            .detail(format!("there are packages of conda{place}: {}", conda.join(", ")))
            .hint("`simpack build --format conda,wheel` makes them; or install with conda: --format conda")
    })
}

/// The driver that a request names.
fn named_driver(request: &SelectRequest, manifests: &Manifests) -> Result<Option<Driver>> {
    match (&request.driver, request.cuda) {
        (Some(number), _) => {
            let cuda = manifests.cuda.cuda_of_driver(number).ok_or_else(|| {
                Error::usage(format!("`{number}` is no driver that runs CUDA 11 or newer"))
                    .hint("write the driver's number as `nvidia-smi` shows it, such as 580.159.04")
                    .hint("or say the CUDA version that it supports: --cuda 13.0")
            })?;
            Ok(Some(Driver { cuda, version: Some(number.clone()) }))
        }
        (None, cuda) => Ok(cuda.map(|cuda| Driver { version: None, cuda })),
    }
}

/// The machine of a request.
fn machine(
    request: &SelectRequest,
    driver: Option<Driver>,
    has_shaders: bool,
    manifests: &Manifests,
    ui: &Ui,
) -> Result<Machine> {
    if let Some(file) = &request.replay {
        let recorded = Recorded::parse(file, &fs::read_to_string(file)?)?.machine;
        let driver = driver.or(recorded.usable_driver());
        return Ok(Machine { driver, devices: recorded.devices(), vulkan: recorded.vulkan.devices, described: true });
    }
    if request.devices.is_none() && request.vulkan.is_empty() {
        let here = this_machine(request, has_shaders, manifests, ui);
        let driver = driver.or(here.usable_driver());
        return Ok(Machine { driver, devices: here.devices(), vulkan: here.vulkan.devices, described: false });
    }
    let capabilities = request.devices.as_deref().unwrap_or_default();
    let vulkan = request.vulkan.iter().map(|version| VulkanDevice::described(*version)).collect();
    let devices: Vec<Device> =
        capabilities.iter().zip(0..).map(|(capability, index)| described(*capability, index)).collect();
    // Who names a GPU and no driver has one that is new enough for what is current.
    let newest = || manifests.cuda.toolkits().last().map(|&cuda| Driver { version: None, cuda });
    let driver = driver.or_else(|| newest().filter(|_| !devices.is_empty()));
    Ok(Machine { devices, vulkan, driver, described: true })
}

/// The GPUs and the driver of the machine that this runs on. What cannot say anything is not there for programs
/// either: `simpack doctor` says why.
fn this_machine(request: &SelectRequest, has_shaders: bool, manifests: &Manifests, ui: &Ui) -> crate::machine::Machine {
    let probe = Probe::here(manifests, Snapshot::here(&manifests.environment)).asking_by(request.program.clone());
    let told = |part: &str, reason: String| ui.note(format!("{part}: {reason}; `simpack doctor` says more"));
    let driver_files = probe.driver_files().unwrap_or_else(|reason| {
        told("driver", reason);
        Default::default()
    });
    let nvml = probe.nvml(&driver_files).unwrap_or_else(|reason| {
        told("NVML", reason);
        None
    });
    let cuda = probe.cuda(&driver_files, nvml.as_ref()).unwrap_or_else(|reason| {
        told("CUDA driver", reason);
        None
    });
    let amd = probe.amd().unwrap_or_default();
    let vulkan = has_shaders.then(|| probe.vulkan()).transpose().unwrap_or_else(|reason| {
        told("Vulkan", reason);
        None
    });
    let vulkan = vulkan.unwrap_or_default();
    crate::machine::Machine { driver_files, nvml, cuda, amd, vulkan, ..Default::default() }
}

fn described(capability: Capability, index: u32) -> Device {
    Device {
        index,
        name: "described".to_owned(),
        kind: DeviceKind::Cuda { capability: capability.plain() },
        memory: None,
    }
}

/// For people: the verdicts, then what to type.
fn text(selection: &Selection) -> String {
    let mut text = match &selection.machine.driver {
        Some(Driver { version: Some(version), cuda }) => format!("driver    {version} (CUDA {cuda})\n"),
        Some(Driver { version: None, cuda }) => format!("driver    CUDA {cuda}\n"),
        None => "driver    none\n".to_owned(),
    };
    for selected in &selection.simulators {
        text.push_str(&selected.fit.page());
        let fit = &selected.fit;
        text.extend(selected.shaders.iter().map(|shaders| shaders.page(fit)));
        if fit.devices.is_empty() && selected.shaders.is_empty() {
            let left = if fit.needs_gpu { "nothing: its programs are for GPUs alone" } else { "the CPU" };
            text.push_str(&format!("no GPU    {} {}  -> {left}\n", fit.simulator, fit.version));
        }
        if let (None, Some(_)) = (&selected.channel, &selected.wheels) {
            continue;
        }
        let channel = selected.channel.as_deref().unwrap_or("CHANNEL");
        let specs: Vec<String> = selected.conda.iter().map(|spec| format!("'{spec}'")).collect();
        // One spec a line, as a shell takes it.
        let specs = specs.join(" \\\n            ");
        text.push_str(&format!("install   conda install --channel {channel} \\\n            {specs}\n"));
    }
    let of_conda = selection.simulators.iter().any(|selected| selected.channel.is_some());
    if selection.machine.described && of_conda {
        let variables = selection.conda_overrides.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        text.push_str(&format!("elsewhere export {}\n", variables.collect::<Vec<_>>().join(" ")));
        text.push_str("          before that command, on a machine without this GPU, such as a login node\n");
    }
    // Where there are wheels alone, they are what is installed.
    let are_wheels = |selected: &Selected| selected.channel.is_none() && selected.wheels.is_some();
    if selection.simulators.iter().all(are_wheels)
        && let Ok(command) = install("pip", selection)
    {
        text.push_str(&format!("install   {command}\n"));
    }
    text
}
