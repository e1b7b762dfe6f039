//! Each lint on a bundle where it fires and on a look-alike where it must not.

mod files;
mod fixture;
mod input;
mod libraries;
mod link;
