//! Files that ask for more than they are worth (`hostile_files`): whatever their shape, a verb takes memory in proportion
//! to their size, ends, and says what it left out; the honest file beside them is still examined.

#[path = "hostile_files.rs"]
mod hostile_files;

use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use hostile_files::{SHAPES, Shape};

use crate::support::{program, scratch, simpack};

/// Large enough that what grows faster than its input is seen.
const SIZE: usize = 512 << 10;
/// What simpack takes for an empty file, without optimisation and with its debug information mapped.
const PROGRAM: u64 = 96 << 20;
/// Seconds of processor time: not a measure, but an end for what would have none.
const MOST_SECONDS: u64 = 120;
const HONEST: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry honest(.param .u64 a) { ret; }\n";

/// Exit code, peak memory in bytes, what it printed.
fn run(dir: &Path, args: &[&str]) -> (i32, u64, String) {
    let output = dir.join("output");
    let mut command = simpack(dir, args);
    command.stdout(fs_err::File::create(&output).unwrap().into_file()).stderr(Stdio::null());
    let limit = |what, most| {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the limit lives through the call.
        unsafe { libc::setrlimit(what, &limit) };
    };
    // SAFETY: only system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            limit(libc::RLIMIT_CPU, MOST_SECONDS);
            // Threads reserve address space that they never use.
            limit(libc::RLIMIT_AS, 4 << 30);
            Ok(())
        });
    }
    let (status, peak) = ended(&mut command);
    assert!(libc::WIFEXITED(status), "{args:?} ended by signal {}", libc::WTERMSIG(status));
    (libc::WEXITSTATUS(status), peak, String::from_utf8_lossy(&fs_err::read(output).unwrap()).into_owned())
}

#[allow(clippy::zombie_processes)] // `wait4` waits for it, because it tells the memory.
fn ended(command: &mut Command) -> (i32, u64) {
    let child = command.spawn().unwrap();
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the child is ours and waited for once; both places live through the call.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, usage.as_mut_ptr()) };
    assert!(waited > 0);
    // SAFETY: zeroed, and filled by the call.
    (status, unsafe { usage.assume_init() }.ru_maxrss.cast_unsigned() << 10)
}

/// Runs the verbs that read a tree on one with the shape and an honest file.
fn bounded(shape: &Shape) {
    let dir = scratch();
    let tree = dir.path().join("tree");
    fs_err::create_dir(&tree).unwrap();
    let bytes = (shape.make)(SIZE);
    fs_err::write(tree.join(shape.file), &bytes).unwrap();
    fs_err::write(tree.join("honest.ptx"), HONEST).unwrap();
    let most = PROGRAM + (64 << 20) + 8 * bytes.len() as u64;
    for args in [
        &["inspect", "--kernels", "--deep", "--json", "tree"][..],
        &["inspect", "--kernels", "tree"],
        &["verify", "--deep", "--json", "tree"],
        &["abi", "dump", "tree"],
        &["slice", "-c", "9.0", "--deep", "--dry-run", "tree"],
    ] {
        let (code, peak, printed) = run(dir.path(), args);
        let name = format!("{}/{} {}", shape.class, shape.name, args.join(" "));
        assert!(peak < most, "{name}: {} MiB for {} KiB", peak >> 20, bytes.len() >> 10);
        assert!(code < 100, "{name}: exit {code}");
        if args[0] == "inspect" {
            assert!(printed.contains("honest"), "{name}: the honest file is not examined\n{printed:.2000}");
        }
    }
}

macro_rules! classes {
    ($($class:ident),* $(,)?) => {
        $(#[test]
        fn $class() {
            SHAPES.iter().filter(|shape| shape.class == stringify!($class)).for_each(bounded);
        })*

        #[test]
        fn every_class_has_three_shapes_and_a_test() {
            for class in [$(stringify!($class)),*] {
                assert!(SHAPES.iter().filter(|shape| shape.class == class).count() >= 3, "{class}");
            }
            assert!(SHAPES.iter().all(|shape| [$(stringify!($class)),*].contains(&shape.class)));
        }
    };
}

classes! { archives, cubins, fatbins, names, notes, offload, ptx, quadratic, sections, spirv, versions }

/// A setting allows more: what was left out is examined then.
#[test]
fn a_setting_raises_the_limits() {
    let dir = scratch();
    // Names of 5 MiB in all of a file of 5 KiB take as much of the budget as 40 MiB.
    let shape = SHAPES.iter().find(|shape| shape.name == "exports-share-one").unwrap();
    fs_err::write(dir.path().join("a.so"), (shape.make)(96 << 10)).unwrap();
    let dump = |limits: &str| {
        let mut command = Command::new(program());
        let output = command.args(["abi", "dump", "a.so"]).env("SIMPACK_LIMITS", limits).current_dir(dir.path());
        output.output().unwrap().status.code()
    };
    assert_ne!(dump("1"), Some(0));
    assert_eq!(dump("8"), Some(0));
}
