//! What may be passed on inside packages, and where its maker says so.

use serde::Deserialize;
use spdx::{Expression, LicenseItem, ParseMode};
use toml::Spanned;

use super::globs::{Globs, IndexedGlobs, Pattern};
use super::text::ManifestText;
use crate::data::Data;
use crate::error::Result;

/// Licences of packages and the terms of what others put into them.
#[derive(Debug, Clone)]
pub struct Redistribution {
    open: Vec<String>,
    licences: Vec<VendorLicence>,
    products: Vec<Product>,
    terms: Vec<Terms>,
    files: IndexedGlobs,
}

/// A licence that SPDX does not list.
#[derive(Debug, Clone)]
pub struct VendorLicence {
    /// How SBOMs call it: `LicenseRef-...`.
    pub id: String,
    /// How people call it.
    pub name: String,
    text: Vec<Globs>,
}

/// A library or tool with its licence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    names: Vec<String>,
    /// Whether it is so only where the tool is pinned: the machine's own may be another one.
    #[serde(default)]
    pinned: bool,
    /// What people call it, where its names say what it is for.
    pub title: Option<String>,
    /// SPDX expression, or the id of a [`VendorLicence`].
    pub licence: String,
    /// What it puts of its own into the files that it makes.
    #[serde(default)]
    pub parts: Vec<ProductPart>,
}

/// A runtime that a compiler links into what it makes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductPart {
    /// Name.
    pub name: String,
    /// Into which code: `host` or `device`.
    pub of: Code,
    /// As that of a [`Product`].
    pub licence: String,
}

/// Code that a runtime is linked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Code {
    /// Of the processor.
    Host,
    /// Of the GPU.
    Device,
}

/// What the maker of a file says about passing it on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    files: Vec<Spanned<Pattern>>,
    licence: Spanned<String>,
    /// Whether it may be passed on.
    pub may: bool,
    /// Where the licence says so.
    pub clause: String,
    /// What else there is to know.
    pub note: String,
}

/// What is known of a licence expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// Who takes one of its choices may pass packages on.
    Granted,
    /// These licences are not known to allow it.
    Unknown(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    open: Vec<OpenEntry>,
    licence: Vec<LicenceEntry>,
    product: Vec<Spanned<Product>>,
    terms: Vec<Terms>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenEntry {
    spdx: Spanned<String>,
    #[serde(rename = "reason")]
    _reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LicenceEntry {
    id: String,
    name: String,
    text: Vec<Spanned<Pattern>>,
}

impl Redistribution {
    /// Reads the manifest.
    ///
    /// # Errors
    /// It is wrong: the message says where.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/redistribution.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        for entry in &file.open {
            if spdx::license_id(entry.spdx.get_ref()).is_none() {
                let message = format!("`{}` is no licence of the SPDX list", entry.spdx.get_ref());
                return Err(text.wrong(Some(entry.spdx.span()), message));
            }
        }
        let is_known =
            |name: &str| file.licence.iter().any(|licence| licence.id == name) || Expression::parse(name).is_ok();
        for product in &file.product {
            let parts = product.get_ref().parts.iter().map(|part| &part.licence);
            if let Some(wrong) = parts.chain([&product.get_ref().licence]).find(|licence| !is_known(licence)) {
                return Err(text.wrong(Some(product.span()), format!("`{wrong}` is no licence")));
            }
        }
        let mut files = IndexedGlobs::default();
        for (index, terms) in file.terms.iter().enumerate() {
            if !file.licence.iter().any(|licence| licence.id == *terms.licence.get_ref()) {
                let message = format!("no [[licence]] is called `{}`", terms.licence.get_ref());
                return Err(text.wrong(Some(terms.licence.span()), message));
            }
            terms.files.iter().try_for_each(|pattern| files.add(&text, pattern, index))?;
        }
        let licence = |entry: LicenceEntry| {
            let globs = entry.text.iter().map(|pattern| Globs::read(&text, [pattern])).collect::<Result<_>>()?;
            Ok(VendorLicence { id: entry.id, name: entry.name, text: globs })
        };
        Ok(Self {
            open: file.open.into_iter().map(|entry| entry.spdx.into_inner()).collect(),
            licences: file.licence.into_iter().map(licence).collect::<Result<_>>()?,
            products: file.product.into_iter().map(Spanned::into_inner).collect(),
            terms: file.terms,
            files,
        })
    }

    /// The terms of a file, by its name or SONAME; none for what is not known to be a vendor's.
    pub fn terms(&self, name: &str) -> Option<&Terms> {
        self.files.find(name).map(|index| &self.terms[index])
    }

    /// The licence that terms come from.
    pub fn licence(&self, terms: &Terms) -> Option<&VendorLicence> {
        self.licence_of(terms.licence.get_ref())
    }

    /// The licence of an id; none for what SPDX lists.
    pub fn licence_of(&self, id: &str) -> Option<&VendorLicence> {
        self.licences.iter().find(|licence| licence.id == id)
    }

    /// A library in `uses` or a tool, by its name; of some tools only a pinned one is known.
    pub fn product(&self, name: &str, is_pinned: bool) -> Option<&Product> {
        let is_it = |product: &&Product| product.names.iter().any(|known| known == name) && product.pinned <= is_pinned;
        self.products.iter().find(is_it)
    }

    /// Whether a licence expression lets packages be passed on.
    ///
    /// # Errors
    /// It is no SPDX expression; why, in words.
    pub fn permission(&self, expression: &str) -> Result<Permission, String> {
        let read = Expression::parse_mode(expression, MODE).map_err(|error| error.reason.to_string())?;
        let mut unknown = Vec::new();
        let is_granted = read.evaluate(|asked| {
            let granted = match &asked.license {
                LicenseItem::Spdx { id, .. } => {
                    id.is_osi_approved()
                        || id.is_fsf_free_libre()
                        || self.open.iter().any(|open| spdx::license_id(open) == Some(*id))
                }
                LicenseItem::Other(_) => false,
            };
            if !granted {
                unknown.push(asked.license.to_string());
            }
            granted
        });
        unknown.sort();
        unknown.dedup();
        Ok(if is_granted { Permission::Granted } else { Permission::Unknown(unknown) })
    }
}

/// Names that older recipes use are read; what SPDX never listed is not.
const MODE: ParseMode = ParseMode { allow_deprecated: true, allow_postfix_plus_on_gpl: true, ..ParseMode::STRICT };

impl VendorLicence {
    /// The place of its text among the files of a toolkit, `/`-joined and sorted.
    pub fn text<'a>(&self, files: &[&'a str]) -> Option<&'a str> {
        self.text.iter().find_map(|glob| files.iter().copied().find(|file| glob.is_match(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Redistribution {
        Redistribution::load(&Data::at("no such directory")).unwrap()
    }

    #[test]
    fn expressions_are_judged_by_their_choices() {
        let known = here();
        for open in
            ["BSD-3-Clause", "GPL-2.0", "GPL-3.0-or-later WITH GCC-exception-3.1", "LicenseRef-Own OR MIT", "CC0-1.0"]
        {
            assert_eq!(known.permission(open), Ok(Permission::Granted), "{open}");
        }
        let unknown = |text: &str| match known.permission(text) {
            Ok(Permission::Unknown(names)) => names.join(" "),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(unknown("LicenseRef-Own AND MIT"), "LicenseRef-Own");
        assert_eq!(unknown("LicenseRef-Own OR LicenseRef-Other"), "LicenseRef-Other LicenseRef-Own");
        assert!(
            known.permission("BSD3").is_err() && known.permission("").is_err() && known.permission("MIT OR").is_err()
        );
    }

    #[test]
    fn files_have_the_terms_of_their_maker() {
        let known = here();
        let may = |name: &str| known.terms(name).map(|terms| terms.may);
        assert_eq!(may("libcudart_static.a"), Some(true));
        assert_eq!(may("libnvrtc.so.13"), Some(true));
        assert_eq!(may("libcuda.so.1"), Some(false));
        assert_eq!(may("ptxas"), Some(false));
        assert_eq!(may("libvolley.so.1"), None);
        let terms = known.terms("libcudart_static.a").unwrap();
        let files = ["bin/nvcc", "nvidia_cuda_nvcc-13.0.88.dist-info/licenses/License.txt"];
        assert_eq!(known.licence(terms).unwrap().text(&files), Some(files[1]));
    }
}
