//! One file per verb: the places where the modules of floor 4 meet through values of lower floors.

pub mod verify;
