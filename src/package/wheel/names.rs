//! Names and versions as indexes and file names of wheels spell them.

use crate::arch::{CudaVersion, KernelAbiTag, KernelTarget};

/// A name as indexes compare it: lower case, one `-` for each run of `-`, `_` and `.` (name normalization).
pub fn normalized(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        match letter {
            '-' | '_' | '.' if text.ends_with('-') => {}
            '-' | '_' | '.' => text.push('-'),
            other => text.push(other.to_ascii_lowercase()),
        }
    }
    text
}

/// The same in the name of a wheel, whose parts `-` divides (binary distribution format, escaping).
pub fn escaped(name: &str) -> String {
    normalized(name).replace('-', "_")
}

/// The kernel ABI tag as a version: its digits are hexadecimal, versions are numbers.
pub fn kernel_abi_version(tag: &KernelAbiTag) -> String {
    let text = tag.to_string();
    let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).unwrap_or_default().to_string()
}

/// The extra that brings the device code of a target: `sm90`, `compute75`, `cpu`; by one release of several `sm90-cu13`.
pub fn extra(target: KernelTarget, of: Option<CudaVersion>) -> String {
    let release = of.map(|cuda| format!("-{}", release(cuda))).unwrap_or_default();
    normalized(&format!("{}{release}", target.to_string().replace('_', "")))
}

/// How names and extras call a CUDA release, all of whose major share a driver: `cu13`.
pub(super) fn release(cuda: CudaVersion) -> String {
    format!("cu{}", cuda.major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions() {
        assert_eq!(normalized("Volley_kernels-sm_90"), "volley-kernels-sm-90");
        assert_eq!(escaped("a.-_b"), "a_b");
        let tag: KernelAbiTag = "k343eb734719b".parse().unwrap();
        assert_eq!(kernel_abi_version(&tag), 0x343e_b734_719b_u64.to_string());
        let target = |text: &str| extra(text.parse().unwrap(), None);
        assert_eq!(["sm_90a", "compute_75", "cpu"].map(target), ["sm90a", "compute75", "cpu"]);
        assert_eq!(extra("sm_90".parse().unwrap(), Some(CudaVersion::new(12, 4))), "sm90-cu12");
    }
}
