//! From bundles to packages, and from a channel's index to what it offers.
//!
//! [`packages`] derives every package as a value, without touching anything; formats write the values.

mod derive;
mod offers;

pub use derive::{BundleKey, PackContext, key, packages};
pub use offers::{Offer, offers};
