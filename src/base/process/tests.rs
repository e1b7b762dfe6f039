//! What sandboxes keep in, by every means that the machine has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Call, Isolation, Outcome, Sandbox, candidates};

/// A directory with a declared file, one that is not, and the step's own directory.
struct Scene {
    dir: tempfile::TempDir,
    by: Isolation,
}

impl Scene {
    fn path(&self, below: &str) -> PathBuf {
        std::fs::canonicalize(self.dir.path()).unwrap().join(below)
    }

    fn sandbox(&self) -> Sandbox {
        let top = ["/usr", "/bin", "/lib", "/lib64", "/nix/store"].map(PathBuf::from);
        let links = top.iter().filter_map(|path| Some((path.clone(), std::fs::read_link(path).ok()?)));
        let links: BTreeMap<_, _> = links.collect();
        let mut read: BTreeSet<_> = top.into_iter().filter(|path| path.exists() && !links.contains_key(path)).collect();
        read.insert(self.path("declared"));
        read.insert(self.path("one/file"));
        Sandbox {
            by: self.by.clone(),
            read,
            write: [self.path("work")].into(),
            links,
            temporary: self.path("work/tmp"),
            root: self.path("work/root"),
        }
    }

    fn sh(&self, script: &str) -> Outcome {
        let call = Call::new("/bin/sh").args(["-c", script]).dir(self.path("work"));
        call.env("TOP", self.path("").to_str().unwrap()).within(Some(self.sandbox())).run().unwrap()
    }
}

/// Every means that works here, with a scene of its own.
fn scenes() -> Vec<Scene> {
    let scene = |by| {
        let dir = tempfile::tempdir().unwrap();
        for below in ["declared", "one", "other", "work/tmp", "work/root"] {
            std::fs::create_dir_all(dir.path().join(below)).unwrap();
        }
        for below in ["declared/file", "one/file", "one/secret", "other/file"] {
            std::fs::write(dir.path().join(below), below).unwrap();
        }
        Scene { dir, by }
    };
    let scenes: Vec<_> = candidates().into_iter().map(scene).collect();
    let works = |scene: &Scene| scene.sandbox().probe(&scene.path("declared")).is_ok();
    let scenes: Vec<_> = scenes.into_iter().filter(works).collect();
    if scenes.is_empty() {
        crate::skip::skip("this kernel has no means to isolate a program");
    }
    scenes
}

#[test]
fn only_what_is_declared_can_be_read_and_only_the_own_directory_written() {
    for scene in scenes() {
        let by = &scene.by;
        assert_eq!(scene.sh("cat $TOP/declared/file $TOP/one/file").stdout_text(), "declared/fileone/file", "{by}");
        for hidden in ["$TOP/other/file", "$TOP/one/secret", "/etc/passwd"] {
            let outcome = scene.sh(&format!("cat {hidden}"));
            assert!(!outcome.status.success() && outcome.stdout.is_empty(), "{by}: {hidden}: {}", outcome.all_text());
        }
        for protected in ["$TOP/declared/new", "$TOP/declared/file", "$TOP/other/new", "/usr/new", "/new"] {
            let outcome = scene.sh(&format!("echo 1 > {protected}"));
            assert!(!outcome.status.success(), "{by}: {protected} could be written");
        }
        assert_eq!(std::fs::read(scene.path("declared/file")).unwrap(), b"declared/file");
        let outcome = scene.sh("echo made > file && mkdir -p a && mv file a/file && echo 1 > /dev/null && pwd");
        assert!(outcome.status.success(), "{by}: {}", outcome.all_text());
        assert_eq!(Path::new(outcome.stdout_text().trim()), scene.path("work"), "{by}");
        assert_eq!(std::fs::read(scene.path("work/a/file")).unwrap(), b"made\n", "{by}");
    }
}

#[test]
fn what_a_program_takes_is_seen_from_outside() {
    for scene in scenes() {
        // 64 MiB in one string of a shell variable, in a child of the program.
        let script = "(x=$(head -c 67108864 /dev/zero | tr '\\0' x); sleep 0.3; echo ${#x}); true";
        let call = Call::new("/bin/sh").args(["-c", script]).dir(scene.path("work")).within(Some(scene.sandbox()));
        let ran = call.run_watched(None).unwrap();
        assert_eq!(ran.outcome.stdout_text(), "67108864\n", "{}", scene.by);
        assert!(ran.peak > 64 << 20, "{}: {}", scene.by, ran.peak);
        assert!(ran.cpu > std::time::Duration::from_millis(10), "{}: {:?}", scene.by, ran.cpu);
    }
}

#[test]
fn a_listening_port_of_the_machine_cannot_be_reached() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let connect =
        |sandbox| Call::new("/bin/bash").args(["-c", script.as_str()]).within(sandbox).dir("/").run().unwrap();
    assert_eq!(connect(None).stdout_text(), "connected\n", "the port can be reached from outside");
    for scene in scenes() {
        let outcome = connect(Some(scene.sandbox()));
        assert!(!outcome.status.success() && outcome.stdout.is_empty(), "{}: {}", scene.by, outcome.all_text());
    }
}

#[test]
fn programs_end_as_they_do_outside() {
    for scene in scenes() {
        let by = &scene.by;
        for (script, how) in [
            ("exit 0", "exit 0"),
            ("exit 3", "exit 3"),
            ("kill -9 $$", "killed by SIGKILL"),
            ("kill -11 $$", "killed by SIGSEGV"),
            ("echo said; echo told >&2; exit 1", "exit 1"),
        ] {
            assert_eq!(scene.sh(script).how(), how, "{by}: {script}");
        }
        let outcome = scene.sh("echo said; echo told >&2");
        assert_eq!((outcome.stdout_text().as_str(), outcome.all_text().as_str()), ("said\n", "told\nsaid\n"), "{by}");
        let missing = Call::new("/no/such/program").dir("/").within(Some(scene.sandbox())).run();
        assert!(missing.map_or(true, |outcome| !outcome.status.success()), "{by}");
    }
}

#[test]
fn what_a_program_leaves_running_ends_with_it() {
    for scene in scenes().into_iter().filter(|scene| scene.by != Isolation::Landlock) {
        let started = std::time::Instant::now();
        let outcome = scene.sh("(sleep 60; echo late > late) & echo started");
        assert_eq!(outcome.stdout_text(), "started\n");
        assert!(started.elapsed().as_secs() < 30, "{}: waited for what was left", scene.by);
    }
}

#[test]
fn a_program_has_no_rights_to_undo_its_sandbox() {
    for scene in scenes().into_iter().filter(|scene| scene.by != Isolation::Landlock) {
        let by = &scene.by;
        let outcome = scene.sh("grep -E '^Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status");
        let text = outcome.stdout_text();
        let words: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
        assert_eq!(words, ["0000000000000000", "0000000000000000", "0000000000000000", "1"], "{by}: {text}");
        let outcome = scene.sh("ls -d /proc/[0-9]*");
        assert!(outcome.stdout_text().lines().count() < 6, "{by}: {}", outcome.stdout_text());
    }
}

/// The loader of every program writes where `LD_DEBUG_OUTPUT` says: of a helper outside, into any directory.
#[test]
fn variables_of_a_step_reach_no_program_outside_of_its_sandbox() {
    for scene in scenes() {
        let output = scene.path("other/loader");
        let call = Call::new("/bin/sh").args(["-c", "echo $TOP"]).dir(scene.path("work"));
        let call =
            call.env("TOP", "seen").env("LD_DEBUG", "statistics").env("LD_DEBUG_OUTPUT", output.to_str().unwrap());
        let outcome = call.within(Some(scene.sandbox())).run().unwrap();
        assert!(outcome.stdout_text().contains("seen\n"), "{}: its own variables are there", scene.by);
        let written: Vec<_> = std::fs::read_dir(scene.path("other")).unwrap().flatten().collect();
        assert_eq!(written.len(), 1, "{}: {written:?}", scene.by);
    }
}

/// Also root's: what the kernel lets be changed through files is that of the whole machine.
#[test]
fn settings_of_the_kernel_cannot_be_written() {
    for scene in scenes() {
        let files = "/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sysrq-trigger \
                     /proc/irq/default_smp_affinity /sys/kernel/uevent_helper /sys/kernel/mm/ksm/run";
        // Opening for appending writes nothing.
        let script =
            format!("for file in {files}; do if test -e $file && (: >> $file) 2>/dev/null; then echo $file; fi; done");
        let outcome = scene.sh(&script);
        assert_eq!(outcome.all_text(), "", "{}", scene.by);
        let outcome = scene.sh("test -w /proc/bus || test -d /sys/kernel && test -w /sys/kernel; echo $?");
        let is_hidden = scene.by != Isolation::Landlock;
        assert_eq!(outcome.stdout_text(), if is_hidden { "1\n" } else { "0\n" }, "{}", scene.by);
    }
}

/// A terminal that a program can open takes what it types there for the user's (`TIOCSTI`).
#[test]
fn a_program_has_no_terminal() {
    const NAME: &str = "process::tests::a_program_has_no_terminal";
    if std::env::var_os("SIMPACK_TEST_TERMINAL").is_some() {
        let script = "(exec 3<>/dev/tty) 2>/dev/null && echo opened; true";
        assert_eq!(Call::new("/bin/sh").args(["-c", script]).run().unwrap().stdout_text(), "opened\n");
        for scene in scenes() {
            assert_eq!(scene.sh(script).stdout_text(), "", "{}", scene.by);
        }
        let watched = Call::new("/bin/sh").args(["-c", script]).run_watched(None).unwrap();
        assert_eq!(watched.outcome.stdout_text(), "", "a step without a sandbox");
        return;
    }
    let (mut main, mut side) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: two numbers that live through the call; the other pointers may be null.
    assert_eq!(unsafe { libc::openpty(&raw mut main, &raw mut side, none, none.cast(), none.cast()) }, 0);
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", NAME, "--nocapture"]).env("SIMPACK_TEST_TERMINAL", "1");
    // SAFETY: system calls on numbers.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut again, move || {
            match libc::setsid() >= 0 && libc::ioctl(side, libc::TIOCSCTTY, 0) == 0 {
                true => Ok(()),
                false => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
