//! What other people's match specs ask for.

use rattler_conda_types::{MatchSpec, ParseStrictness, StringMatcher};

/// The package that a match spec asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Its build string, where the spec asks for exactly one.
    pub build: Option<String>,
}

/// What a match spec of a channel asks for; none for one that names no single package.
pub fn wanted(spec: &str) -> Option<Wanted> {
    let spec = MatchSpec::from_str(spec, ParseStrictness::Lenient).ok()?;
    let build = match spec.build {
        Some(StringMatcher::Exact(build)) => Some(build),
        _ => None,
    };
    Some(Wanted { name: spec.name.as_exact()?.as_normalized().to_owned(), build })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_of_other_packages_are_read() {
        let exact = Wanted { name: "sim-kernels-sm_90".to_owned(), build: Some("cuda13_k1_h2".to_owned()) };
        assert_eq!(wanted("sim-kernels-sm_90 ==1.2.0 cuda13_k1_h2"), Some(exact));
        assert_eq!(wanted("libfoo >=1,<2"), Some(Wanted { name: "libfoo".to_owned(), build: None }));
        assert_eq!(wanted("!!"), None);
    }
}
