//! `--jobs` bounds everything together: the kernels' compilers and the processes of build systems; and no
//! job stays unused while there is work.

use crate::support::{CacheView, Ran, Tiny};

const MAKEFILE: &str = "\
PARTS = p1.o p2.o p3.o p4.o p5.o p6.o p7.o p8.o p9.o
libtiny.so.1.0.0: $(PARTS)
\t$(CXX) -shared -Wl,-soname,libtiny.so.1 -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--strip-debug -Wl,--as-needed -o $@ $(PARTS)
p%.o: sim.cc
\techo + >> '$(LOG)'; sleep 0.3; $(CXX) -O1 -fPIC -fvisibility=hidden -Dtiny=tiny$* -c -o $@ sim.cc; echo - >> '$(LOG)'
install:
\tmkdir -p $(DESTDIR)$(PREFIX)/lib
\tcp libtiny.so.1.0.0 $(DESTDIR)$(PREFIX)/lib/
\tln -s libtiny.so.1.0.0 $(DESTDIR)$(PREFIX)/lib/libtiny.so.1
";

const SCRIPT: &str = "\
for part in 1 2 3; do (echo + >> \"$LOG\"; sleep 0.2; echo - >> \"$LOG\") & [ $((part % JOBS)) = 0 ] && wait; done
wait
";

/// How many of the processes that log their beginning and end ran at once, at most.
fn most(log: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for line in log.lines() {
        now = if line == "+" { now + 1 } else { now - 1 };
        most = most.max(now);
    }
    assert_eq!(now, 0, "{log}");
    most
}

/// A simulator with kernels, whose nvcc logs its beginning and end.
fn logging() -> Option<Tiny> {
    let tiny = Tiny::with_kernels()?;
    let log = tiny.path("log").display().to_string();
    tiny.nvcc(&format!(
        "case \"$*\" in *-o*) echo + >> '{log}'; sleep 0.3; \"$NVCC\" \"$@\"; code=$?; echo - >> '{log}'; exit $code;; esac"
    ));
    Some(tiny)
}

#[test]
fn a_build_system_and_kernels_share_the_jobs() {
    let Some(tiny) = logging() else { return };
    let log = tiny.path("log").display().to_string();
    tiny.write("recipe/Makefile", MAKEFILE);
    tiny.change("driver = \"script\"", "driver = \"make\"");
    tiny.change("targets = [\"build.sh\"]", &format!("options = {{ LOG = \"{log}\" }}"));
    tiny.change("[\"build.sh\", \"sim.cc\"]", "[\"Makefile\", \"sim.cc\"]");
    tiny.change("files = [\"lib/**\", \"share/**\"]", "files = [\"lib/**\"]");
    for jobs in [3, 1] {
        let work = format!("work-{jobs}");
        let mut command = tiny.build(&["--jobs", &jobs.to_string(), "--work", &work]);
        Ran::of(command.env("SIMPACK_CACHE_DIR", tiny.path(&format!("cache-{jobs}")))).exit(0);
        let text = fs_err::read_to_string(tiny.path("log")).unwrap();
        assert_eq!(text.lines().count(), 2 * (9 + 2), "{text}");
        assert_eq!(most(&text), jobs, "{text}");
        let left = tiny.names(&work);
        assert!(left.iter().all(|name| !name.starts_with("step-")), "{left:?}");
        fs_err::remove_file(tiny.path("log")).unwrap();
    }
}

/// Nine objects, each from a copy of the source of its own.
const CMAKE: &str = "\
cmake_minimum_required(VERSION 3.18)
project(tiny CXX)
foreach(part RANGE 1 9)
  configure_file(sim.cc p${part}/sim.cc COPYONLY)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/p${part}/sim.cc PROPERTIES COMPILE_DEFINITIONS tiny=tiny${part})
  list(APPEND parts ${CMAKE_CURRENT_BINARY_DIR}/p${part}/sim.cc)
endforeach()
add_library(tiny SHARED ${parts})
set_target_properties(tiny PROPERTIES SOVERSION 1)
target_link_options(tiny PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--strip-debug -Wl,--as-needed)
install(TARGETS tiny LIBRARY DESTINATION lib NAMELINK_SKIP)
";

#[test]
fn ninja_below_cmake_shares_the_jobs_too() {
    let Some(tiny) = logging() else { return };
    let log = tiny.path("log").display().to_string();
    let real = which::which("g++").unwrap();
    // Compilations count, links do not: those have the objects' names only.
    tiny.compiler(&format!(
        "case \" $* \" in *\" -c \"*) echo + >> '{log}'; sleep 0.3; '{}' \"$@\"; code=$?; echo - >> '{log}'; exit $code;; esac",
        real.display()
    ));
    tiny.write("recipe/CMakeLists.txt", CMAKE);
    tiny.change("driver = \"script\"", "driver = \"cmake\"");
    tiny.change("targets = [\"build.sh\"]\n", "");
    tiny.change("[\"build.sh\", \"sim.cc\"]", "[\"CMakeLists.txt\", \"sim.cc\"]");
    tiny.change("files = [\"lib/**\", \"share/**\"]", "files = [\"lib/**\"]");
    for jobs in [3, 1] {
        // CMake and ninja are those of this user's cache.
        let view = CacheView::new(&[]);
        let mut command = tiny.build(&["--jobs", &jobs.to_string(), "--work", &format!("work-{jobs}")]);
        Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
        let text = fs_err::read_to_string(tiny.path("log")).unwrap();
        assert_eq!(text.lines().count(), 2 * (9 + 2), "{text}");
        assert_eq!(most(&text), jobs, "{text}");
        fs_err::remove_file(tiny.path("log")).unwrap();
    }
}

#[test]
fn a_script_has_half_of_the_jobs_for_itself() {
    let Some(tiny) = logging() else { return };
    let log = tiny.path("log").display().to_string();
    let build = fs_err::read_to_string(tiny.path("recipe/build.sh")).unwrap();
    tiny.write("recipe/build.sh", &format!("{build}{SCRIPT}"));
    tiny.change("targets = [\"build.sh\"]", &format!("targets = [\"build.sh\"]\noptions = {{ LOG = \"{log}\" }}"));
    Ran::of(&mut tiny.build(&["--jobs", "3"])).exit(0);
    let text = fs_err::read_to_string(tiny.path("log")).unwrap();
    assert_eq!(text.lines().count(), 2 * (3 + 2), "{text}");
    assert!((2..=3).contains(&most(&text)), "{text}");
}

/// A build system that is stopped keeps its tokens; the engine makes them good for what else is to do.
#[test]
fn what_a_stopped_build_system_took_comes_back() {
    let Some(tiny) = logging() else { return };
    tiny.write("recipe/Makefile", "all: a b c d\na b c d:\n\tsleep 600\n");
    tiny.change("driver = \"script\"", "driver = \"make\"");
    tiny.change("targets = [\"build.sh\"]\n", "");
    tiny.change("[\"build.sh\", \"sim.cc\"]", "[\"Makefile\", \"sim.cc\"]");
    let ran = Ran::of(&mut tiny.build(&["--jobs", "2", "--step-timeout", "10s", "--keep-going"])).exit(5);
    assert!(ran.stderr.contains("make did not end on host core within 10 s"), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 finished steps are kept"), "{}", ran.stderr);
}

/// What nvcc writes beside its output, and what a host build installs at the place of a kernel.
#[test]
fn every_file_has_one_maker_that_declares_it() {
    let Some(tiny) = Tiny::with_kernels() else { return };
    let beside = "\"$NVCC\" \"$@\" || exit $?\nwhile [ $# -gt 0 ]; do\n  if [ \"$1\" = -o ]; then touch \"$(dirname \
                  \"$2\")/tiny.ii\"; fi\n  shift\ndone\nexit 0";
    tiny.nvcc(&format!("case \"$*\" in *-o*)\n{beside}\n;; esac"));
    let ran = Ran::of(&mut tiny.build(&[])).exit(5);
    assert!(ran.stderr.contains("leaves tiny.ii, which it does not declare"), "{}", ran.stderr);
    assert!(!tiny.path("dist").exists());
    tiny.nvcc("");
    let build = fs_err::read_to_string(tiny.path("recipe/build.sh")).unwrap();
    let place = "$PREFIX/lib/tiny/kernels/$TAG/cuda13/default/sm_90";
    tiny.write("recipe/build.sh", &format!("{build}mkdir -p \"{place}\"\ncp sim.cc \"{place}/tiny.cubin\"\n"));
    tiny.change("targets = [\"build.sh\"]", "targets = [\"build.sh\"]\noptions = { TAG = \"{kernel-abi}\" }");
    let ran = Ran::of(&mut tiny.build(&[])).exit(5);
    assert!(ran.stderr.contains("two steps make lib/tiny/kernels/"), "{}", ran.stderr);
    assert!(ran.stderr.contains("host core and kernels/tiny.cu sm_90"), "{}", ran.stderr);
}
