//! Host variants that somebody asked for, as match specs: package managers tell them apart by build strings alone.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::offers::Source;
use crate::package::conda::exactly;
use crate::recipe::choice_word;

/// A choice on the command line: `mpi=openmpi`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantChoice {
    axis: String,
    value: String,
}

impl VariantChoice {
    /// Whether a build string is that of a package of this variant.
    fn place_in(&self, build: &str) -> Option<usize> {
        let word = format!("{}_", choice_word(&self.axis, &self.value));
        match build.starts_with(&word) {
            true => Some(0),
            false => build.find(&format!("_{word}")).map(|at| at + 1),
        }
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
/// There is no such variant.
pub(super) fn specs(source: &Source, asked: &[VariantChoice]) -> Result<Vec<String>> {
    for choice in asked {
        if !source.builds.values().flatten().any(|build| choice.place_in(build).is_some()) {
            return Err(absent(source, &format!("{}={}", choice.axis, choice.value)));
        }
    }
    let mut specs = Vec::new();
    for (package, builds) in &source.builds {
        let is_of_it = |choice: &&VariantChoice| builds.iter().any(|build| choice.place_in(build).is_some());
        let of_it: Vec<&VariantChoice> = asked.iter().filter(is_of_it).collect();
        if of_it.is_empty() {
            continue;
        }
        let places = |build: &String| -> Option<Vec<(usize, String)>> {
            of_it.iter().map(|one| Some((one.place_in(build)?, choice_word(&one.axis, &one.value)))).collect()
        };
        let Some(mut places) = builds.iter().find_map(places) else {
            let together: Vec<String> = of_it.iter().map(|one| format!("{}={}", one.axis, one.value)).collect();
            return Err(absent(source, &together.join(" ")));
        };
        places.sort();
        let first = if places[0].0 == 0 { "" } else { "*_" };
        let words: Vec<String> = places.into_iter().map(|(_, word)| word).collect();
        specs.push(format!("{} {first}{}_*", exactly(package, source.distribution.version), words.join("_*")));
    }
    Ok(specs)
}

fn absent(source: &Source, asked: &str) -> Error {
    let distribution = &source.distribution;
    let error = Error::usage(format!("{} {} has no variant {asked}", distribution.simulator, distribution.version));
    let builds = source.builds.iter().flat_map(|(package, builds)| builds.iter().map(move |build| (package, build)));
    let error = builds.fold(error, |error, (package, build)| error.detail(format!("{package} {build}")));
    match source.channel {
        Some(_) => error.hint("the build strings begin with what was chosen: nompi, mpi_openmpi, py312"),
        None => error.hint("variants are builds of conda's packages: name a channel, or the dist/ of a build"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_found_in_build_strings() {
        let place = |choice: &str, build: &str| choice.parse::<VariantChoice>().unwrap().place_in(build);
        assert_eq!(place("mpi=openmpi", "mpi_openmpi_py311_h1_0"), Some(0));
        assert_eq!(place("python=3.11", "mpi_openmpi_py311_h1_0"), Some(12));
        assert_eq!(place("python=3.1", "mpi_openmpi_py311_h1_0"), None);
        assert_eq!(place("mpi=none", "nompi_h1_100"), Some(0));
        assert_eq!(place("mpi=mpich", "mpi_openmpi_h1_0"), None);
        for odd in ["mpi", "mpi=", "=x", "mpi=a b", "mpi=*"] {
            assert!(odd.parse::<VariantChoice>().is_err(), "{odd}");
        }
    }
}
