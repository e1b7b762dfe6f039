//! Settings of the host compiler, the driver and the fallback.

use super::resolver::Resolver;
use crate::arch::GlibcVersion;
use crate::elf::edit::PathTag;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::model::{DriverPolicy, Fallback, HostKind, HostToolchain, KernelGroup, OLDEST_GLIBC_OF_SYSTEM};

impl Resolver<'_> {
    /// What serves unknown GPUs. Of libraries that ship cut an environment holds one.
    pub(super) fn fallback(&mut self, groups: &[KernelGroup]) -> Fallback {
        let Some(fallback) = &self.file.package.fallback else { return Fallback::default() };
        let is_of_shaders = !groups.is_empty() && groups.iter().all(|group| !group.form.is_cuda());
        if !groups.is_empty() && groups.iter().all(|group| group.embed) {
            let mistake = self.mistake(fallback, "nothing is brought beside core, which holds the shaders");
            self.mistakes.push(mistake.hint("leave the key out, or let the shaders ship: `embed = false`"));
            return Fallback::default();
        }
        if fallback.value == Fallback::Ptx && is_of_shaders {
            let mistake = self.mistake(fallback, "there is no PTX of shaders");
            let hint = "leave the key out for those of the lowest environment, or write \"all\" or \"cpu\"";
            self.mistakes.push(mistake.hint(hint));
        }
        if fallback.value == Fallback::Cpu && groups.iter().any(|group| group.gpu_only) {
            let mistake = self.mistake(fallback, "there is no package for the CPU: a kernel group says `cpu = false`");
            self.mistakes.push(mistake.hint("write \"ptx\", or leave the key out"));
        }
        if fallback.value == Fallback::All && groups.iter().any(|group| group.form.is_exclusive()) {
            let mistake = self.mistake(fallback, "libraries that ship cut exclude each other: nothing can bring all");
            self.mistakes.push(mistake.hint("write \"ptx\" or \"cpu\", or leave the key out"));
        }
        fallback.value
    }

    pub(super) fn host(&mut self) -> Option<HostToolchain> {
        let written = self.host_as_written()?;
        Some(match self.selection.host {
            Some(kind) if kind != written.kind() => kind.plain(),
            _ => written,
        })
    }

    fn host_as_written(&mut self) -> Option<HostToolchain> {
        let Some(host) = &self.file.toolchain.host else { return Some(HostKind::Zig.plain()) };
        let kind = match (&host.kind, &host.cxx) {
            (Some(kind), _) => kind.value,
            (None, Some(_)) => HostKind::System,
            (None, None) => HostKind::Zig,
        };
        match (kind, &host.cxx, &host.glibc) {
            (HostKind::Zig, Some(cxx), _) => {
                let mistake = self.mistake(cxx, "`cxx` asks for the machine's compiler, but the host compiler is zig");
                self.mistakes.push(mistake.hint("remove `cxx`, or use = \"system\""));
                None
            }
            (HostKind::System, cxx, None) => {
                Some(HostToolchain::System { min_cxx: cxx.as_ref().map(|cxx| cxx.value), glibc: None })
            }
            (HostKind::System, cxx, Some(glibc)) => {
                if glibc.value < OLDEST_GLIBC_OF_SYSTEM && self.manifests.glibc.get(glibc.value).is_some() {
                    let message = format!(
                        "the machine's g++ can be held to glibc {OLDEST_GLIBC_OF_SYSTEM} or newer, not to {}",
                        glibc.value
                    );
                    let mistake = self.mistake(glibc, message);
                    let hint = "use = \"zig\" reaches further back, with a C++ library of its own and without nvcc";
                    self.mistakes.push(mistake.hint(hint));
                    return None;
                }
                let min_cxx = cxx.as_ref().map(|cxx| cxx.value);
                self.level(glibc).map(|glibc| HostToolchain::System { min_cxx, glibc: Some(glibc) })
            }
            (HostKind::Zig, None, None) => Some(HostKind::Zig.plain()),
            (HostKind::Zig, None, Some(glibc)) => self.level(glibc).map(|glibc| HostToolchain::Zig { glibc }),
        }
    }

    /// A glibc that is a level of manylinux.
    fn level(&mut self, glibc: &Spanned<GlibcVersion>) -> Option<GlibcVersion> {
        let levels = &self.manifests.glibc;
        if levels.get(glibc.value).is_none() {
            let mistake = self
                .mistake(glibc, format!("no manylinux level has glibc {}", glibc.value))
                .known("known", levels.iter().map(|level| level.glibc()))
                .near(&glibc.value.to_string(), levels.iter().map(|level| level.glibc()));
            self.mistakes.push(mistake);
            return None;
        }
        Some(glibc.value)
    }

    pub(super) fn driver(&mut self) -> Option<DriverPolicy> {
        let tag = self.file.driver.tag.as_ref().map_or(PathTag::Runpath, |tag| tag.value);
        let Some(profiles) = &self.file.driver.profiles else {
            return Some(DriverPolicy { profiles: vec!["conventional".to_owned()], directories: Vec::new(), tag });
        };
        let drivers = &self.manifests.drivers;
        for profile in profiles {
            if drivers.get(&profile.value).is_none() {
                let names = || drivers.iter().map(|profile| profile.name().to_owned());
                let mistake = self
                    .mistake(profile, format!("unknown driver profile `{}`", profile.value))
                    .known("known", names())
                    .near(&profile.value, names());
                self.mistakes.push(mistake);
            } else if profile.value == "none" && profiles.len() > 1 {
                self.wrong(profile, "driver profile `none` stands beside others");
            }
        }
        let names: Vec<String> = profiles.iter().map(|profile| profile.value.clone()).collect();
        Some(DriverPolicy { directories: drivers.runpath(names.iter().map(String::as_str)), profiles: names, tag })
    }
}
