//! Compilers and tools: fetched as pinned wheels, or found on the machine.
//!
//! `pins` says what there is, and `transfer` brings it: from where this machine's pip looks for packages (`settings`,
//! `places`), by a client that goes on where a transfer stopped (`client`, `fetch`). `unpack` arranges it and `wheels`
//! keeps the trees in the user's cache (`store`), shared by all runs. `sources` does the same for the sources of
//! recipes: archives by address (`archive`), files of a package index (`releases`), commits (`git`), put together
//! from several by `compose`, with a recipe's patches (`changes`, which `difference` makes); `dependencies` for the
//! packages that builds are given. `vendor` brings all of these into a directory for machines without a network, and
//! `vendored` takes them from there. `cuda` and `host` describe what was fetched or found to those who call it.

mod cuda;
mod dependencies;
mod host;
mod launcher;
mod objects;
mod pins;
mod shaders;
mod sources;
mod store;
mod transfer;
mod unpack;
mod vendor;
mod vendored;
mod wheels;

#[cfg(test)]
mod tests;

pub use cuda::{Nvrtc, Provenance, SystemSearch, Toolchain, ToolchainKind, system_cuda};
pub use dependencies::{IntoPrefix, PackageFile};
pub use host::{
    Ceiling, CompilerKind, CxxRuntime, HeldCompiler, HostCommands, HostCompiler, HostSearch, HostSource, STEP_PATH,
    SystemLibrary, host_source, nvcc_host_compiler, system_host_compiler,
};
pub use launcher::{Launcher, sccache};
pub use objects::{ObjectSettings, ObjectStore};
pub use pins::{PinnedToolchain, Pins, Role, Wheel};
pub use shaders::{ShaderCompiler, dxc, has_dxc, shader_compiler};
pub use sources::commit::{Commit, commit_of};
pub use sources::compose::{PartDigests, lay_over};
pub use sources::difference::{Alteration, Altered, Difference, Snapshot, difference};
pub use sources::digest::tree_digest;
pub(crate) use sources::source::not_asked;
pub use sources::source::without_login;
pub use store::Store;
pub use transfer::settings::{IndexSettings, Python};
pub use vendored::{Vendored, VendoredFile, VendoredTree};
pub use wheels::{Status, Tool};
