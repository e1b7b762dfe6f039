//! A real Grid Engine on this machine: a master, and one node of two slots, whose daemons end with the value.

use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::cluster::Cluster;
use super::program::{Ran, scratch};
use super::skip::skip;

/// Programs of Debian's packages, which are not on every PATH.
const PATHS: &str = "/usr/lib/gridengine:/usr/sbin:/usr/bin:/sbin:/bin";
/// What Debian's packages install for all cells.
const SHARED: &str = "/var/lib/gridengine";
/// What a new cell begins with.
const DEFAULTS: &str = "/usr/share/gridengine";

/// The daemons, below one directory.
pub struct GridEngine {
    root: tempfile::TempDir,
    ports: [u16; 2],
}

impl GridEngine {
    /// Starts one; none where it is not installed or this is not root.
    pub fn start() -> Option<Self> {
        let missing = ["sge_qmaster", "sge_execd", "qsub"]
            .into_iter()
            .find(|name| which::which_in(name, Some(PATHS), "/").is_err());
        // SAFETY: it only answers a number.
        if let Some(name) = missing.or((unsafe { libc::geteuid() } != 0).then_some("root")) {
            skip(&format!("a Grid Engine of its own needs {name}; `bash tests/run` sets it up as root with apt"));
            return None;
        }
        // Free now; nobody else on a machine of tests takes them before the daemons do.
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = listeners.each_ref().map(|one| one.local_addr().unwrap().port());
        drop(listeners);
        let cluster = Self { root: scratch(), ports };
        cluster.set_up();
        cluster.daemon("sge_qmaster", "qmaster.pid");
        cluster.until("the master answers", || cluster.command("qconf").arg("-sh").output().unwrap().status.success());
        cluster.asked("qconf", &["-as", "localhost"]);
        cluster.daemon("sge_execd", "execd.pid");
        let changed = |name: &str, text: &str, changes: &[(&str, &str)]| {
            let lines = text.lines().map(|line| {
                let change = changes.iter().find(|(key, _)| line.split_whitespace().next() == Some(key));
                change.map_or(line.to_owned(), |(key, value)| format!("{key} {value}")) + "\n"
            });
            let path = cluster.path(name);
            fs_err::write(&path, lines.collect::<String>()).unwrap();
            path.display().to_string()
        };
        let at_once = [("schedule_interval", "0:0:1"), ("flush_submit_sec", "1"), ("flush_finish_sec", "1")];
        let scheduler = changed("sched", &cluster.asked("qconf", &["-ssconf"]), &at_once);
        cluster.asked("qconf", &["-Msconf", &scheduler]);
        let one_node = "pe_name smp\nslots 999\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args NONE\nstop_proc_args NONE\n\
                        allocation_rule $pe_slots\ncontrol_slaves FALSE\njob_is_first_task TRUE\nurgency_slots min\n\
                        accounting_summary FALSE\nqsort_args NONE\n";
        cluster.asked("qconf", &["-Ap", &changed("pe", one_node, &[])]);
        let queue = [
            ("qname", "main.q"),
            ("hostlist", "localhost"),
            ("slots", "2"),
            ("pe_list", "smp"),
            ("rerun", "TRUE"),
            ("load_thresholds", "NONE"),
            ("shell_start_mode", "unix_behavior"),
        ];
        cluster.asked("qconf", &["-Aq", &changed("queue", &cluster.asked("qconf", &["-sq"]), &queue)]);
        let is_known = |line: &str| line.starts_with("main.q") && line.trim_end().ends_with("lx-amd64");
        cluster.until("the node is known", || cluster.asked("qstat", &["-f"]).lines().any(is_known));
        Some(cluster)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// What Debian's packages do when they are installed, below a directory of its own.
    fn set_up(&self) {
        for dir in ["root/default/common", "common", "spool", "master/job_scripts", "execd"] {
            fs_err::create_dir_all(self.path(dir)).unwrap();
        }
        for dir in ["bin", "lib", "util", "utilbin"] {
            symlink(Path::new(SHARED).join(dir), self.path("root").join(dir)).unwrap();
        }
        let host = Ran::of(&mut Command::new("hostname")).exit(0).stdout;
        let spool = format!("{};{}", self.path("common").display(), self.path("spool").display());
        let cell = self.path("root/default/common");
        fs_err::write(cell.join("act_qmaster"), "localhost\n").unwrap();
        // It calls machines by what their addresses lead to, which here is this.
        fs_err::write(cell.join("host_aliases"), format!("localhost {host}")).unwrap();
        let bootstrap = format!(
            "admin_user none\ndefault_domain none\nignore_fqdn true\nspooling_method classic\nspooling_lib libspoolc\n\
             spooling_params {spool}\nbinary_path /usr/sbin\nqmaster_spool_dir {}\nsecurity_mode none\nlistener_threads 2\n\
             worker_threads 2\nscheduler_threads 1\n",
            self.path("master").display()
        );
        fs_err::write(cell.join("bootstrap"), bootstrap).unwrap();
        self.asked("spoolinit", &["classic", "libspoolc", &spool, "init"]);
        let execd = self.path("execd").display().to_string();
        let settings = [
            ("execd_spool_dir", &*execd),
            ("min_uid", "0"),
            ("min_gid", "0"),
            ("load_report_time", "00:00:01"),
            ("reporting_params", "accounting=true reporting=false flush_time=00:00:00 joblog=false sharelog=00:00:00"),
        ];
        let usual = fs_err::read_to_string(Path::new(DEFAULTS).join("default-configuration")).unwrap();
        let lines = usual.lines().map(|line| {
            let own = settings.iter().find(|(key, _)| line.split_whitespace().next() == Some(key));
            own.map_or(line.to_owned(), |(key, value)| format!("{key} {value}")) + "\n"
        });
        fs_err::write(self.path("configuration"), lines.collect::<String>()).unwrap();
        let below = |name: &str| Path::new(DEFAULTS).join("util/resources").join(name).display().to_string();
        for (what, from) in [
            ("configuration", self.path("configuration").display().to_string()),
            ("complexes", below("centry")),
            ("usersets", below("usersets")),
            ("managers", "root".to_owned()),
        ] {
            self.asked("spooldefaults", &[what, &from]);
        }
    }

    fn daemon(&self, name: &str, pid: &str) {
        Ran::of(&mut self.command(name)).exit(0);
        self.until("it has started", || self.pid(pid).is_some());
    }

    /// A call of one of its programs.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(which::which_in(program, Some(PATHS), "/").unwrap());
        self.serve(&mut command).current_dir(self.root.path());
        command
    }

    /// What one of its programs prints.
    pub fn asked(&self, program: &str, args: &[&str]) -> String {
        Ran::of(self.command(program).args(args)).exit(0).stdout
    }

    fn pid(&self, file: &str) -> Option<i32> {
        fs_err::read_to_string(self.path(file)).ok()?.trim().parse().ok()
    }
}

impl Cluster for GridEngine {
    fn name(&self) -> &'static str {
        "gridengine"
    }

    fn serve<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("SGE_ROOT", self.path("root"))
            .env("SGE_CELL", "default")
            .env("SGE_QMASTER_PORT", self.ports[0].to_string())
            .env("SGE_EXECD_PORT", self.ports[1].to_string())
            .env("SGE_QMASTER_PIDFILE", self.path("qmaster.pid"))
            .env("SGE_EXECD_PIDFILE", self.path("execd.pid"))
    }

    fn tasks(&self) -> Vec<String> {
        let answer = self.asked("qstat", &["-g", "d"]);
        answer.lines().skip(2).filter_map(|line| line.split_whitespace().nth(4).map(str::to_owned)).collect()
    }

    fn log(&self) -> String {
        let log = |name: &str| fs_err::read_to_string(self.path(name)).unwrap_or_default();
        format!("{}\n{}", log("master/messages"), log("execd/localhost/messages"))
    }
}

impl Drop for GridEngine {
    fn drop(&mut self) {
        let _ = self.command("qdel").args(["-f", "-u", "root"]).output();
        for file in ["execd.pid", "qmaster.pid"] {
            let Some(pid) = self.pid(file) else { continue };
            // SAFETY: a signal to a process that this test started.
            unsafe { libc::kill(pid, libc::SIGTERM) };
            for _ in 0..50 {
                if !Path::new(&format!("/proc/{pid}")).exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}
