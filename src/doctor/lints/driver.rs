//! The CUDA driver: which copy wins, and whether it fits the kernel and the GPU.

use std::cmp::Ordering;

use crate::doctor::Facts;
use crate::lint::{Hits, Parameters};
use crate::machine::{DriverAnswer, DriverLibrary, DriverRole, HostEnvironment, NoResponse, compare_versions};

/// `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE` (cuda.h).
const REFUSED: i64 = 804;
/// `CUDA_ERROR_NO_DEVICE` (cuda.h).
const NO_DEVICE: i64 = 100;

fn found_by(library: &DriverLibrary) -> String {
    match &library.by {
        Some(by) => format!("found by {by}"),
        None => "the loader does not look there".to_owned(),
    }
}

fn on_the_bus(count: u32) -> String {
    format!("{count} NVIDIA GPU{} on the PCI bus", if count == 1 { "" } else { "s" })
}

pub(super) fn absent(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let files = &facts.machine.driver_files;
    if files.winner().is_some() || !files.has_hardware() {
        return;
    }
    let mut seen = Vec::new();
    if files.pci_devices > 0 {
        seen.push(on_the_bus(files.pci_devices));
    }
    seen.extend(files.kernel_module.as_ref().map(|version| format!("kernel module {version} is loaded")));
    seen.extend(files.nodes.first().map(|node| format!("{} is there", node.path)));
    let hit = hits.add("driver", "there is an NVIDIA GPU, but no libcuda.so.1").evidence_lines(seen);
    if facts.is(HostEnvironment::Apptainer) {
        hit.fix("start the container with --nv");
    } else if facts.is(HostEnvironment::Wsl) {
        hit.fix("install the driver on Windows, then `wsl --shutdown`; install no Linux driver inside WSL");
    } else if facts.in_container() {
        hit.fix(
            "start the container with its GPUs: `docker run --gpus all` or `podman run --device nvidia.com/gpu=all`; \
             NVIDIA_DRIVER_CAPABILITIES must hold compute",
        );
    } else if facts.is(HostEnvironment::Nixos) {
        hit.fix("set hardware.graphics.enable and services.xserver.videoDrivers = [ \"nvidia\" ], then rebuild");
    }
}

pub(super) fn stub_wins(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let files = &facts.machine.driver_files;
    let Some(winner) = files.winner().filter(|winner| winner.role == DriverRole::Stub) else { return };
    let real = files.libraries.iter().find(|library| library.role == DriverRole::Real);
    let hit = hits.add("driver", format!("programs get {}, a stub for linking: no call of it works", winner.path));
    let hit = hit.evidence(found_by(winner));
    let hit = match real {
        Some(real) => hit.evidence(format!("the driver is {}", real.path)),
        None => hit,
    };
    let variable = winner.by.as_deref().and_then(|by| by.strip_prefix("LD_LIBRARY_PATH "));
    match variable {
        Some(entry) => hit.fix(format!("remove {entry} from LD_LIBRARY_PATH")),
        None => hit,
    };
}

pub(super) fn compat_older(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let files = &facts.machine.driver_files;
    let Some(winner) = files.winner().filter(|winner| winner.role == DriverRole::Compat) else { return };
    let (Some(version), Some(module)) = (&winner.version, &files.kernel_module) else { return };
    if compare_versions(version, module) == Ordering::Less {
        let hit = hits.add(
            "driver",
            format!("programs get the compatibility driver {version}, which is older than the kernel module {module}"),
        );
        let hit = hit.evidence(format!("{}, {}", winner.path, found_by(winner)));
        if let Some(entry) = winner.by.as_deref().and_then(|by| by.strip_prefix("LD_LIBRARY_PATH ")) {
            hit.fix(format!("remove {entry} from LD_LIBRARY_PATH: the installed driver is newer"));
        }
    }
}

pub(super) fn compat_device(facts: &Facts, parameters: &Parameters, hits: &mut Hits) {
    let Some(winner) = facts.machine.driver_files.winner().filter(|it| it.role == DriverRole::Compat) else { return };
    let names = parameters.texts("names");
    let refused = facts.machine.cuda.as_ref().and_then(|cuda| cuda.failure.as_ref()?.code) == Some(REFUSED);
    for device in facts.machine.devices() {
        if refused || names.iter().any(|name| device.name.contains(name)) {
            let subject = format!("GPU {}", device.index);
            hits.add(subject, format!("{} refuses the compatibility driver (error 804)", device.name))
                .evidence(format!("programs get {}, {}", winner.path, found_by(winner)));
        }
    }
}

pub(super) fn mismatch(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some((library, module)) = mismatched(facts) else { return };
    let hit = hits.add("driver", format!("libcuda.so.1 is {library}, but the kernel module is {module}"));
    let winner = facts.machine.driver_files.winner();
    let hit = hit.evidence_lines(winner.map(|winner| format!("{}, {}", winner.real, found_by(winner))));
    if facts.in_container() {
        hit.fix(
            "the host's driver was updated, or the image brings a driver of its own: start the container again, and \
             remove driver packages from the image",
        );
    }
}

/// Versions of library and kernel module that differ.
fn mismatched(facts: &Facts) -> Option<(String, String)> {
    let files = &facts.machine.driver_files;
    let winner = files.winner().filter(|winner| winner.role == DriverRole::Real)?;
    let (version, module) = (winner.version.clone()?, files.kernel_module.clone()?);
    (compare_versions(&version, &module) != Ordering::Equal).then_some((version, module))
}

pub(super) fn copies(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let libraries = &facts.machine.driver_files.libraries;
    let reached: Vec<&DriverLibrary> =
        libraries.iter().filter(|it| it.by.is_some() && it.role == DriverRole::Real).collect();
    let Some(first) = reached.first() else { return };
    let differs = |other: &&&DriverLibrary| other.version != first.version || other.size != first.size;
    let others: Vec<&&DriverLibrary> = reached[1..].iter().filter(differs).collect();
    if others.is_empty() {
        return;
    }
    let told = |it: &DriverLibrary| {
        format!("{} ({}), {}", it.path, it.version.as_deref().unwrap_or("no version"), found_by(it))
    };
    hits.add("driver", "the loader reaches different drivers: which one a program gets depends on its search path")
        .evidence(told(first))
        .evidence_lines(others.into_iter().map(|it| told(it)));
}

pub(super) fn unreached(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(winner) = facts.machine.driver_files.winner().filter(|winner| !winner.wins) else { return };
    let profile = winner.profile.as_deref().unwrap_or("another");
    let directory = winner.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    hits.add("driver", format!("{} lies where the loader does not look", winner.path))
        .evidence(format!("driver profile {profile}: packages of simpack look there by themselves"))
        .fix(format!("for programs that others made: LD_LIBRARY_PATH={directory}"));
}

pub(super) fn module_absent(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let files = &facts.machine.driver_files;
    let installed = files.winner().is_some_and(|winner| winner.role == DriverRole::Real);
    let elsewhere = facts.in_container() || facts.is(HostEnvironment::Wsl);
    if installed && files.pci_devices > 0 && files.kernel_module.is_none() && files.nodes.is_empty() && !elsewhere {
        hits.add("driver", "the driver's libraries are installed, but its kernel module is not loaded")
            .evidence(format!("{}, no /proc/driver/nvidia", on_the_bus(files.pci_devices)));
    }
}

pub(super) fn nodes(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let files = &facts.machine.driver_files;
    if files.winner().is_none_or(|winner| winner.role == DriverRole::Stub) {
        return;
    }
    let closed: Vec<&str> = files.nodes.iter().filter(|node| !node.usable).map(|node| node.path.as_str()).collect();
    if !closed.is_empty() {
        hits.add("driver", "this user may not open the GPU's device files").evidence_lines(closed);
    } else if files.kernel_module.is_some() && files.nodes.is_empty() {
        hits.add("driver", "the kernel module is loaded, but there are no device files here").fix(
            if facts.in_container() {
                "start the container with its GPUs: `docker run --gpus all`, `apptainer exec --nv`"
            } else {
                "run `nvidia-modprobe -u -c 0` as root, or `nvidia-smi` once; in a batch job, ask for a GPU"
            },
        );
    }
}

/// Whether another check names the cause of what the driver says: one cause is told once.
fn is_explained(facts: &Facts) -> bool {
    let none = Parameters::default();
    let mut hits = Hits::default();
    for check in
        [stub_wins, compat_older, mismatch, module_absent, nodes, super::devices::split_empty, super::devices::hidden]
    {
        check(facts, &none, &mut hits);
    }
    // Error 804 speaks of the compatibility driver itself.
    let compat = facts.machine.driver_files.winner().is_some_and(|winner| winner.role == DriverRole::Compat);
    let refused = facts.machine.cuda.as_ref().and_then(|cuda| cuda.failure.as_ref()?.code) == Some(REFUSED);
    !hits.is_empty() || compat && refused
}

fn silence(answer: Option<&DriverAnswer>) -> Option<&NoResponse> {
    answer?.failure.as_ref()?.silence.as_ref()
}

/// Libraries that gave no answer, and how.
fn silences(facts: &Facts) -> impl Iterator<Item = (&'static str, String, &NoResponse)> {
    let machine = &facts.machine;
    let files = &machine.driver_files;
    let nvml = files.nvml.as_ref().map(|library| library.path.clone());
    let cuda = files.winner().map(|library| library.path.clone());
    [("NVML", nvml, silence(machine.nvml.as_ref())), ("the CUDA driver", cuda, silence(machine.cuda.as_ref()))]
        .into_iter()
        .filter_map(|(name, path, silence)| Some((name, path.unwrap_or_default(), silence?)))
}

pub(super) fn hangs(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for (name, path, silence) in silences(facts) {
        if matches!(silence, NoResponse::Hung { .. }) {
            hits.add("driver", format!("{name} {silence}")).evidence(path);
        }
    }
}

pub(super) fn crashes(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for (name, path, silence) in silences(facts) {
        if matches!(silence, NoResponse::Crashed { .. }) {
            hits.add("driver", format!("{name} {silence}")).evidence(path);
        }
    }
}

pub(super) fn failed(facts: &Facts, parameters: &Parameters, hits: &mut Hits) {
    let Some(failure) = facts.machine.cuda.as_ref().and_then(|cuda| cuda.failure.as_ref()) else { return };
    // Without a GPU the driver's libraries may well be there: a login node, an image.
    let expected = failure.code == Some(NO_DEVICE) && !facts.machine.driver_files.has_hardware();
    if expected || failure.silence.is_some() || is_explained(facts) {
        return;
    }
    let code = failure.code.map_or("no code".to_owned(), |code| format!("error {code}"));
    let hit = hits.add("driver", format!("the CUDA driver does not start: {code}, {}", failure.text));
    let known = parameters.texts("codes").into_iter().find_map(|line| {
        let (number, fix) = line.split_once(": ")?;
        (failure.code == number.parse().ok()).then(|| fix.to_owned())
    });
    if let Some(fix) = known {
        hit.fix(fix);
    }
}

pub(super) fn nvml_absent(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let files = &facts.machine.driver_files;
    let real = files.winner().is_some_and(|winner| winner.role == DriverRole::Real);
    if real && files.nvml.is_none() && files.has_hardware() {
        let hit = hits.add("driver", "libnvidia-ml.so.1 is not there: tools that list GPUs will fail");
        if facts.in_container() {
            hit.fix("start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility");
        }
    }
}

pub(super) fn nvml_failed(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(failure) = facts.machine.nvml.as_ref().and_then(|nvml| nvml.failure.as_ref()) else { return };
    if failure.silence.is_some() || is_explained(facts) || !facts.machine.driver_files.has_hardware() {
        return;
    }
    let code = failure.code.map(|code| format!("error {code}, ")).unwrap_or_default();
    let by_driver = facts.machine.cuda.as_ref().is_some_and(|cuda| !cuda.devices.is_empty());
    let hit = hits.add("driver", format!("NVML does not answer: {code}{}", failure.text));
    if by_driver {
        hit.evidence("the CUDA driver itself lists its GPUs");
    }
}
