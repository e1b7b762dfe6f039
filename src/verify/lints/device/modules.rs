//! Modules of shaders in packages: files of their own, and those that core's build put into core.

use crate::arch::KernelTarget;
use crate::bundle::{EmbeddedModule, EmbeddedShaders};
use crate::gpu::SpirvModule;
use crate::lint::{Hits, Parameters};
use crate::report::Subject;
use crate::verify::{BundleFacts, FileFacts, PackageFacts};

/// A module in a package.
#[derive(Clone)]
pub(super) struct Shader<'a> {
    pub package: &'a PackageFacts,
    /// What findings call it.
    pub subject: Subject,
    /// The environment that it is for, where the package says it.
    pub target: Option<KernelTarget>,
    /// Its variant; empty where its place says none.
    pub variant: &'a str,
    pub module: &'a SpirvModule,
    /// The kernel for which its file is named.
    stem: &'a str,
}

impl<'a> Shader<'a> {
    /// The kernel that an entry point is: shaders in GLSL have one, which is always called `main`.
    pub fn kernel<'b>(&'b self, entry: &'b str) -> &'b str {
        if entry == "main" { self.stem } else { entry }
    }

    fn of_file(package: &'a PackageFacts, file: &'a FileFacts, module: &'a SpirvModule) -> Self {
        Self {
            package,
            subject: package.subject(&file.path),
            target: package.manifest.target,
            // The directory of a target lies in that of its variant.
            variant: file.directory().rsplit('/').nth(1).unwrap_or_default(),
            module,
            stem: file.name().split('.').next().unwrap_or_default(),
        }
    }
}

/// Every module of every package.
pub(super) fn shaders(facts: &BundleFacts) -> impl Iterator<Item = Shader<'_>> {
    facts.packages.iter().flat_map(|package| {
        let of_files = package.files().iter().flat_map(move |file| {
            let modules = file.device.images.iter().filter_map(|image| image.spirv.as_ref());
            modules.map(move |module| Shader::of_file(package, file, module))
        });
        let embedded = expected(package).filter_map(move |(shaders, module)| {
            let (file, found) = held(package, module)?;
            Some(Shader {
                package,
                subject: package.subject(&format!("{}({})", file.path, shaders.name(module))),
                target: Some(shaders.target),
                variant: &module.variant,
                module: found,
                stem: &module.kernel,
            })
        });
        of_files.chain(embedded)
    })
}

/// The modules that a package's build was given to embed.
fn expected(package: &PackageFacts) -> impl Iterator<Item = (&EmbeddedShaders, &EmbeddedModule)> {
    let embedded = package.manifest.embedded.iter();
    embedded.flat_map(|shaders| shaders.modules.iter().map(move |module| (shaders, module)))
}

/// The file that holds a module.
fn held<'a>(package: &'a PackageFacts, module: &EmbeddedModule) -> Option<(&'a FileFacts, &'a SpirvModule)> {
    package.files().iter().find_map(|file| Some((file, file.embedded.get(&module.sha256)?)))
}

/// Modules that the build of core was given and that are in none of its files: it embeds others, or packs them.
pub(super) fn shader_not_embedded(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        let all = expected(package).count();
        let missing: Vec<String> = expected(package)
            .filter(|(_, module)| held(package, module).is_none())
            .map(|(shaders, module)| shaders.name(module))
            .collect();
        if let Some(first) = missing.first() {
            let message = format!("{} of {all} shaders are in none of its files as they were compiled", missing.len());
            hits.add(package.label(), message).evidence(format!("the first is {first}"));
        }
    }
}
