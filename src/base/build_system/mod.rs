//! The build systems that make host components, a file each: what recipes may say of one, which tools it needs, and how
//! it is called. Another one is a file and its line in the table ([`BuildDriver`]).

mod cmake;
mod copy;
mod driver;
mod host_build;
mod make;
mod meson;
mod resume;
mod script;
mod system;
mod wheel;

pub use driver::BuildDriver;
pub use host_build::{HostBuild, HostTools, OF_CUDA, OF_STEP, PREFIX, prefixes_in};
pub use resume::{Begun, SourceChanges};
pub use system::{BuildSystem, DriverMistake, DriverWord, MachineTool};
pub use wheel::script_of_wheel;
