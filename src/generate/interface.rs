//! What other build systems find the libraries by: a CMake config package, files of pkg-config.

use serde::Serialize;

use super::{FileSet, Library, Model, Templates};
use crate::error::{Error, Result};
use crate::recipe::ComponentKind;

/// Values of one `.pc` file.
#[derive(Serialize)]
struct Component<'a> {
    model: &'a Model,
    library: &'a Library,
    /// Name of the file, and of the module.
    module: String,
    /// Module that it needs.
    requires: Option<String>,
}

/// Values of the config package.
#[derive(Serialize)]
struct Package<'a> {
    model: &'a Model,
    /// What all compatible versions begin with, and the first version that does not; none where no other version is.
    series: Option<(String, String)>,
    /// Component of the library that whoever links another one links, too.
    main: Option<ComponentKind>,
}

/// A config package with one imported target a component.
pub(super) fn cmake(model: &Model, templates: &Templates) -> Result<FileSet> {
    linkable(model)?;
    let mut files = FileSet::default();
    let main = model.main_library();
    let series = main.and_then(|library| Some((library.soname.clone(), next(&library.soname)?)));
    let values = Package { model, series, main: main.map(|library| library.component) };
    let name = &model.name;
    files.add(format!("{name}Config.cmake"), templates.fill("cmake/Config.cmake", &values)?);
    files.add(format!("{name}ConfigVersion.cmake"), templates.fill("cmake/ConfigVersion.cmake", &values)?);
    Ok(files)
}

/// The first version behind a series: `2` behind `1`, `1.3` behind `1.2`. None for a whole version, which stands for itself.
fn next(series: &str) -> Option<String> {
    let numbers: Vec<u64> = series.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    match numbers.as_slice() {
        [major] => Some((major + 1).to_string()),
        [major, minor] => Some(format!("{major}.{}", minor + 1)),
        _ => None,
    }
}

/// One module a component.
pub(super) fn pkg_config(model: &Model, templates: &Templates) -> Result<FileSet> {
    linkable(model)?;
    let mut files = FileSet::default();
    for library in &model.libraries {
        let module = format!("{}-{}", model.name, library.component);
        let main = model.main_library().filter(|_| library.component == ComponentKind::Rtc);
        let requires = main.map(|main| format!("{}-{}", model.name, main.component));
        let values = Component { model, library, module: module.clone(), requires };
        files.add(format!("{module}.pc"), templates.fill("pkgconfig/component.pc", &values)?);
    }
    Ok(files)
}

fn linkable(model: &Model) -> Result<()> {
    match model.libraries.is_empty() {
        false => Ok(()),
        true => Err(Error::recipe("no component of the recipe has a library that can be linked")
            .hint("name it in `files`, such as \"lib/libNAME.so.*\" or \"lib/libNAME.a\"")),
    }
}
