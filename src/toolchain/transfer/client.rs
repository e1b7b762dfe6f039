//! HTTP as this part needs it: one client per level of trust, login data, and failures sorted by
//! whether trying again can help.

use std::io::Read;
use std::time::Duration;

use reqwest::blocking::{Client as Http, Response};
use reqwest::{StatusCode, header};
use url::Url;

use super::settings::IndexSettings;
use crate::error::{Error, Result};
use crate::index_page::{same_place, shown};

/// pip's own limit when the user chose none.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Bytes of a page of an index at most, unpacked: the largest projects' pages have some 20 MB.
const MOST_PAGE: u64 = 128 << 20;
/// Redirects of a request at most.
const MOST_REDIRECTS: usize = 10;

/// Why a request gave nothing.
#[derive(Debug)]
pub(crate) enum FetchError {
    /// It may work in a moment; the server may have said in how many.
    Again(Error, Option<Duration>),
    /// The server has no such thing.
    Absent(Error),
    /// The rest of the file that was asked for does not exist: what is there is too long.
    Beyond,
    /// Trying again will not help.
    Final(Error),
}

impl From<Error> for FetchError {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// Connections to indexes and file servers.
pub(crate) struct Client {
    checking: Http,
    trusting: Option<Http>,
    trusted_hosts: Vec<String>,
    netrc: String,
}

impl Client {
    /// A client with the user's certificates, proxy, trusted hosts and login data.
    ///
    /// # Errors
    /// A file of certificates cannot be read, or the proxy is not an address.
    pub fn new(settings: &IndexSettings) -> Result<Self> {
        let trusting = match settings.trusted_hosts.is_empty() {
            true => None,
            false => Some(build(settings, true)?),
        };
        let netrc = settings.netrc.as_ref().and_then(|path| fs_err::read_to_string(path).ok()).unwrap_or_default();
        Ok(Self { checking: build(settings, false)?, trusting, trusted_hosts: settings.trusted_hosts.clone(), netrc })
    }

    /// A page and its content type, with the address that it came from at last.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or answers with more than a page.
    pub fn page(&self, url: &Url, accept: &str) -> Result<(String, String, Url), FetchError> {
        let request = self.request(url).header(header::ACCEPT, accept);
        let response = answer(request.send(), url)?;
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        let mut from = response.url().clone();
        if same_place(&from, url) && !url.username().is_empty() {
            let _ = from.set_username(url.username());
            let _ = from.set_password(url.password());
        }
        let mut bytes = Vec::new();
        response.take(MOST_PAGE + 1).read_to_end(&mut bytes).map_err(|error| {
            let broke = Error::toolchain(format!("the page of {} broke off", shown(url))).detail(error.to_string());
            FetchError::Again(broke.hint("check the network, the proxy variables and `pip config list`"), None)
        })?;
        if bytes.len() as u64 > MOST_PAGE {
            let large = format!("{} answered with a page of more than {MOST_PAGE} bytes", shown(url));
            return Err(Error::toolchain(large).hint("name another index").into());
        }
        Ok((String::from_utf8_lossy(&bytes).into_owned(), kind, from))
    }

    /// A file's bytes from `start` on. The answer may begin at 0 all the same: look at its status.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub fn file(&self, url: &Url, start: u64) -> Result<Response, FetchError> {
        // Compression on the way would make the positions in the file meaningless.
        let mut request = self.request(url).header(header::ACCEPT_ENCODING, "identity");
        if start > 0 {
            request = request.header(header::RANGE, format!("bytes={start}-"));
        }
        answer(request.send(), url)
    }

    fn request(&self, url: &Url) -> reqwest::blocking::RequestBuilder {
        let http = match &self.trusting {
            Some(trusting) if is_trusted(&self.trusted_hosts, url) => trusting,
            _ => &self.checking,
        };
        let request = http.get(url.clone());
        let login = url.host_str().filter(|_| url.username().is_empty()).and_then(|host| login(&self.netrc, host));
        match login {
            Some((user, password)) => request.basic_auth(user, Some(password)),
            None => request,
        }
    }
}

pub(in crate::toolchain) fn build(settings: &IndexSettings, trusting: bool) -> Result<Http> {
    let wait = settings.timeout.unwrap_or(TIMEOUT);
    // The blocking client's limit counts for each wait for data, not for a whole file.
    // reqwest asks for it; where one is set already, it serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Http::builder()
        .user_agent(concat!("simpack/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(wait)
        .timeout(wait)
        .redirect(redirects(if trusting { settings.trusted_hosts.clone() } else { Vec::new() }))
        .tls_danger_accept_invalid_certs(trusting);
    if cfg!(test) {
        // The tests' servers are on this machine, whatever proxy its environment names.
        builder = builder.no_proxy();
    }
    let wrong = |path: &std::path::Path| format!("cannot use the certificates in {}", path.display());
    if let Some(path) = settings.cert.as_ref().filter(|path| path.is_file()) {
        let certificates = reqwest::Certificate::from_pem_bundle(&fs_err::read(path)?).map_err(|error| {
            Error::toolchain(wrong(path))
                .because(error)
                .hint("pip's option `cert` names this file: correct or unset it")
        })?;
        if certificates.is_empty() {
            return Err(Error::toolchain(wrong(path))
                .detail("it holds no certificate in PEM form")
                .hint("pip's option `cert` names this file: correct or unset it"));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    if let Some(path) = &settings.client_cert {
        let identity = reqwest::Identity::from_pem(&fs_err::read(path)?).map_err(|error| {
            Error::toolchain(wrong(path)).because(error).hint("pip's option `client-cert` names this file")
        })?;
        builder = builder.identity(identity);
    }
    if let Some(proxy) = &settings.proxy {
        let address = if proxy.contains("://") { proxy.clone() } else { format!("http://{proxy}") };
        let proxy = reqwest::Proxy::all(&address).map_err(|error| {
            Error::toolchain("pip's option `proxy` is not an address").because(error).hint("correct or unset it")
        })?;
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| {
        Error::toolchain("cannot set up encrypted connections")
            .detail(causes(&error))
            .hint("check the certificates that SSL_CERT_FILE and pip's option `cert` name")
    })
}

/// Where a server may lead to. Login data stay with scheme, host and port: they are taken off on the way to another
/// host or port, and what would carry them to another scheme is refused. Neither does an encrypted connection lead
/// to an open one, nor one whose certificate is not checked (to one of `unchecked`) to a host that nobody trusts so.
fn redirects(unchecked: Vec<String>) -> reqwest::redirect::Policy {
    reqwest::redirect::Policy::custom(move |attempt| {
        let (next, last) = (attempt.url(), attempt.previous().last());
        let changes = last.filter(|last| last.scheme() != next.scheme());
        let carries =
            |last: &Url| last.host() == next.host() && last.port_or_known_default() == next.port_or_known_default();
        let refusal = if attempt.previous().len() > MOST_REDIRECTS {
            "it leads from one address to the next without an end"
        } else if changes.is_some_and(|last| last.scheme() == "https" || carries(last)) {
            "it leads to an address of another scheme"
        } else if !unchecked.is_empty() && !is_trusted(&unchecked, next) {
            "it leads to a host that is not among those which pip trusts without a certificate"
        } else {
            return attempt.follow();
        };
        attempt.error(refusal)
    })
}

fn answer(sent: reqwest::Result<Response>, url: &Url) -> Result<Response, FetchError> {
    let response = sent.map_err(|error| unreachable(url, error))?;
    let status = response.status();
    let error = Error::toolchain(format!("{} answered {status}", shown(url)));
    match status {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(response),
        StatusCode::NOT_FOUND | StatusCode::GONE => Err(FetchError::Absent(error)),
        StatusCode::RANGE_NOT_SATISFIABLE => Err(FetchError::Beyond),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            Err(FetchError::Final(
                error.hint("this place wants login data: put them where pip finds them, its address or ~/.netrc"),
            ))
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(FetchError::Again(error, pause(&response))),
        _ if status.is_server_error() => Err(FetchError::Again(error, pause(&response))),
        _ => Err(FetchError::Final(error)),
    }
}

/// What the server asks for, at most half a minute.
fn pause(response: &Response) -> Option<Duration> {
    let seconds: u64 = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(30)))
}

/// The server could not be reached, or the connection broke.
pub(crate) fn unreachable(url: &Url, error: reqwest::Error) -> FetchError {
    // A certificate that does not fit will not fit the next time either.
    let text = causes(&error);
    let certificate = text.to_ascii_lowercase().contains("certificate");
    let ours = Error::toolchain(format!("cannot reach {}", shown(url))).detail(text);
    if certificate {
        return FetchError::Final(
            ours.hint("name your network's certificate file: `pip config set global.cert FILE` or SSL_CERT_FILE"),
        );
    }
    FetchError::Again(
        ours.hint("check the network, the proxy variables and `pip config list`")
            .hint("what was fetched so far is kept, the next run goes on from there"),
        None,
    )
}

/// The innermost causes say what happened; the outer ones repeat the address, login data included.
pub(in crate::toolchain) fn causes(error: &reqwest::Error) -> String {
    let mut texts = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        texts.push(source.to_string());
        cause = source.source();
    }
    if texts.is_empty() {
        texts.push(if error.is_timeout() { "no answer in time".to_owned() } else { "the connection broke".to_owned() });
    }
    texts.dedup();
    texts.join(": ")
}

fn is_trusted(hosts: &[String], url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let with_port = url.port_or_known_default().map(|port| format!("{host}:{port}"));
    hosts.iter().any(|trusted| trusted == host || Some(trusted) == with_port.as_ref())
}

/// User and password for `host` in a netrc file's text; `default` counts when no machine fits.
fn login<'a>(netrc: &'a str, host: &str) -> Option<(&'a str, &'a str)> {
    let lines = netrc.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut words = lines.flat_map(str::split_whitespace);
    let (mut here, mut user, mut password) = (false, None, "");
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if here && user.is_some() {
                    break;
                }
                here = word == "default" || words.next() == Some(host);
                (user, password) = (None, "");
            }
            "login" => user = words.next(),
            "password" => password = words.next().unwrap_or_default(),
            "account" => {
                words.next();
            }
            _ => {}
        }
    }
    user.filter(|_| here).map(|user| (user, password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netrc() {
        let text = "# comment machine x\nmachine a.example login u1 password p1\nmachine b.example\n  login u2\n  \
                    password p2\ndefault login any password all\n";
        assert_eq!(login(text, "a.example"), Some(("u1", "p1")));
        assert_eq!(login(text, "b.example"), Some(("u2", "p2")));
        assert_eq!(login(text, "c.example"), Some(("any", "all")));
        assert_eq!(login("machine a.example login u", "b.example"), None);
        assert_eq!(login("machine", "b.example"), None);
    }

    #[test]
    fn trusted_hosts() {
        let url: Url = "https://a.example/simple".parse().unwrap();
        assert!(is_trusted(&["a.example".into()], &url));
        assert!(is_trusted(&["a.example:443".into()], &url));
        assert!(!is_trusted(&["a.example:8443".into(), "b.example".into()], &url));
    }
}
