//! Files that ask for more than they are worth (`hostile_files`): whatever their shape, a verb takes memory in proportion
//! to their size, ends, and says what it left out; the honest file beside them is still examined.

#[path = "hostile_files.rs"]
mod hostile_files;
#[path = "hostile_run.rs"]
mod hostile_run;

use std::path::Path;
use std::process::{Command, Stdio};

use hostile_files::{SHAPES, Shape};
use hostile_run::{Ended, within};

use crate::support::{program, scratch, simpack};

/// Large enough that what grows faster than its input is seen.
const SIZE: usize = 512 << 10;
/// What simpack takes for an empty file, without optimisation and with its debug information mapped.
const PROGRAM: u64 = 96 << 20;
/// Seconds of processor time: not a measure, but an end for what would have none.
const MOST_SECONDS: u64 = 120;
/// Bytes of address space: threads reserve what they never use.
const MOST_ADDRESSES: u64 = 4 << 30;
const HONEST: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry honest(.param .u64 a) { ret; }\n";

/// Shapes that are much of something and no more: all of them is read. Of the others each verb leaves something out and
/// says so.
const WHOLE: [&str; 15] = [
    "names/many-short-symbols",
    "versions/needs-overlap",
    "versions/nodes-by-symbols",
    "quadratic/entries-by-symbols",
    "quadratic/segments-by-symbols",
    "notes/one-long-build-id",
    "sections/constants-overlap",
    "cubins/kernels-share-a-name",
    "cubins/many-kernels",
    "ptx/one-exploding-name",
    "ptx/exploding-names",
    "ptx/exploding-rust-name",
    "ptx/many-kernels",
    "offload/small-entries",
    "spirv/many-names",
];

/// Exit code, peak memory in bytes, what it printed.
fn run(dir: &Path, args: &[&str]) -> (i32, u64, String) {
    let output = dir.join("output");
    let mut command = simpack(dir, args);
    command.stdout(fs_err::File::create(&output).unwrap().into_file()).stderr(Stdio::null());
    let Ended { status, peak, time } = within(MOST_SECONDS, MOST_ADDRESSES, &mut command);
    assert!(libc::WIFEXITED(status), "{args:?} ended by signal {} after {time:?}", libc::WTERMSIG(status));
    (libc::WEXITSTATUS(status), peak, String::from_utf8_lossy(&fs_err::read(output).unwrap()).into_owned())
}

/// Runs the verbs that read a tree on one with the shape and an honest file.
fn bounded(shape: &Shape) {
    let dir = scratch();
    let tree = dir.path().join("tree");
    fs_err::create_dir(&tree).unwrap();
    let bytes = (shape.make)(SIZE);
    fs_err::write(tree.join(shape.file), &bytes).unwrap();
    fs_err::write(tree.join("honest.ptx"), HONEST).unwrap();
    let mut told = false;
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
        if args.contains(&"--json") {
            let report: serde_json::Value = serde_json::from_str(&printed).unwrap();
            let gaps = if args[0] == "inspect" { &report["subjects"][0]["unexamined"] } else { &report["incomplete"] };
            let gaps = gaps.as_array().unwrap();
            assert!(gaps.iter().all(|gap| !gap.to_string().contains("honest")), "{name}: {gaps:?}");
            told |= gaps.iter().any(|gap| gap.to_string().contains(shape.file));
        }
    }
    let name = format!("{}/{}", shape.class, shape.name);
    assert_eq!(told, !WHOLE.contains(&name.as_str()), "{name}: what was left out is told");
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

classes! { archives, cubins, fatbins, names, notes, offload, ptx, quadratic, sections, slices, spirv, versions }

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
