//! A server of S3's protocol on this machine, which checks signatures; its objects are files of a directory.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::program::scratch;
use super::skip::set_up;
use super::tree::files;

/// Who may ask.
pub const KEY: &str = "AKIDOFTHETESTS";
/// What nobody else knows.
pub const SECRET: &str = "secret/of+the/tests";

/// The server; it ends with the value.
pub struct S3 {
    root: tempfile::TempDir,
    port: u16,
    child: Child,
}

impl S3 {
    /// Starts one with an empty bucket `bucket`; none where it is not set up.
    pub fn start() -> Option<Self> {
        let program = set_up("SIMPACK_TEST_S3")?;
        let root = scratch();
        fs_err::create_dir(root.path().join("bucket")).unwrap();
        // Free now; nobody else on a machine of tests takes it before the server does.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.args(["--host", "127.0.0.1", "--access-key", KEY, "--secret-key", SECRET, "--port"]);
        command.arg(port.to_string()).arg(root.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self { root, port, child: command.spawn().unwrap() };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    /// Lets a call of the program use the bucket, with the right key.
    pub fn serve<'c>(&self, command: &'c mut Command, mode: &str) -> &'c mut Command {
        command
            .env("SIMPACK_CACHE_STORE", "s3://bucket/ci/main")
            .env("SIMPACK_CACHE_STORE_ENDPOINT", format!("http://127.0.0.1:{}", self.port))
            .env("SIMPACK_CACHE_STORE_MODE", mode)
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("no_proxy", "127.0.0.1")
    }

    fn bucket(&self) -> PathBuf {
        self.root.path().join("bucket/ci/main")
    }

    /// The files of objects whose names begin so.
    pub fn objects(&self, below: &str) -> Vec<PathBuf> {
        let dir = self.bucket().join(below);
        if !Path::new(&dir).is_dir() {
            return Vec::new();
        }
        files(&dir).into_iter().map(|file| dir.join(file)).collect()
    }

    /// Ends the server; its objects are lost.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.stop();
    }
}
