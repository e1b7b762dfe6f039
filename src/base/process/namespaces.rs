//! A sandbox made of the kernel's namespaces: own users, mounts, processes, network, IPC and host name.
//!
//! Everything happens between `fork` and `exec`, so it is prepared as C strings before and done by
//! system calls only: other threads may have held locks when this process was copied.
//!
//! Three processes take part: one outside that waits and ends as the program did, the first of the new
//! process namespace that makes the mounts and collects what ends, and the program itself. When the
//! program ends, the kernel ends everything that it left running.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

use super::Call;
use super::sandbox::{DEVICES, Sandbox};
use crate::error::{Error, Result};

/// One deed while the new root is made; paths to are below the new root.
enum MountOp {
    Directory(CString),
    File(CString),
    Link { text: CString, path: CString },
    Bind { from: CString, to: CString, writable: bool },
    Memory(CString),
    Processes(CString),
}

/// Everything that is needed to enter, made before the fork.
struct Entry {
    user: bool,
    /// Who waits for the outer process.
    caller: u32,
    users: Vec<u8>,
    groups: Vec<u8>,
    root: CString,
    deeds: Vec<MountOp>,
    dir: CString,
}

/// The call, which enters its namespaces before it starts.
pub(super) fn command(sandbox: &Sandbox, user: bool, call: &Call) -> Result<Command> {
    let entry = Entry::new(sandbox, user, call)?;
    let mut command = call.plain();
    // SAFETY: `enter` makes system calls on memory that the closure owns, and allocates nothing.
    unsafe {
        command.pre_exec(move || entry.enter());
    }
    Ok(command)
}

fn text(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::file(path, "the name holds a NUL byte"))
}

impl Entry {
    fn new(sandbox: &Sandbox, user: bool, call: &Call) -> Result<Self> {
        let inside = |path: &Path| -> PathBuf { sandbox.root.join(path.strip_prefix("/").unwrap_or(path)) };
        let mut deeds = Vec::new();
        let parents = |deeds: &mut Vec<MountOp>, path: &Path| -> Result<()> {
            let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|dir| dir.parent().is_some()).collect();
            above.reverse();
            above.into_iter().try_for_each(|dir| {
                deeds.push(MountOp::Directory(text(&inside(dir))?));
                Ok(())
            })
        };
        for dir in ["/proc", "/dev", "/dev/shm", "/tmp"] {
            deeds.push(MountOp::Directory(text(&inside(Path::new(dir)))?));
        }
        deeds.push(MountOp::Processes(text(&inside(Path::new("/proc")))?));
        deeds.push(MountOp::Memory(text(&inside(Path::new("/dev/shm")))?));
        for name in DEVICES {
            let path = Path::new("/dev").join(name);
            deeds.push(MountOp::File(text(&inside(&path))?));
            deeds.push(MountOp::Bind { from: text(&path)?, to: text(&inside(&path))?, writable: true });
        }
        for (path, to) in [
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "/proc/self/fd/0"),
            ("/dev/stdout", "/proc/self/fd/1"),
            ("/dev/stderr", "/proc/self/fd/2"),
        ] {
            deeds.push(MountOp::Link { text: text(Path::new(to))?, path: text(&inside(Path::new(path)))? });
        }
        for (path, to) in &sandbox.links {
            deeds.push(MountOp::Link { text: text(to)?, path: text(&inside(path))? });
        }
        let temporary = inside(Path::new("/tmp"));
        deeds.push(MountOp::Bind { from: text(&sandbox.temporary)?, to: text(&temporary)?, writable: true });
        for (path, writable) in sandbox.mounts() {
            parents(&mut deeds, path)?;
            let to = text(&inside(path))?;
            deeds.push(if path.is_dir() { MountOp::Directory(to.clone()) } else { MountOp::File(to.clone()) });
            deeds.push(MountOp::Bind { from: text(path)?, to, writable });
        }
        // SAFETY: no arguments, cannot fail.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        Ok(Self {
            user,
            caller: std::process::id(),
            users: format!("{uid} {uid} 1").into_bytes(),
            groups: format!("{gid} {gid} 1").into_bytes(),
            root: text(&sandbox.root)?,
            deeds,
            dir: text(call.dir.as_deref().unwrap_or(Path::new("/")))?,
        })
    }

    /// Runs in the copied process, and goes on in the program's own; the others never return.
    ///
    /// # Safety
    /// Only between `fork` and `exec`.
    unsafe fn enter(&self) -> io::Result<()> {
        // SAFETY: system calls on strings that live as long as `self`.
        unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                size_of::<AtomicI32>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if page == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // A new page is zero and shared by the three processes.
            let ended = &*page.cast::<AtomicI32>();
            let user = if self.user { libc::CLONE_NEWUSER } else { 0 };
            let own = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWNET;
            check(libc::unshare(user | own | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS))?;
            if self.user {
                write_file(c"/proc/self/setgroups", b"deny")?;
                write_file(c"/proc/self/uid_map", &self.users)?;
                write_file(c"/proc/self/gid_map", &self.groups)?;
            }
            // Whoever waits for the outer process ends the program by ending that one.
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if libc::getppid() as u32 != self.caller {
                // It ended before that was arranged.
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            match check(libc::fork())? {
                0 => {}
                first => wait_outside(first, ended),
            }
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            self.make_root()?;
            drop_rights()?;
            match check(libc::fork())? {
                0 => Ok(()),
                program => wait_inside(program, ended),
            }
        }
    }

    /// # Safety
    /// As [`Self::enter`].
    unsafe fn make_root(&self) -> io::Result<()> {
        let none: *const libc::c_char = std::ptr::null();
        // SAFETY: system calls on strings that live as long as `self`.
        unsafe {
            check(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))?;
            let root = self.root.as_ptr();
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            check(libc::mount(c"simpack".as_ptr(), root, c"tmpfs".as_ptr(), flags, c"mode=0755".as_ptr().cast()))?;
            for deed in &self.deeds {
                deed.perform()?;
            }
            check(libc::chdir(root))?;
            let here = c".".as_ptr();
            check(libc::syscall(libc::SYS_pivot_root, here, here) as libc::c_int)?;
            check(libc::umount2(here, libc::MNT_DETACH))?;
            let flags = flags | libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
            check(libc::mount(none, c"/".as_ptr(), none, flags, none.cast()))?;
            check(libc::chdir(self.dir.as_ptr()))?;
            check(libc::sethostname(c"simpack".as_ptr(), 7))?;
        }
        Ok(())
    }
}

impl MountOp {
    /// # Safety
    /// As [`Entry::enter`].
    unsafe fn perform(&self) -> io::Result<()> {
        let none: *const libc::c_char = std::ptr::null();
        // SAFETY: system calls on strings that live as long as `self`.
        unsafe {
            match self {
                Self::Directory(path) => there(libc::mkdir(path.as_ptr(), 0o755)),
                Self::File(path) => there(libc::mknod(path.as_ptr(), libc::S_IFREG | 0o644, 0)),
                Self::Link { text, path } => check(libc::symlink(text.as_ptr(), path.as_ptr())).map(drop),
                Self::Memory(path) => {
                    let (name, flags) = (c"tmpfs".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV);
                    check(libc::mount(name, path.as_ptr(), name, flags, c"mode=1777".as_ptr().cast())).map(drop)
                }
                Self::Processes(path) => {
                    // What can be written there are settings of the kernel, and root may without any right. In a
                    // container whose own /proc is covered in parts, the kernel makes no new one: then these are no
                    // means, for the machine's own would show all its processes.
                    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
                    let name = c"proc".as_ptr();
                    check(libc::mount(name, path.as_ptr(), name, flags, none.cast())).map(drop)
                }
                Self::Bind { from, to, writable } => {
                    let flags = libc::MS_BIND | libc::MS_REC;
                    check(libc::mount(from.as_ptr(), to.as_ptr(), none, flags, none.cast()))?;
                    if *writable { Ok(()) } else { read_only(to) }
                }
            }
        }
    }
}

/// Makes a mount, and those below it, read only.
unsafe fn read_only(path: &CString) -> io::Result<()> {
    /// `struct mount_attr` of mount_setattr(2).
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = Attributes { set: libc::MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user_namespace: 0 };
    let none: *const libc::c_char = std::ptr::null();
    // SAFETY: the structures live through the calls, and their sizes are given.
    unsafe {
        let answer = libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        );
        if answer == 0 {
            return Ok(());
        }
        // Before Linux 5.12: one mount at a time, and flags that it has must be kept.
        let mut found = std::mem::zeroed::<libc::statvfs>();
        check(libc::statvfs(path.as_ptr(), &raw mut found))?;
        let kept = [
            (libc::ST_NOSUID, libc::MS_NOSUID),
            (libc::ST_NODEV, libc::MS_NODEV),
            (libc::ST_NOEXEC, libc::MS_NOEXEC),
            (libc::ST_NOATIME, libc::MS_NOATIME),
            (libc::ST_NODIRATIME, libc::MS_NODIRATIME),
            (libc::ST_RELATIME, libc::MS_RELATIME),
        ];
        let start = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
        let flags = kept.iter().filter(|(has, _)| found.f_flag & has != 0).fold(start, |flags, (_, flag)| flags | flag);
        check(libc::mount(none, path.as_ptr(), none, flags, none.cast())).map(drop)
    }
}

/// Gives up every right that the new namespaces brought: mounts stay as they are.
unsafe fn drop_rights() -> io::Result<()> {
    /// Header and data of capset(2), version 3.
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [[0_u32; 3]; 2];
    // SAFETY: the structures live through the call; the other calls take numbers.
    unsafe {
        for right in 0..64 {
            // Numbers past the kernel's last right are refused.
            if libc::prctl(libc::PR_CAPBSET_DROP, right, 0, 0, 0) != 0 {
                break;
            }
        }
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        check(libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) as libc::c_int).map(drop)
    }
}

/// The process outside: waits, then ends as the program did.
unsafe fn wait_outside(first: libc::pid_t, ended: &AtomicI32) -> ! {
    // SAFETY: system calls on numbers and on the shared page.
    unsafe {
        close_all();
        let mut status = 0;
        while libc::waitpid(first, &raw mut status, 0) < 0 && *libc::__errno_location() == libc::EINTR {}
        let told = ended.load(Ordering::SeqCst);
        // Nothing told: the first process of the namespace ended before the program did.
        let status = if told == 0 { status } else { told - 1 };
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
        }
        libc::_exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 255 })
    }
}

/// The first process inside: collects whatever ends until the program has ended.
unsafe fn wait_inside(program: libc::pid_t, ended: &AtomicI32) -> ! {
    // SAFETY: as above.
    unsafe {
        close_all();
        loop {
            let mut status = 0;
            let gone = libc::waitpid(-1, &raw mut status, 0);
            if gone == program {
                ended.store(status.wrapping_add(1), Ordering::SeqCst);
                libc::_exit(0);
            }
            if gone < 0 && *libc::__errno_location() != libc::EINTR {
                libc::_exit(255);
            }
        }
    }
}

/// Closes everything but the standard streams: `exec` in the program closes the pipe that tells the
/// caller that it started, and no other process may keep it open.
unsafe fn close_all() {
    // SAFETY: numbers only.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) != 0 {
            for descriptor in 3..4096 {
                libc::close(descriptor);
            }
        }
    }
}

unsafe fn write_file(path: &std::ffi::CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the buffer lives through the call.
    unsafe {
        let file = check(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?;
        let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        let error = io::Error::last_os_error();
        libc::close(file);
        if written == bytes.len() as isize { Ok(()) } else { Err(error) }
    }
}

fn check(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// What is there already need not be made; below a mount that is read only, it is.
fn there(answer: libc::c_int) -> io::Result<()> {
    match check(answer) {
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) || error.raw_os_error() == Some(libc::EROFS) => Ok(()),
        other => other.map(drop),
    }
}
