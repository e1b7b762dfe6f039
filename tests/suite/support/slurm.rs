//! A real Slurm on this machine: a controller, and two nodes of one processor each, whose daemons end with the value.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use simpack::fs::set_mode;

use super::cluster::Cluster;
use super::program::{Ran, scratch};
use super::skip::skip;

/// Programs of Debian's packages, which are not on every PATH.
const PATHS: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The daemons, below one directory.
pub struct Slurm {
    root: tempfile::TempDir,
}

impl Slurm {
    /// Starts one; none where it is not installed or this is not root.
    pub fn start() -> Option<Self> {
        let missing = ["munged", "slurmctld", "slurmd", "sbatch"]
            .into_iter()
            .find(|name| which::which_in(name, Some(PATHS), "/").is_err());
        // SAFETY: it only answers a number.
        if let Some(name) = missing.or((unsafe { libc::geteuid() } != 0).then_some("root")) {
            skip(&format!("a Slurm of its own needs {name}; `bash tests/run` sets it up as root with apt"));
            return None;
        }
        let slurm = Self { root: scratch() };
        let dir = slurm.root.path();
        fs_err::create_dir(dir.join("munge")).unwrap();
        set_mode(&dir.join("munge"), 0o700).unwrap();
        fs_err::create_dir(dir.join("state")).unwrap();
        let key = dir.join("munge/key");
        fs_err::write(&key, [7; 128]).unwrap();
        set_mode(&key, 0o600).unwrap();
        fs_err::write(slurm.conf(), slurm.text()).unwrap();
        let munge = dir.join("munge");
        let of = |option: &str, name: &str| format!("--{option}={}", munge.join(name).display());
        slurm.daemon(
            "munged",
            &[
                "--force",
                &of("socket", "sock"),
                &of("key-file", "key"),
                &of("log-file", "log"),
                &of("pid-file", "pid"),
                &of("seed-file", "seed"),
            ],
        );
        slurm.daemon("slurmctld", &[]);
        for node in ["n1", "n2"] {
            slurm.start_node(node);
        }
        slurm.until("both nodes are idle", || slurm.states() == ["idle", "idle"]);
        Some(slurm)
    }

    fn conf(&self) -> PathBuf {
        self.root.path().join("slurm.conf")
    }

    fn text(&self) -> String {
        let host = Ran::of(Command::new("hostname").arg("-s")).exit(0).stdout.trim().to_owned();
        // Free now; nobody else on a machine of tests takes them before the daemons do.
        let listeners: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|one| one.local_addr().unwrap().port()).collect();
        let dir = self.root.path().display();
        let nodes: String = (1..=2)
            .map(|number| {
                let port = ports[number];
                format!(
                    "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=3000 State=UNKNOWN\n"
                )
            })
            .collect();
        format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={dir}/munge/sock,cred_expire=5\nSlurmctldPort={}\nSlurmctldPidFile={dir}/ctld.pid\n\
             SlurmdPidFile={dir}/slurmd-%n.pid\nSlurmdSpoolDir={dir}/spool-%n\nStateSaveLocation={dir}/state\n\
             SlurmctldLogFile={dir}/ctld.log\nSlurmdLogFile={dir}/slurmd-%n.log\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\nDefMemPerNode=1000\n\
             JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\nJobAcctGatherParams=OverMemoryKill\n\
             SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0\nReturnToService=2\nSlurmdTimeout=4\n\
             KillWait=2\nJobRequeue=1\nMpiDefault=none\n{nodes}\
             PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            ports[0]
        )
    }

    fn daemon(&self, name: &str, args: &[&str]) {
        let mut command = self.command(name);
        if name != "munged" {
            command.arg("-f").arg(self.conf());
        }
        Ran::of(command.args(args)).exit(0);
    }

    /// Starts the daemon of a node.
    pub fn start_node(&self, node: &str) {
        self.daemon("slurmd", &["-N", node]);
    }

    /// Starts the daemon of a node anew, by the words of a shell before its own.
    pub fn restart_node(&self, node: &str, before: &str) {
        let pid = self.pid(&format!("slurmd-{node}.pid")).expect("the daemon runs");
        kill(pid, libc::SIGTERM);
        self.until("the daemon has ended", || !Path::new(&format!("/proc/{pid}")).exists());
        let daemon = which::which_in("slurmd", Some(PATHS), "/").unwrap();
        let line = format!("{before} '{}' -N {node} -f '{}'", daemon.display(), self.conf().display());
        Ran::of(Command::new("sh").args(["-c", &line]).env("SLURM_CONF", self.conf())).exit(0);
        self.until("it is idle", || self.asked("sinfo", &["-h", "-n", node, "-o", "%t"]).trim() == "idle");
    }

    /// Kills the daemon of a node with what runs there, as a machine that loses its power. What tasks started ends with them.
    pub fn kill_node(&self, node: &str) {
        kill(self.pid(&format!("slurmd-{node}.pid")).expect("the daemon runs"), libc::SIGKILL);
        let (node, conf) = (format!("SLURMD_NODENAME={node}"), format!("SLURM_CONF={}", self.conf().display()));
        let tasks: Vec<i32> = pids(|all| all.contains(&node) && all.contains(&conf));
        // What started them first: it would tell the controller of their end.
        let above = tasks.iter().filter_map(|pid| parent(*pid)).filter(|pid| name(*pid).starts_with("slurmstepd"));
        above.chain(tasks.iter().copied()).for_each(|pid| kill(pid, libc::SIGKILL));
    }

    /// A call of one of Slurm's programs.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(which::which_in(program, Some(PATHS), "/").unwrap());
        command.env("SLURM_CONF", self.conf()).current_dir(self.root.path());
        command
    }

    /// What one of Slurm's programs prints.
    pub fn asked(&self, program: &str, args: &[&str]) -> String {
        Ran::of(self.command(program).args(args)).exit(0).stdout
    }

    /// States of the nodes.
    fn states(&self) -> Vec<String> {
        let ran = Ran::of(self.command("sinfo").args(["-h", "-N", "-o", "%t"]));
        ran.stdout.lines().map(str::to_owned).collect()
    }

    fn pid(&self, file: &str) -> Option<i32> {
        fs_err::read_to_string(self.root.path().join(file)).ok()?.trim().parse().ok()
    }
}

impl Cluster for Slurm {
    fn name(&self) -> &'static str {
        "slurm"
    }

    fn serve<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("SLURM_CONF", self.conf())
    }

    fn tasks(&self) -> Vec<String> {
        self.asked("squeue", &["-h", "-r", "-o", "%T"]).lines().map(str::to_owned).collect()
    }

    fn log(&self) -> String {
        let log = |name: &str| fs_err::read_to_string(self.root.path().join(name)).unwrap_or_default();
        format!("{}\n{}", log("ctld.log"), log("slurmd-n1.log"))
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = Command::new("scancel").env("SLURM_CONF", self.conf()).args(["--user", "root"]).output();
        for _ in 0..50 {
            let mut left = self.command("squeue");
            if left.args(["-h", "-o", "%T"]).output().is_ok_and(|answer| answer.stdout.is_empty()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        for file in ["slurmd-n1.pid", "slurmd-n2.pid", "ctld.pid", "munge/pid"] {
            if let Some(pid) = self.pid(file) {
                kill(pid, libc::SIGTERM);
                for _ in 0..50 {
                    if !Path::new(&format!("/proc/{pid}")).exists() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }
}

fn kill(pid: i32, signal: i32) {
    // SAFETY: a signal to a process that this test started.
    unsafe { libc::kill(pid, signal) };
}

/// Processes whose environment fits.
fn pids(fits: impl Fn(&[String]) -> bool) -> Vec<i32> {
    let all = fs_err::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let environment = |pid: &i32| -> Vec<String> {
        let bytes = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).split('\0').map(str::to_owned).collect()
    };
    all.filter(|pid| fits(&environment(pid))).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn name(pid: i32) -> String {
    fs_err::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}
