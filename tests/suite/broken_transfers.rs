//! Transfers that break off, and transfers that are interrupted: the next run goes on where they stopped, and
//! ends in the same bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use simpack::fs::Digest;

use crate::support::{Ran, Tiny, changed, digests};

/// Bytes that a server gives that breaks off or goes silent.
const PART: usize = 60_000;

/// What the server does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Whole,
    /// Closes the connection after a part.
    BreaksOff,
    /// Says nothing more after a part.
    GoesSilent,
}

/// A server of one file, on a port of this machine.
struct Server {
    address: String,
    manner: Arc<Mutex<Manner>>,
    /// First byte of each answer.
    asked: Arc<Mutex<Vec<usize>>>,
}

impl Server {
    fn new(file: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let manner = Arc::new(Mutex::new(Manner::Whole));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (own_manner, own_asked) = (manner.clone(), asked.clone());
        // The thread ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (file, manner, asked) = (file.clone(), *own_manner.lock().unwrap(), own_asked.clone());
                std::thread::spawn(move || answer(stream, &file, manner, &asked));
            }
        });
        Self { address, manner, asked }
    }

    fn is_now(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    fn asked(&self) -> Vec<usize> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn answer(mut stream: TcpStream, file: &[u8], manner: Manner, asked: &Mutex<Vec<usize>>) {
    let mut start = 0;
    for line in BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok) {
        if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
            start = range.trim_end_matches('-').parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    asked.lock().unwrap().push(start);
    let rest = &file[start..];
    let status = match start {
        0 => "200 x\r\n".to_owned(),
        _ => format!("206 x\r\ncontent-range: bytes {start}-{}/{}\r\n", file.len() - 1, file.len()),
    };
    let _ = write!(stream, "HTTP/1.1 {status}connection: close\r\ncontent-length: {}\r\n\r\n", rest.len());
    let end = if manner == Manner::Whole { rest.len() } else { PART.min(rest.len()) };
    // Whoever is interrupted closes its end.
    let _ = stream.write_all(&rest[..end]);
    let _ = stream.flush();
    if manner == Manner::GoesSilent {
        let _ = stream.read(&mut [0; 1]);
    }
}

/// A recipe whose source comes from the server, and what a transfer without trouble leads to.
fn scene() -> (Tiny, Server, impl Fn(&Tiny) -> Command) {
    let tiny = Tiny::new();
    let mut noise = Vec::new();
    let mut block = Digest::of(b"noise");
    while noise.len() < 4 * PART {
        noise.extend_from_slice(block.as_bytes());
        block = Digest::of(block.as_bytes());
    }
    fs_err::create_dir(tiny.path("tiny-1.0")).unwrap();
    for name in ["LICENSE", "build.sh", "sim.cc"] {
        fs_err::rename(tiny.path("recipe").join(name), tiny.path("tiny-1.0").join(name)).unwrap();
    }
    fs_err::write(tiny.path("tiny-1.0/noise"), noise).unwrap();
    let packed = ["-czf", "tiny-1.0.tar.gz", "tiny-1.0"];
    Ran::of(Command::new("tar").args(packed).current_dir(tiny.path("."))).exit(0);
    let file = fs_err::read(tiny.path("tiny-1.0.tar.gz")).unwrap();
    let sha256 = Digest::of(&file);
    let server = Server::new(file);
    let source = format!("url = \"http://{}/tiny-1.0.tar.gz\"\nsha256 = \"{sha256}\"", server.address);
    tiny.change("path = \".\"", &source);
    let build = |tiny: &Tiny| {
        let mut command = tiny.build(&[]);
        for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
            command.env_remove(name);
        }
        command.env("PIP_RETRIES", "0").env("PIP_TIMEOUT", "60").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    (tiny, server, build)
}

#[test]
fn a_transfer_that_broke_off_goes_on_in_the_next_run() {
    let (tiny, server, build) = scene();
    Ran::of(&mut build(&tiny)).exit(0);
    let expected = tiny.dist();
    assert_eq!(server.asked(), [0]);
    for name in ["cache", "dist", "target"] {
        fs_err::remove_dir_all(tiny.path(name)).unwrap();
    }
    server.is_now(Manner::BreaksOff);
    for start in [0, PART] {
        let ran = Ran::of(&mut build(&tiny)).exit(4);
        assert!(ran.stderr.contains("the next run goes on from there"), "{}", ran.stderr);
        assert_eq!(server.asked(), [start]);
        assert!(!tiny.path("dist").exists());
    }
    server.is_now(Manner::Whole);
    Ran::of(&mut build(&tiny)).exit(0);
    assert_eq!(server.asked(), [2 * PART]);
    assert_eq!(changed(&expected, &tiny.dist()), [""; 0]);
}

#[test]
fn a_transfer_that_is_interrupted_is_told_and_goes_on_in_the_next_run() {
    let (tiny, server, build) = scene();
    server.is_now(Manner::GoesSilent);
    let child = build(&tiny).spawn().unwrap();
    let part = || {
        let downloads = std::fs::read_dir(tiny.path("cache/downloads")).into_iter().flatten().flatten();
        let parts = downloads.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "part"));
        parts.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum::<u64>()
    };
    let first = Instant::now();
    while part() < PART as u64 {
        assert!(first.elapsed() < Duration::from_secs(60), "nothing came");
        std::thread::sleep(Duration::from_millis(20));
    }
    let sent = Instant::now();
    Ran::of(Command::new("kill").args(["-INT", &child.id().to_string()])).exit(0);
    let ran = Ran::from(child.wait_with_output().unwrap()).exit(130);
    assert!(sent.elapsed() < Duration::from_secs(30), "{:?}", sent.elapsed());
    assert!(ran.stderr.contains("error: interrupted by SIGINT"), "{}", ran.stderr);
    assert!(ran.stderr.contains("what was fetched and built is kept"), "{}", ran.stderr);
    assert!(!tiny.path("dist").exists());
    assert_eq!(server.asked(), [0]);
    server.is_now(Manner::Whole);
    Ran::of(&mut build(&tiny)).exit(0);
    assert_eq!(server.asked(), [PART]);
    let resumed = tiny.dist();
    for name in ["cache", "dist", "target"] {
        fs_err::remove_dir_all(tiny.path(name)).unwrap();
    }
    Ran::of(&mut build(&tiny)).exit(0);
    assert_eq!(changed(&digests(&tiny.path("dist")), &resumed), [""; 0]);
}
