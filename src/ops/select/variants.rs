//! Host variants that somebody asked for, as match specs.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::offers::Source;
use crate::package::conda::of_variant;
use crate::recipe::HostVariant;

/// A choice on the command line: `mpi=openmpi`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantChoice {
    axis: String,
    value: String,
}

impl VariantChoice {
    fn is_of(&self, host: &HostVariant) -> bool {
        host.of(&self.axis) == Some(&self.value)
    }
}

impl FromStr for VariantChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
        };
        match text.split_once('=') {
            Some((axis, value)) if is_word(axis) && is_word(value) => {
                Ok(Self { axis: axis.to_owned(), value: value.to_owned() })
            }
            _ => Err(format!("`{text}` is no variant such as mpi=openmpi or python=3.12")),
        }
    }
}

/// Match specs that bring what was asked for, of each package that is there in such variants.
///
/// # Errors
/// There is no such variant, or a package cannot be read.
pub(super) fn specs(source: &Source, asked: &[VariantChoice]) -> Result<Vec<String>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let variants = source.variants()?;
    for choice in asked {
        if !variants.values().flatten().any(|host| choice.is_of(host)) {
            return Err(absent(source, &variants, &[choice]));
        }
    }
    let mut specs = Vec::new();
    for (package, hosts) in &variants {
        let of_it: Vec<&VariantChoice> =
            asked.iter().filter(|choice| hosts.iter().any(|host| choice.is_of(host))).collect();
        if of_it.is_empty() {
            continue;
        }
        let host = hosts.iter().find(|host| of_it.iter().all(|choice| choice.is_of(host)));
        let host = host.ok_or_else(|| absent(source, &variants, &of_it))?;
        let axes: BTreeSet<&str> = of_it.iter().map(|choice| choice.axis.as_str()).collect();
        specs.push(of_variant(package, source.distribution.version, host, &axes));
    }
    Ok(specs)
}

fn absent(source: &Source, variants: &BTreeMap<String, BTreeSet<HostVariant>>, asked: &[&VariantChoice]) -> Error {
    let distribution = &source.distribution;
    let asked: Vec<String> = asked.iter().map(|one| format!("{}={}", one.axis, one.value)).collect();
    let what = format!("{} {} has no variant {}", distribution.simulator, distribution.version, asked.join(" "));
    let pairs = variants.iter().flat_map(|(package, hosts)| hosts.iter().map(move |host| (package, host)));
    let error = pairs.fold(Error::usage(what), |error, (package, host)| error.detail(format!("{package}: {host}")));
    match source.channel {
        Some(_) => error.hint("ask for what is there, as axis=value"),
        None => error.hint("variants are builds of conda's packages: name a channel, or the dist/ of a build"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Version;

    fn host(choices: &[(&str, &str)]) -> HostVariant {
        HostVariant::new(choices.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn choices_are_compared_as_values_and_said_as_build_strings() {
        let both = host(&[("mpi", "openmpi"), ("python", "3.11")]);
        let is_of = |choice: &str| choice.parse::<VariantChoice>().unwrap().is_of(&both);
        assert!(is_of("mpi=openmpi") && is_of("python=3.11") && !is_of("python=3.1") && !is_of("mpi=none"));
        let spec = |axes: &[&str]| of_variant("a", Version::new(1, 0, 0), &both, &axes.iter().copied().collect());
        assert_eq!(spec(&["mpi"]), "a ==1.0.0 mpi_openmpi_*");
        assert_eq!(spec(&["python"]), "a ==1.0.0 *_py311_*");
        assert_eq!(spec(&["mpi", "python"]), "a ==1.0.0 mpi_openmpi_py311_*");
        for odd in ["mpi", "mpi=", "=x", "mpi=a b", "mpi=*"] {
            assert!(odd.parse::<VariantChoice>().is_err(), "{odd}");
        }
    }
}
