//! Checks of the whole set of steps: unique names, one producer a file.
//!
//! There is no check for cycles: a host step takes what kernel steps made where it embeds them, and these take nothing; and
//! a recipe whose components are built against each other in a circle is refused. Otherwise device code meets the host part
//! only in packages.

use std::collections::BTreeMap;

use super::{Action, Step};
use crate::error::{Error, Result};

/// Refuses a set of steps in which two have one name or make one file. What host steps install is
/// known only when they ran; staging compares it.
pub(super) fn check(steps: &[Step]) -> Result<()> {
    let mut ids = BTreeMap::new();
    let mut makers = BTreeMap::new();
    for step in steps {
        if ids.insert(step.id.as_str(), ()).is_some() {
            return Err(Error::recipe(format!("two steps are called {}", step.id))
                .hint("name each source in one kernel group only"));
        }
        let Action::Kernel { output, .. } = &step.action else { continue };
        // Releases of one major share directories, and are never installed together.
        if let Some(other) = makers.insert((step.cuda, output.as_str()), &step.id) {
            return Err(Error::recipe(format!("two steps make {output}"))
                .detail(format!("{other} and {}", step.id))
                .hint("give the two sources different names"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::KernelTarget;
    use crate::fs::Digest;
    use crate::recipe::ComponentKind;

    fn step(id: &str, output: &str) -> Step {
        let target: KernelTarget = "sm_90".parse().unwrap();
        let (source, variant) = (String::new(), String::new());
        Step {
            id: id.to_owned(),
            component: ComponentKind::Kernels,
            cuda: None,
            host: None,
            key: Digest::of(id.as_bytes()),
            parts: Vec::new(),
            direct: None,
            action: Action::Kernel {
                compiler: crate::arch::KernelCompiler::Nvcc,
                source,
                target,
                variant,
                args: Vec::new(),
                output: output.to_owned(),
            },
        }
    }

    #[test]
    fn two_producers_are_found_wherever_they_stand() {
        assert!(check(&[step("a", "x"), step("b", "y"), step("c", "z")]).is_ok());
        let error = check(&[step("a", "x"), step("b", "y"), step("c", "x")]).unwrap_err();
        assert_eq!(error.to_string(), "two steps make x");
        assert_eq!(error.details(), ["a and c"]);
        assert_eq!(check(&[step("a", "x"), step("a", "y")]).unwrap_err().to_string(), "two steps are called a");
    }
}
