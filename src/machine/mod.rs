//! A machine as a value: what a doctor looks at, whether it was probed here, read from a file or made up for a test.

mod device;
mod driver;

pub use device::{Device, DeviceKind};
pub use driver::Driver;
