//! Each lint on a bundle where it fires and on a look-alike where it must not.

mod closure;
mod cubin;
mod device;
mod files;
mod fixture;
mod foreign;
mod hygiene;
mod input;
mod isa;
mod kernels;
mod libraries;
mod link;
mod promise;
mod shaders;
