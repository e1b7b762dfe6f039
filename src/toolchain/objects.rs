//! Objects of an S3-compatible store, for caches that machines share: found, fetched and put by signed addresses. A store
//! that does not answer, or refuses, is told once and not asked again: whoever uses it goes on without. Neither credentials
//! nor signed addresses are in anything that is said of it.

use std::fmt;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::{Body, Client as Http, Response};
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use url::Url;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::toolchain::transfer::client::{build, causes};
use crate::toolchain::transfer::settings::IndexSettings;

/// How long a signed address holds: long enough for clocks that differ and for what is large.
const HOLDS: Duration = Duration::from_secs(900);
/// How often something is tried that may work in a moment, and the pause between two tries.
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_millis(400);
/// Bytes of an answer that tells why not, at most.
const MOST_ANSWER: u64 = 4 << 10;
/// Bytes that S3 takes at once.
const MOST_OBJECT: u64 = 5 << 30;
/// The region of stores that have none.
const REGION: &str = "us-east-1";

/// Where a store is, and who asks.
#[derive(Default, Clone)]
pub struct ObjectSettings {
    /// `s3://BUCKET/PREFIX`.
    pub place: String,
    /// Address of the service; that of Amazon when absent.
    pub endpoint: Option<String>,
    /// Region; `us-east-1` when absent.
    pub region: Option<String>,
    /// Whether objects are put there, too.
    pub writes: bool,
    /// Key, secret, and the token of a session. Without them nothing is signed.
    pub login: Option<(String, String, Option<String>)>,
}

/// A store.
pub struct ObjectStore {
    http: Http,
    bucket: Bucket,
    prefix: String,
    credentials: Option<Credentials>,
    shown: String,
    is_read: AtomicBool,
    is_written: AtomicBool,
    denied: AtomicBool,
    notes: Mutex<Vec<String>>,
}

/// Without credentials.
impl fmt::Debug for ObjectStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStore").field("place", &self.shown).finish_non_exhaustive()
    }
}

/// Why a request gave nothing.
enum Fault {
    /// The store has no such object.
    Absent,
    /// The credentials do not reach so far: stores answer so to whoever may not list a bucket, of what is not there, too.
    Denied,
    /// It may work in a moment.
    Again(String),
    /// It will not.
    Final(String),
}

impl ObjectSettings {
    /// Those of the user: settings, and the variables that other clients of S3 take credentials and region from.
    pub fn of_user(config: &Config) -> Option<Self> {
        let variable = |name: &str| config.variable(name).map(|(_, value)| value.to_owned());
        let login = || Some((variable("AWS_ACCESS_KEY_ID")?, variable("AWS_SECRET_ACCESS_KEY")?));
        Some(Self {
            place: config.text("cache-store")?.to_owned(),
            endpoint: config.text("cache-store-endpoint").map(str::to_owned),
            region: config.text("cache-store-region").map(str::to_owned).or_else(|| variable("AWS_REGION")),
            writes: config.text("cache-store-mode") == Some("write"),
            login: login().map(|(key, secret)| (key, secret, variable("AWS_SESSION_TOKEN"))),
        })
    }
}

impl ObjectStore {
    /// The store of these settings; nothing is asked yet.
    ///
    /// # Errors
    /// A setting says no place, or objects are to be put there by nobody.
    pub fn open(settings: &ObjectSettings) -> Result<Self> {
        let wrong = |name: &str, why: &str| {
            Error::usage(format!("the setting {name} {why}"))
                .hint("cache-store = \"s3://BUCKET/PREFIX\", cache-store-endpoint = \"https://HOST\" for other services than Amazon's")
        };
        let place =
            settings.place.strip_prefix("s3://").ok_or_else(|| wrong("cache-store", "does not begin with s3://"))?;
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        let prefix = prefix.trim_matches('/');
        // Dots would be taken for directories on the way.
        let is_plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        if !is_plain(name) || !(prefix.is_empty() || prefix.split('/').all(is_plain)) {
            return Err(wrong("cache-store", "is no bucket and prefix of letters, digits, `.`, `_`, `-` and `/`"));
        }
        let region = settings.region.clone().unwrap_or_else(|| REGION.to_owned());
        let (endpoint, style) = match &settings.endpoint {
            Some(endpoint) => (endpoint.clone(), UrlStyle::Path),
            None => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        };
        let endpoint: Url = endpoint.parse().map_err(|_| wrong("cache-store-endpoint", "is no address"))?;
        if !endpoint.username().is_empty() || endpoint.password().is_some() {
            return Err(wrong("cache-store-endpoint", "holds login data")
                .hint("credentials are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
        }
        let host = endpoint.host_str().unwrap_or_default().to_owned();
        let bucket = Bucket::new(endpoint, style, name.to_owned(), region)
            .map_err(|error| wrong("cache-store-endpoint", "is no address of a store").because(error))?;
        if settings.writes && settings.login.is_none() {
            return Err(Error::usage("the setting cache-store-mode says `write`, and there are no credentials")
                .hint("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or read only"));
        }
        let credentials = settings.login.clone().map(|(key, secret, token)| match token {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        });
        let cert = std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(Into::into);
        Ok(Self {
            http: build(&IndexSettings { cert, ..IndexSettings::default() }, false)?,
            shown: format!("{} at {host}", settings.place.trim_end_matches('/')),
            bucket,
            prefix: if prefix.is_empty() { String::new() } else { format!("{prefix}/") },
            credentials,
            is_read: AtomicBool::new(true),
            is_written: AtomicBool::new(settings.writes),
            denied: AtomicBool::new(false),
            notes: Mutex::default(),
        })
    }

    /// Place and service, for people.
    pub fn describe(&self) -> &str {
        &self.shown
    }

    /// Whether objects are put there, as far as is known.
    pub fn is_written(&self) -> bool {
        self.is_written.load(Ordering::Relaxed)
    }

    /// What a user should know, once.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says something of an object, or of the store.
    pub fn note(&self, text: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Whether there is an object of this name.
    pub fn has(&self, name: &str) -> bool {
        self.read(|| {
            let object = self.object(name);
            let url = self.bucket.head_object(self.credentials.as_ref(), &object).sign(HOLDS);
            answer(self.http.head(url).send()).map(drop)
        })
        .is_some()
    }

    /// The bytes of an object, if it is there and has no more than `most`.
    pub fn bytes(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        self.get(name, most, |response| {
            let mut bytes = Vec::new();
            response.read_to_end(&mut bytes).map(|_| bytes)
        })
    }

    /// An object as a file without a name on the disk of `dir`, if it is there and has no more bytes than `most`.
    pub fn file(&self, name: &str, most: u64, dir: &Path) -> Option<std::fs::File> {
        self.get(name, most, |response| {
            let mut file = tempfile::tempfile_in(dir)?;
            std::io::copy(response, &mut file)?;
            file.seek(SeekFrom::Start(0))?;
            Ok(file)
        })
    }

    fn get<T>(&self, name: &str, most: u64, take: impl Fn(&mut dyn Read) -> std::io::Result<T>) -> Option<T> {
        self.read(|| {
            let object = self.object(name);
            let url = self.bucket.get_object(self.credentials.as_ref(), &object).sign(HOLDS);
            let mut response = answer(self.http.get(url).header("accept-encoding", "identity").send())?;
            let length = response.content_length();
            if length.is_some_and(|length| length > most) {
                self.note(format!(
                    "{name} in {} is larger than anything that belongs there: it is not used",
                    self.shown
                ));
                return Err(Fault::Absent);
            }
            let mut counted = Counted { from: (&mut response).take(most), count: 0 };
            let taken =
                take(&mut counted).map_err(|error| Fault::Again(format!("an object broke off ({})", error.kind())))?;
            match length.is_none_or(|length| length == counted.count) {
                true => Ok(taken),
                false => Err(Fault::Again("an object broke off".to_owned())),
            }
        })
    }

    /// Puts an object there, in the place of one that is there; what cannot be put is not.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.write(bytes.len() as u64, name, || Ok(Body::from(bytes.to_vec())));
    }

    /// The same with the content of a file.
    pub fn put_file(&self, name: &str, file: &std::fs::File) {
        let Ok(length) = file.metadata().map(|data| data.len()) else { return };
        self.write(length, name, || {
            let mut again = file.try_clone()?;
            again.seek(SeekFrom::Start(0))?;
            Ok(Body::sized(again, length))
        });
    }

    fn write(&self, length: u64, name: &str, body: impl Fn() -> std::io::Result<Body>) {
        if !self.is_written() {
            return;
        }
        if length > MOST_OBJECT {
            self.note(format!("{name} is too large for {}: it is not put there", self.shown));
            return;
        }
        let put = || {
            let object = self.object(name);
            let url = self.bucket.put_object(self.credentials.as_ref(), &object).sign(HOLDS);
            let body = body().map_err(|error| Fault::Final(format!("an object cannot be read ({})", error.kind())))?;
            answer(self.http.put(url).body(body).send()).map(drop)
        };
        let why = match repeated(put) {
            Ok(()) => return,
            Err(Fault::Denied) => "these credentials may not write (AccessDenied)".to_owned(),
            Err(Fault::Absent) => "it has no such bucket".to_owned(),
            Err(Fault::Again(why) | Fault::Final(why)) => why,
        };
        if self.is_written.swap(false, Ordering::Relaxed) {
            self.note(format!("nothing more is put into the store {}: {why}", self.shown));
        }
    }

    /// A question to the store; none once it has failed.
    fn read<T>(&self, ask: impl Fn() -> std::result::Result<T, Fault>) -> Option<T> {
        if !self.is_read.load(Ordering::Relaxed) {
            return None;
        }
        let why = match repeated(ask) {
            Ok(found) => return Some(found),
            Err(Fault::Absent) => return None,
            Err(Fault::Denied) => {
                if !self.denied.swap(true, Ordering::Relaxed) {
                    self.note(format!(
                        "the store {} denies objects (AccessDenied): these credentials may not read there, or may not list what is there, and then this is its answer for what is missing",
                        self.shown
                    ));
                }
                return None;
            }
            Err(Fault::Again(why) | Fault::Final(why)) => why,
        };
        if self.is_read.swap(false, Ordering::Relaxed) {
            self.is_written.store(false, Ordering::Relaxed);
            self.note(format!("the store {} is not asked any more: {why}", self.shown));
        }
        None
    }

    fn object(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Counts what is read.
struct Counted<R> {
    from: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}

fn repeated<T>(ask: impl Fn() -> std::result::Result<T, Fault>) -> std::result::Result<T, Fault> {
    for _ in 1..TRIES {
        match ask() {
            Err(Fault::Again(_)) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    ask()
}

fn answer(sent: reqwest::Result<Response>) -> std::result::Result<Response, Fault> {
    // The address is signed: it is in no message.
    let response =
        sent.map_err(|error| Fault::Again(format!("it cannot be reached ({})", causes(&error.without_url()))))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let code = code(response);
    let said = match code.as_str() {
        "" => status.to_string(),
        code => format!("{} {code}", status.as_u16()),
    };
    Err(match (status, code.as_str()) {
        (StatusCode::NOT_FOUND, "NoSuchBucket") => Fault::Final("it has no such bucket".to_owned()),
        (StatusCode::NOT_FOUND | StatusCode::GONE, _) => Fault::Absent,
        (StatusCode::FORBIDDEN, "AccessDenied" | "") => Fault::Denied,
        (StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED, _) => {
            Fault::Final(format!("it refuses the credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY ({said})"))
        }
        _ if status.is_redirection() => {
            Fault::Final(format!("the bucket is elsewhere ({said}): set cache-store-region or cache-store-endpoint"))
        }
        (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS, _) => Fault::Again(format!("it answered {said}")),
        _ if status.is_server_error() => Fault::Again(format!("it answered {said}")),
        _ => Fault::Final(format!("it answered {said}")),
    })
}

/// The code of an error, which is a word; the rest of what stores say of one repeats who asked, and what was signed.
fn code(response: Response) -> String {
    let mut text = Vec::new();
    let _ = response.take(MOST_ANSWER).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    let is_word = |code: &&str| code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    code.filter(is_word).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(place: &str) -> ObjectSettings {
        ObjectSettings {
            place: place.to_owned(),
            endpoint: Some("http://127.0.0.1:9".to_owned()),
            login: Some(("AKIDEXAMPLE".to_owned(), "a-secret".to_owned(), Some("a-token".to_owned()))),
            ..ObjectSettings::default()
        }
    }

    #[test]
    fn places_are_checked() {
        for place in
            ["bucket", "s3://", "s3://b/../c", "s3://b/a//b", "s3://b/.", "s3://b?x", "https://b", "s3://b/a b"]
        {
            assert!(ObjectStore::open(&settings(place)).is_err(), "{place}");
        }
        for place in ["s3://bucket", "s3://bucket/", "s3://my.bucket/ci/main_1"] {
            assert!(ObjectStore::open(&settings(place)).is_ok(), "{place}");
        }
        let login = ObjectSettings { endpoint: Some("https://u:p@host".to_owned()), ..settings("s3://b") };
        let error = ObjectStore::open(&login).unwrap_err();
        assert!(error.to_string().contains("holds login data") && !error.to_string().contains("u:p"), "{error}");
        let nobody = ObjectSettings { login: None, writes: true, ..settings("s3://b") };
        assert!(ObjectStore::open(&nobody).unwrap_err().to_string().contains("no credentials"));
    }

    #[test]
    fn a_store_that_is_gone_is_told_once_without_anything_secret() {
        let store = ObjectStore::open(&ObjectSettings { writes: true, ..settings("s3://bucket/ci") }).unwrap();
        assert!(store.bytes("a", 10).is_none() && !store.has("a") && store.bytes("b", 10).is_none());
        store.put("a", b"x");
        let notes = store.notes();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(
            notes[0].starts_with("the store s3://bucket/ci at 127.0.0.1 is not asked any more: it cannot be reached")
        );
        let said = format!("{notes:?} {store:?}");
        for secret in ["AKIDEXAMPLE", "a-secret", "a-token", "X-Amz"] {
            assert!(!said.contains(secret), "{said}");
        }
    }

    /// A server that gives these answers, one after the other, and then is gone.
    fn answering(answers: &'static [&'static str]) -> ObjectSettings {
        use std::io::Write;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut connection, _) = listener.accept().unwrap();
                let mut asked = [0; 4096];
                let _ = connection.read(&mut asked);
                let _ = connection.write_all(answer.as_bytes());
            }
        });
        ObjectSettings { endpoint: Some(format!("http://127.0.0.1:{port}")), writes: true, ..settings("s3://bucket") }
    }

    #[test]
    fn answers_of_stores_are_told_apart() {
        macro_rules! error {
            ($status:literal, $code:literal) => {
                concat!(
                    $status,
                    "\r\nConnection: close\r\n\r\n<Error><Code>",
                    $code,
                    "</Code><Key>AKIDEXAMPLE</Key></Error>"
                )
            };
        }
        let of = |answers: &'static [&'static str]| {
            let store = ObjectStore::open(&answering(answers)).unwrap();
            let found = store.bytes("a", 3);
            (found, store.notes().join("; "))
        };
        // What may work in a moment is tried again; what is not there is nobody's fault.
        const BUSY: &str = error!("HTTP/1.1 503 Slow Down", "SlowDown");
        const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
        const SHORT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nab";
        const LONG: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd";
        assert_eq!(of(&[BUSY, SHORT, WHOLE]), (Some(b"abc".to_vec()), String::new()));
        assert_eq!(of(&[error!("HTTP/1.1 404 Not Found", "NoSuchKey")]), (None, String::new()));
        for (answers, words) in [
            (&[LONG][..], "is larger than anything that belongs there"),
            (&[BUSY, BUSY, BUSY], "is not asked any more: it answered 503 SlowDown"),
            (&[error!("HTTP/1.1 404 Not Found", "NoSuchBucket")], "it has no such bucket"),
            (&[error!("HTTP/1.1 403 Forbidden", "AccessDenied")], "denies objects (AccessDenied)"),
            (&[error!("HTTP/1.1 403 Forbidden", "InvalidAccessKeyId")], "refuses the credentials in AWS_ACCESS_KEY_ID"),
            (&[error!("HTTP/1.1 301 Moved Permanently", "PermanentRedirect")], "set cache-store-region"),
            (&[error!("HTTP/1.1 400 Bad Request", "Not a word")], "it answered 400"),
        ] {
            let (found, told) = of(answers);
            assert!(found.is_none() && told.contains(words), "{words}: {told}");
            assert!(!told.contains("AKIDEXAMPLE") && !told.contains("Not a word"), "{told}");
        }
        let denied = ObjectStore::open(&answering(&[error!("HTTP/1.1 403 Forbidden", "AccessDenied")])).unwrap();
        denied.put("a", b"x");
        assert!(!denied.is_written());
        assert!(denied.notes()[0].contains("these credentials may not write (AccessDenied)"));
    }
}
