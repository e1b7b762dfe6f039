//! Every copy of the driver's libraries, the kernel module, GPUs on the bus, device files.

use crate::elf::resolve::{Environment, Loader, Outcome};
use crate::fs::Root;
use crate::machine::{DeviceNode, DriverFiles, DriverLibrary, DriverRole};
use crate::manifest::Manifests;

use super::search::{directory_of, library, name_of, search};

/// The CUDA driver's library.
const CUDA: &str = "libcuda.so.1";
/// NVML.
const NVML: &str = "libnvidia-ml.so.1";
/// The vendor's number on the PCI bus.
const NVIDIA: &str = "0x10de";

/// Looks at the files; `toolkits` are directories of CUDA toolkits.
pub(super) fn driver_files(
    root: &Root,
    loader: &Loader,
    environment: &Environment,
    manifests: &Manifests,
    toolkits: &[String],
) -> DriverFiles {
    let mut libraries = reached(root, loader, environment, manifests, CUDA);
    for directory in unreached(manifests, toolkits) {
        // A stub is there under the linker's name only.
        for name in [CUDA, "libcuda.so"] {
            let path = format!("{directory}/{name}");
            if let Some(found) = described(root, manifests, loader.machine, &path)
                && !libraries.iter().any(|known| known.real == found.real)
            {
                libraries.push(found);
            }
        }
    }
    let nvml = reached(root, loader, environment, manifests, NVML).into_iter().next();
    let beside = || {
        let mut profiles = manifests.drivers.iter().flat_map(|profile| &profile.directories);
        profiles.find_map(|it| described(root, manifests, loader.machine, &format!("{}/{NVML}", it.path)))
    };
    DriverFiles {
        nvml: nvml.or_else(beside),
        libraries,
        kernel_module: kernel_module(root),
        pci_devices: pci_devices(root, NVIDIA),
        nodes: nodes(root),
    }
}

/// Copies in the order of the loader.
fn reached(
    root: &Root,
    loader: &Loader,
    environment: &Environment,
    manifests: &Manifests,
    name: &str,
) -> Vec<DriverLibrary> {
    let mut found: Vec<DriverLibrary> = Vec::new();
    for candidate in search(root, loader, environment, name) {
        let Some(mut library) = described(root, manifests, loader.machine, &candidate.path) else { continue };
        library.by = Some(candidate.rule.to_string());
        library.wins = candidate.outcome == Outcome::Wins;
        if !found.iter().any(|known| known.path == library.path) {
            found.push(library);
        }
    }
    found
}

/// Directories in which programs or packages look although the loader does not.
fn unreached(manifests: &Manifests, toolkits: &[String]) -> Vec<String> {
    let profiles = manifests.drivers.iter().flat_map(|profile| &profile.directories).map(|it| it.path.clone());
    let of_toolkits = toolkits.iter().flat_map(|root| {
        ["compat", "lib64/stubs", "lib/stubs", "targets/x86_64-linux/lib/stubs", "targets/sbsa-linux/lib/stubs"]
            .map(|below| format!("{root}/{below}"))
    });
    let mut all: Vec<String> = profiles.chain(of_toolkits).collect();
    all.dedup();
    all
}

/// A copy, told by its own file.
fn described(root: &Root, manifests: &Manifests, machine: u16, path: &str) -> Option<DriverLibrary> {
    let file = root.open(path).ok()?;
    let size = file.bytes().len() as u64;
    drop(file);
    let real = root.real(path).unwrap_or_else(|| path.to_owned());
    let version = version_of(name_of(&real));
    let is = |test: &dyn Fn(&str) -> bool| test(directory_of(path)) || test(directory_of(&real));
    let small = size < manifests.environment.stub_smaller_than;
    let role = if is(&|directory| manifests.drivers.is_stubs(directory)) {
        DriverRole::Stub
    } else if is(&|directory| manifests.drivers.is_compat(directory)) {
        DriverRole::Compat
    } else if small && version.is_none() && !library(root, path, machine)?.calls_dlopen {
        // The driver of WSL is small and bears no version, too, but it opens the real one.
        DriverRole::Stub
    } else {
        DriverRole::Real
    };
    let profile = manifests
        .drivers
        .iter()
        .find(|profile| profile.directories.iter().any(|it| !it.loader_default && it.path == directory_of(path)));
    let profile = profile.map(|profile| profile.name().to_owned());
    Some(DriverLibrary { path: path.to_owned(), real, role, version, by: None, wins: false, profile, size })
}

/// `580.159.04` of `libcuda.so.580.159.04`.
fn version_of(name: &str) -> Option<String> {
    let rest = name.split_once(".so.")?.1;
    (rest.contains('.') && rest.split('.').all(|part| part.parse::<u32>().is_ok())).then(|| rest.to_owned())
}

/// Version of the loaded module: `NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue ...`.
fn kernel_module(root: &Root) -> Option<String> {
    let text = root.text("/proc/driver/nvidia/version", 4096);
    let said = text.as_deref().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("NVRM"))?;
        line.split_whitespace().find(|word| is_version(word)).map(str::to_owned)
    });
    said.or_else(|| {
        Some(root.text("/sys/module/nvidia/version", 64)?.trim().to_owned()).filter(|text| is_version(text))
    })
}

fn is_version(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok())
}

/// Display and compute devices of a vendor on the bus.
pub(super) fn pci_devices(root: &Root, vendor: &str) -> u32 {
    let base = "/sys/bus/pci/devices";
    let is = |name: &&String| {
        let read = |file: &str| root.text(&format!("{base}/{name}/{file}"), 64).unwrap_or_default();
        if read("vendor").trim() != vendor {
            return false;
        }
        // 0x0300: VGA, 0x0302: 3D controller, 0x0380: other display (PCI code and ID assignment, class 03);
        // 0x1200: processing accelerators.
        let class = read("class");
        ["0x0300", "0x0302", "0x0380", "0x1200"].iter().any(|it| class.starts_with(it))
    };
    u32::try_from(root.names(base).iter().filter(is).count()).unwrap_or(u32::MAX)
}

fn nodes(root: &Root) -> Vec<DeviceNode> {
    let wanted = |name: &str| {
        let number = name.strip_prefix("nvidia").is_some_and(|rest| rest.parse::<u32>().is_ok());
        number || ["nvidiactl", "nvidia-uvm", "dxg"].contains(&name)
    };
    let names = root.names("/dev").into_iter().filter(|name| wanted(name));
    let nodes = names.map(|name| format!("/dev/{name}"));
    nodes.map(|path| DeviceNode { usable: root.may_use(&path), path }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;

    #[test]
    fn names_bear_versions() {
        assert_eq!(version_of("libcuda.so.580.159.04").as_deref(), Some("580.159.04"));
        assert_eq!(version_of("libcuda.so.1"), None);
        assert_eq!(version_of("libcuda.so"), None);
    }

    #[test]
    fn stubs_and_compat_are_told_by_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let library = crate::elf::resolve::library_named(CUDA, 62);
        let put = |path: &str, bytes: &[u8]| {
            let path = dir.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, bytes).unwrap();
        };
        put("usr/lib/libcuda.so.1", &library);
        put("usr/local/cuda-13.0/compat/libcuda.so.580.95.05", &library);
        put("usr/local/cuda-13.0/lib64/stubs/libcuda.so", &library);
        put("run/opengl-driver/lib/libcuda.so.580.1.2", &library);
        put(
            "proc/driver/nvidia/version",
            b"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.1.2  Release\n",
        );
        put("sys/bus/pci/devices/0000:01:00.0/vendor", b"0x10de\n");
        put("sys/bus/pci/devices/0000:01:00.0/class", b"0x030200\n");
        put("sys/bus/pci/devices/0000:01:00.1/vendor", b"0x10de\n");
        put("sys/bus/pci/devices/0000:01:00.1/class", b"0x040300\n");
        let link = |to: &str, at: &str| fs_err::os::unix::fs::symlink(to, dir.path().join(at)).unwrap();
        link("libcuda.so.580.95.05", "usr/local/cuda-13.0/compat/libcuda.so.1");
        link("libcuda.so.580.1.2", "run/opengl-driver/lib/libcuda.so.1");
        let root = Root::at(dir.path()).unwrap();
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let loader = Loader::glibc(62, &["/usr/lib"]);
        let toolkits = ["/usr/local/cuda-13.0".to_owned()];
        let found = driver_files(&root, &loader, &Environment::default(), &manifests, &toolkits);
        let roles: Vec<(&str, DriverRole, bool)> =
            found.libraries.iter().map(|it| (it.path.as_str(), it.role, it.wins)).collect();
        assert_eq!(
            roles,
            [
                ("/usr/lib/libcuda.so.1", DriverRole::Stub, true),
                ("/run/opengl-driver/lib/libcuda.so.1", DriverRole::Real, false),
                ("/usr/local/cuda-13.0/compat/libcuda.so.1", DriverRole::Compat, false),
                ("/usr/local/cuda-13.0/lib64/stubs/libcuda.so", DriverRole::Stub, false),
            ]
        );
        assert_eq!(found.libraries[1].profile.as_deref(), Some("nixos"));
        assert_eq!(found.libraries[2].version.as_deref(), Some("580.95.05"));
        assert_eq!((found.kernel_module.as_deref(), found.pci_devices), (Some("580.1.2"), 1));
    }
}
