//! A package of Spack, in the style of its builtin ones: `CudaPackage`, whose `cuda_arch` says which device code is compiled.
//!
//! Core is built by Spack's own support of CMake where it can be, all else by the scripts beside the package.

use serde::Serialize;

use crate::arch::KernelTarget;
use crate::error::Result;
use crate::generate::{Build, FileSet, Model, Templates};
use crate::recipe::ComponentKind;

#[derive(Serialize)]
struct Values<'a> {
    model: &'a Model,
    /// Name of the class.
    class: String,
    /// The build that Spack's own support does.
    main: Option<&'a Build>,
    /// Components that `host.sh` builds.
    others: Vec<ComponentKind>,
    /// Tools of these builds, in Spack's words.
    tools: Vec<&'static str>,
    /// Address and digest of the source, where it is an archive.
    archive: Option<(&'a str, &'a str)>,
    /// PTX that the recipe ships, by CUDA release.
    ptx: Vec<(String, Vec<String>)>,
    /// A component opens libraries of the vendor when it runs.
    opens: bool,
}

/// All files.
pub(in crate::generate) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    let (main, others) = model.hooked();
    let drivers = model.builds.iter().skip(usize::from(main.is_some())).map(|build| build.driver);
    let mut tools: Vec<&str> = drivers.flat_map(|driver| driver.system().tools()).copied().collect();
    for tool in &mut tools {
        *tool = if *tool == "make" { "gmake" } else { tool };
    }
    tools.retain(|tool| *tool != "c++");
    tools.sort_unstable();
    tools.dedup();
    let values = Values {
        model,
        class: class(&model.name),
        main,
        tools,
        archive: model.archive(),
        ptx: model.releases.iter().map(|release| (release.cuda.to_string(), ptx(&release.targets))).collect(),
        opens: model.uses.iter().any(|used| used.component == ComponentKind::Rtc && used.nix.is_some()),
        others,
    };
    let mut files = FileSet::default();
    files.add("package.py", templates.fill("spack/package.py", &values)?);
    if !values.others.is_empty() {
        files.add("host.sh", templates.fill("host.sh", &values)?);
    }
    if !model.groups.is_empty() {
        files.add("kernels.sh", templates.fill("kernels.sh", &values)?);
    }
    Ok(files)
}

/// PTX among the targets of a release.
pub(super) fn ptx(targets: &[KernelTarget]) -> Vec<String> {
    targets.iter().filter(|target| matches!(target, KernelTarget::Ptx(_))).map(ToString::to_string).collect()
}

/// `my-sim2` as Spack names its class: `MySim2`; a digit at the start gets a line before it.
fn class(name: &str) -> String {
    let words = name.split(['-', '_']).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let class: String = words.map(capital).collect();
    if class.starts_with(|first: char| first.is_ascii_digit()) { format!("_{class}") } else { class }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_as_spack_derives_them() {
        let named = ["volley", "my-sim2", "3d_sim"].map(class);
        assert_eq!(named, ["Volley", "MySim2", "_3dSim"]);
    }
}
