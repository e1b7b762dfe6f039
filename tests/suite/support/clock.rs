//! Another time than the machine's, for one call of a program.

use std::process::Command;

use super::program::Ran;

/// Where Debian and Fedora have the library of faketime; the loader replaces `$LIB`.
const LIBRARY: &str = "/usr/$LIB/faketime/libfaketime.so.1";

/// Lets the clock of a program, and of the programs that get its environment, start at this local time, as in
/// `2031-08-17 23:59:58`.
///
/// The library is loaded without its program `faketime`: that one makes a semaphore named by its process number
/// and fails where one of that name is left, as every process leaves one that ends without clearing up.
pub fn set_clock(command: &mut Command, time: &str) {
    command.env("LD_PRELOAD", LIBRARY).env("FAKETIME", format!("@{time}"));
}

/// Whether [`set_clock`] does something here.
pub fn clock_can_be_set() -> bool {
    let mut date = Command::new("date");
    set_clock(date.arg("+%Y"), "2031-08-17 23:59:58");
    Ran::of(&mut date).stdout == "2031\n"
}
