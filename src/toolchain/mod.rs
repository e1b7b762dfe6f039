//! Compilers and tools: fetched as pinned wheels, or found on the machine.
//!
//! `pins` says what there is and `settings` where this machine's pip looks for packages; `places`
//! finds a file there through `client`, `fetch` brings it, `unpack` arranges it and `wheels`
//! keeps the trees in the user's cache (`store`), shared by all runs. `source` does the same for the sources of
//! recipes: archives by address (`archive`, `tree`), files of a package index (`releases`), commits
//! (`git`), put together from several by `compose`, with a recipe's patches (`changes`, which `difference` makes); `dependencies`
//! for the packages that builds are given. `vendor` brings all of these into a directory for machines without a network, and
//! `vendored` takes them from there. `cuda` and `host` describe what was fetched
//! or found to those who call it; `answers` remembers what installed programs say of themselves.

mod archive;
mod changes;
mod client;
mod commit;
mod compose;
mod cuda;
mod dependencies;
mod difference;
mod digest;
mod fetch;
mod git;
mod host;
mod lanes;
mod launcher;
mod objects;
mod pins;
mod places;
mod releases;
mod settings;
mod shaders;
mod source;
mod space;
mod store;
mod unpack;
mod vendor;
mod vendored;
mod wheels;

#[cfg(test)]
mod tests;

pub use commit::{Commit, commit_of};
pub use compose::{PartDigests, lay_over};
pub use cuda::{Nvrtc, Provenance, SystemSearch, Toolchain, ToolchainKind, system_cuda};
pub use dependencies::{IntoPrefix, PackageFile};
pub use difference::{Alteration, Altered, Difference, Snapshot, difference};
pub use digest::tree_digest;
pub use host::{
    Ceiling, CompilerKind, CxxRuntime, HeldCompiler, HostCommands, HostCompiler, HostSearch, HostSource, STEP_PATH,
    SystemLibrary, host_source, nvcc_host_compiler, system_host_compiler,
};
pub use launcher::{Launcher, sccache};
pub use objects::{ObjectSettings, ObjectStore};
pub use pins::{PinnedToolchain, Pins, Role, Wheel};
pub use settings::{IndexSettings, Python};
pub use shaders::{ShaderCompiler, dxc, has_dxc, shader_compiler};
pub(crate) use source::not_asked;
pub use source::without_login;
pub use store::Store;
pub use vendored::{Vendored, VendoredFile, VendoredTree};
pub use wheels::{Status, Tool};
