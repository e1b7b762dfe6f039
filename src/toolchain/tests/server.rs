//! A small HTTP server that the tests tell what to answer.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a client sent.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    /// `name: value`, names in lower case.
    pub headers: Vec<String>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// First byte of the range that was asked for.
    pub fn start(&self) -> usize {
        let range = self.header("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
        range.map_or(0, |start| start.parse().unwrap())
    }
}

/// What the server answers.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    /// Closes the connection after so many bytes of the body.
    pub cut: Option<usize>,
}

impl Answer {
    pub fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, kind, headers: Vec::new(), body: body.into(), cut: None }
    }

    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    pub fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/vnd.pypi.simple.v1+json", body)
    }

    /// A file, from the byte on that was asked for.
    pub fn file(bytes: &[u8], request: &Request) -> Self {
        let start = request.start();
        if start == 0 {
            return Self::new(200, "application/octet-stream", bytes);
        }
        let mut answer = Self::new(206, "application/octet-stream", &bytes[start..]);
        answer.headers.push(format!("content-range: bytes {start}-{}/{}", bytes.len() - 1, bytes.len()));
        answer
    }

    pub fn cut_after(self, bytes: usize) -> Self {
        Self { cut: Some(bytes), ..self }
    }
}

/// A server on a free port of this machine; it ends with the test process.
pub struct Server {
    pub address: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &log, &*answer));
            }
        });
        Self { address, seen }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// Requests for paths that end so.
    pub fn seen_for(&self, end: &str) -> Vec<Request> {
        self.seen().into_iter().filter(|request| request.path.ends_with(end)).collect()
    }
}

fn serve(stream: TcpStream, log: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Answer) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let headers = lines.take_while(|line| !line.is_empty());
    let headers = headers.map(|line| match line.split_once(": ") {
        Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
        None => line,
    });
    let request = Request { path, headers: headers.collect() };
    log.lock().unwrap().push(request.clone());
    let answer = answer(&request);
    let mut head = format!(
        "HTTP/1.1 {} x\r\nconnection: close\r\ncontent-type: {}\r\ncontent-length: {}\r\n",
        answer.status,
        answer.kind,
        answer.body.len()
    );
    for header in &answer.headers {
        head.push_str(&format!("{header}\r\n"));
    }
    head.push_str("\r\n");
    let mut stream = stream;
    let end = answer.cut.unwrap_or(answer.body.len());
    // A client that refuses the rest has closed its side: not this server's trouble.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&answer.body[..end]));
}
