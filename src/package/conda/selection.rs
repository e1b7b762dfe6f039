//! Conditions in conda's words.

use crate::bundle::{Condition, DeviceRange};

/// Conditions on the machine, which conda knows as virtual packages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// What must be known and fit.
    pub depends: Vec<String>,
    /// What must fit where it is known.
    pub constrains: Vec<String>,
}

/// Conditions as virtual packages: `__cuda` is the CUDA version of the driver, and `__cuda_arch` (CEP 46) the lowest
/// compute capability of the machine's GPUs. Clients that do not know `__cuda_arch` leave it out. SASS therefore
/// *depends* on it: nobody gets machine code by guess. What serves unknown GPUs, too, only *constrains* it: it fits
/// where nothing is known, and not where the GPU is known to be another.
pub fn selection(conditions: &[Condition]) -> Selection {
    let mut selection = Selection::default();
    for condition in conditions {
        match condition {
            Condition::Driver { cuda } => selection.depends.push(format!("__cuda >={cuda}")),
            Condition::Glibc { from } => selection.depends.push(format!("__glibc >={from}")),
            Condition::Device { ranges, if_unknown } => {
                let list = if *if_unknown { &mut selection.constrains } else { &mut selection.depends };
                let ranges: Vec<String> = ranges.iter().map(devices).collect();
                list.push(format!("__cuda_arch {}", ranges.join("|")));
            }
        }
    }
    selection
}

fn devices(range: &DeviceRange) -> String {
    match range {
        DeviceRange::Only(capabilities) => {
            capabilities.iter().map(|capability| format!("=={capability}")).collect::<Vec<_>>().join("|")
        }
        DeviceRange::From { from, below, except } => {
            let below = below.map(|below| format!(",<{below}")).unwrap_or_default();
            let except: String = except.iter().map(|capability| format!(",!={capability}")).collect();
            format!(">={from}{below}{except}")
        }
    }
}
