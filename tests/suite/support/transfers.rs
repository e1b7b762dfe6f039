//! A server of one file on a port of this machine, which can break off, fall silent, or be taken for a proxy.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use simpack::fs::Digest;

use super::program::Ran;
use super::tiny::Tiny;

/// Bytes that a server gives that breaks off or goes silent.
pub const PART: usize = 60_000;

/// Variables by which proxies are chosen.
pub const PROXIES: [&str; 8] =
    ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"];

/// What the server does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Whole,
    /// Closes the connection after a part.
    BreaksOff,
    /// Says nothing more after a part.
    GoesSilent,
}

/// A server of one file, on a port of this machine.
pub struct Server {
    pub address: String,
    manner: Arc<Mutex<Manner>>,
    /// First byte of each answer.
    asked: Arc<Mutex<Vec<usize>>>,
    /// First line of each request.
    lines: Arc<Mutex<Vec<String>>>,
    file: Vec<u8>,
}

impl Server {
    pub fn new(file: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let manner = Arc::new(Mutex::new(Manner::Whole));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (own_manner, own_asked, own_lines) = (manner.clone(), asked.clone(), lines.clone());
        let own_file = file.clone();
        // The thread ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (file, manner) = (own_file.clone(), *own_manner.lock().unwrap());
                let (asked, lines) = (own_asked.clone(), own_lines.clone());
                std::thread::spawn(move || answer(stream, &file, manner, &asked, &lines));
            }
        });
        Self { address, manner, asked, lines, file }
    }

    /// Another server of the same file.
    pub fn again(&self) -> Self {
        Self::new(self.file.clone())
    }

    /// First lines of the requests since the last call.
    pub fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }

    pub fn is_now(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub fn asked(&self) -> Vec<usize> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn answer(mut stream: TcpStream, file: &[u8], manner: Manner, asked: &Mutex<Vec<usize>>, lines: &Mutex<Vec<String>>) {
    let (mut start, mut first) = (0, String::new());
    for line in BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok) {
        if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
            start = range.trim_end_matches('-').parse().unwrap();
        }
        if first.is_empty() {
            first.clone_from(&line);
        }
        if line.is_empty() {
            break;
        }
    }
    let is_tunnel = first.starts_with("CONNECT ");
    lines.lock().unwrap().push(first);
    if is_tunnel {
        let _ = write!(stream, "HTTP/1.1 403 no tunnels here\r\ncontent-length: 0\r\n\r\n");
        return;
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
pub fn scene() -> (Tiny, Server, impl Fn(&Tiny) -> Command) {
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
        for name in PROXIES {
            command.env_remove(name);
        }
        command.env("PIP_RETRIES", "0").env("PIP_TIMEOUT", "60").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    (tiny, server, build)
}
