//! The table of build systems, by the names that recipes use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuildSystem, cmake, copy, make, meson, script, wheel};

/// A build system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BuildDriver {
    /// CMake with ninja: configure, build, install.
    Cmake,
    /// GNU make with `install` and `PREFIX`/`DESTDIR`.
    Make,
    /// Meson with ninja: setup, build, install.
    Meson,
    /// A shell script that installs into `$PREFIX`.
    Script,
    /// Nothing is run: what it reads is what it installs, below `share/<name>`.
    Copy,
    /// Nothing is run: a wheel's files are installed as pip installs them, below `lib/pythonX.Y/site-packages` and `bin`.
    Wheel,
}

impl BuildDriver {
    /// As recipes name them.
    pub const NAMES: [(&str, Self); 6] = [
        ("cmake", Self::Cmake),
        ("make", Self::Make),
        ("meson", Self::Meson),
        ("script", Self::Script),
        ("copy", Self::Copy),
        ("wheel", Self::Wheel),
    ];

    /// What it does.
    pub fn system(self) -> &'static dyn BuildSystem {
        match self {
            Self::Cmake => &cmake::Cmake,
            Self::Make => &make::Make,
            Self::Meson => &meson::Meson,
            Self::Script => &script::Script,
            Self::Copy => &copy::Copy,
            Self::Wheel => &wheel::Wheel,
        }
    }

    /// As a recipe names it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, driver)| *driver == self).map_or("", |(name, _)| name)
    }
}
