//! `simpack init NAME`: a small simulator with its recipe, from the embedded template.

use crate::data::Data;
use crate::error::{Error, Result};

/// How the kernels of a sample ship.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Device code for CUDA, in files of their own.
    Cubin,
    /// Compute shaders for Vulkan.
    Spirv,
}

impl Sample {
    /// Where its template lies among the data.
    fn template(self) -> &'static str {
        match self {
            Self::Cubin => "templates/recipe",
            Self::Spirv => "templates/recipe-spirv",
        }
    }
}

/// The template makes libraries, C identifiers and packages of the name.
pub(super) fn checked(name: &str) -> Result<&str> {
    let fits = name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
        && name.len() <= 64;
    if fits {
        return Ok(name);
    }
    Err(Error::usage(format!("`{name}` cannot be the name of a simulator: it names libraries and packages"))
        .hint("lower-case letters, digits, `-` and `_`, beginning with a letter, at most 64"))
}

/// Paths and texts of the new recipe, sorted. In paths `NAME` stands for the name, and `.in` ends a template.
pub(super) fn filled(name: &str, sample: Sample, data: &Data) -> Result<Vec<(String, String)>> {
    let template = sample.template();
    let ident = name.replace('-', "_");
    let mut files = Vec::new();
    for (path, bytes) in data.embedded_files(template) {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Error::bug(format!("{template}/{path} is not UTF-8")).because(error))?;
        let text =
            text.replace("{{name}}", name).replace("{{ident}}", &ident).replace("{{IDENT}}", &ident.to_uppercase());
        let path = path.strip_suffix(".in").unwrap_or(&path).replace("NAME", name);
        files.push((path, text));
    }
    if files.is_empty() {
        return Err(Error::bug(format!("{template} is not embedded")));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::run::{InitRequest, Start, init};
    use super::*;
    use crate::fs;
    use crate::ui::Ui;

    fn start(name: &str, dir: &Path) -> Result<u8> {
        let request = InitRequest { dir: Some(dir.to_owned()), start: Start::Sample(name.to_owned(), Sample::Cubin) };
        init(&request, &Data::at("no such directory"), &Ui::new(false, true))
    }

    #[test]
    fn the_new_recipe_resolves_and_is_never_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("deep/my-sim");
        assert_eq!(start("my-sim", &dir).unwrap(), 0);
        let text = fs_err::read_to_string(dir.join("simpack.toml")).unwrap();
        let manifests = crate::manifest::Manifests::load(&Data::at("no such directory")).unwrap();
        let files = crate::project::files_of(&dir, None);
        let recipe = crate::recipe::load(&text, "simpack.toml", &dir, &*files, &manifests, &Default::default())
            .map_err(|mistakes| crate::recipe::render_all(&mistakes))
            .unwrap();
        assert_eq!(recipe.kernels()[0].name, "my_sim_step");
        for entry in fs::walk(&dir).unwrap() {
            let path = dir.join(&entry.path);
            if path.is_file() {
                let text = fs_err::read_to_string(&path).unwrap();
                assert!(!text.contains("{{") && !entry.path.contains("NAME"), "{}", entry.path);
            }
        }
        let empty = parent.path().join("empty");
        fs_err::create_dir(&empty).unwrap();
        assert_eq!(start("my-sim", &empty).unwrap(), 0);
        assert_eq!(fs::walk(&empty).unwrap(), fs::walk(&dir).unwrap());
        let error = start("my-sim", &dir).unwrap_err();
        assert!(error.to_string().contains("nothing is overwritten"));
    }

    #[test]
    fn every_shape_of_sample_resolves() {
        let parent = tempfile::tempdir().unwrap();
        for sample in [Sample::Cubin, Sample::Spirv] {
            let dir = parent.path().join(format!("{sample:?}"));
            let request = InitRequest { dir: Some(dir.clone()), start: Start::Sample("my-sim".to_owned(), sample) };
            init(&request, &Data::at("no such directory"), &Ui::new(false, true)).unwrap();
            let text = fs_err::read_to_string(dir.join("simpack.toml")).unwrap();
            let manifests = crate::manifest::Manifests::load(&Data::at("no such directory")).unwrap();
            let files = crate::project::files_of(&dir, None);
            let recipe = crate::recipe::load(&text, "simpack.toml", &dir, &*files, &manifests, &Default::default())
                .map_err(|mistakes| crate::recipe::render_all(&mistakes))
                .unwrap();
            assert_eq!(recipe.name, "my-sim");
        }
    }

    #[test]
    fn names_that_libraries_cannot_have_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["", "-x", "Volley", "a b", "../x", "7up", "x.y"] {
            assert!(start(name, &parent.path().join("sim")).is_err(), "{name}");
        }
        assert_eq!(fs_err::read_dir(parent.path()).unwrap().count(), 0);
    }
}
