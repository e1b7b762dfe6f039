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
    /// First version that is still compatible.
    lowest: String,
}

/// A config package with one imported target a component.
pub(super) fn cmake(model: &Model, templates: &Templates) -> Result<FileSet> {
    linkable(model)?;
    let mut files = FileSet::default();
    let lowest = model.main_library().map(|library| library.soname.clone());
    let values = Package { model, lowest: lowest.unwrap_or_else(|| model.version.to_string()) };
    let name = &model.name;
    files.add(format!("{name}Config.cmake"), templates.fill("cmake/Config.cmake", &values)?);
    files.add(format!("{name}ConfigVersion.cmake"), templates.fill("cmake/ConfigVersion.cmake", &values)?);
    Ok(files)
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
