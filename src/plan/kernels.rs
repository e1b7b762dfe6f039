//! Kernel steps: one per translation unit x target x variant.

use super::{Action, KeyPart, PlanInputs, Step, kernel_dir, key_of};
use crate::error::{Error, Result};
use crate::recipe::{ComponentKind, Form, KernelGroup, Recipe, VariantChoice};
use crate::target::{Capability, KernelTarget};

/// Endings of files that a translation unit may include. All of them below the directory of the
/// unit enter its key.
const HEADERS: [&str; 7] = [".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl"];

/// Steps of all kernel groups.
pub(super) fn steps(recipe: &Recipe, inputs: &PlanInputs) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for group in &recipe.groups {
        if group.form != Form::Cubin {
            return Err(Error::recipe(format!("kernel group `{}` ships as a form that is not built yet", group.name))
                .detail(format!("form: {:?}", group.form).to_lowercase())
                .hint("use form = \"cubin\""));
        }
        for source in &group.sources {
            for variant in &group.variants {
                for &target in &recipe.targets {
                    if let Some(capability) = target.capability() {
                        steps.push(step(recipe, inputs, group, source, variant, target, capability)?);
                    }
                }
            }
        }
    }
    steps.sort_by(|a, b| a.id.cmp(&b.id));
    if let Some(twice) = steps.windows(2).find(|pair| output(&pair[0]) == output(&pair[1])) {
        return Err(Error::recipe(format!("two steps make {}", output(&twice[0]).unwrap_or_default()))
            .detail(format!("{} and {}", twice[0].id, twice[1].id))
            .hint("give the two sources different names"));
    }
    Ok(steps)
}

fn output(step: &Step) -> Option<&str> {
    match &step.action {
        Action::Kernel { output, .. } => Some(output),
        Action::Host { .. } => None,
    }
}

fn step(
    recipe: &Recipe,
    inputs: &PlanInputs,
    group: &KernelGroup,
    source: &str,
    variant: &VariantChoice,
    target: KernelTarget,
    capability: Capability,
) -> Result<Step> {
    let tag = recipe.kernel_abi_tag().ok_or_else(|| Error::bug("kernel groups without a kernel ABI tag"))?;
    let (mode, arch, ending) = match target {
        KernelTarget::Ptx(_) => ("-ptx", capability.compute(), "ptx"),
        _ => ("-cubin", capability.sm(), "cubin"),
    };
    let mut args = vec![mode.to_owned(), format!("-arch={arch}")];
    args.extend(group.flags.iter().cloned());
    args.extend(variant.flags.iter().cloned());
    args.extend(variant.define.iter().map(|define| format!("-D{define}")));
    for when in group.when.iter().filter(|when| when.applies(capability)) {
        args.extend(when.flags.iter().cloned());
        args.extend(when.define.iter().map(|define| format!("-D{define}")));
    }
    let file = source.rsplit('/').next().unwrap_or(source);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let output = format!("{}/{stem}.{ending}", kernel_dir(recipe, &tag, &variant.name, target));

    let mut parts = vec![KeyPart::new("simpack", env!("CARGO_PKG_VERSION")), KeyPart::new("action", "kernel 2")];
    for name in ["nvcc", "c++ of nvcc"] {
        parts.push(tool_part(inputs, name)?);
    }
    parts.extend(args.iter().enumerate().map(|(index, arg)| KeyPart::new(format!("argument {index}"), arg)));
    for path in read_by(source, inputs) {
        let digest = inputs.sources.get(&path).ok_or_else(|| missing(group, &path))?;
        parts.push(KeyPart::new(format!("file {path}"), digest));
    }
    Ok(Step {
        id: format!("{source} {target} ({})", variant.name),
        component: ComponentKind::Kernels,
        key: key_of(&parts),
        parts,
        action: Action::Kernel { source: source.to_owned(), target, variant: variant.name.clone(), args, output },
    })
}

/// The unit itself and every header below its directory.
fn read_by(source: &str, inputs: &PlanInputs) -> Vec<String> {
    let dir = source.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/"));
    let headers =
        inputs.sources.keys().filter(|path| path.starts_with(&dir) && HEADERS.iter().any(|end| path.ends_with(end)));
    let mut read: Vec<String> = headers.cloned().collect();
    read.push(source.to_owned());
    read.sort();
    read
}

fn missing(group: &KernelGroup, path: &str) -> Error {
    Error::recipe(format!("kernel group `{}` names {path}, which the source does not hold", group.name))
}

/// A tool as a key part: its version and, when it is pinned, its digest.
pub(super) fn tool_part(inputs: &PlanInputs, name: &str) -> Result<KeyPart> {
    let tool = inputs.tools.get(name).ok_or_else(|| Error::bug(format!("no tool `{name}` in the plan's inputs")))?;
    let digest = tool.sha256.map(|digest| format!(" {digest}")).unwrap_or_default();
    Ok(KeyPart::new(format!("tool {name}"), format!("{}{digest}", tool.version)))
}
