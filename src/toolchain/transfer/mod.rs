//! How files come here: places where this machine's pip looks, a client, and transfers that go on where they stopped.

pub(super) mod client;
pub(super) mod fetch;
pub(super) mod lanes;
pub(super) mod places;
pub(super) mod settings;
pub(super) mod space;
