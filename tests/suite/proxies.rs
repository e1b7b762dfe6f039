//! Proxies that the environment names are used, and those hosts are spared that need none.

use crate::support::Ran;
use crate::support::transfers::{PROXIES, scene};

#[test]
fn a_proxy_is_asked_unless_the_host_needs_none() {
    let (tiny, server, _) = scene();
    let proxy = server.again();
    let address = format!("http://{}", proxy.address);
    let line = format!("GET http://{}/tiny-1.0.tar.gz HTTP/1.1", server.address);
    let fetched = |variables: &[(&str, &str)]| {
        let _ = std::fs::remove_dir_all(tiny.path("cache"));
        let mut command = tiny.simpack(&["check", "recipe"]);
        for name in PROXIES {
            command.env_remove(name);
        }
        Ran::of(command.env("PIP_RETRIES", "0").envs(variables.iter().copied())).exit(0);
        (proxy.lines(), server.lines().len())
    };
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        assert_eq!(fetched(&[(name, &address)]), (vec![line.clone()], 0), "{name}");
    }
    for name in ["no_proxy", "NO_PROXY"] {
        assert_eq!(fetched(&[("http_proxy", &address), (name, "127.0.0.1,other.example")]), (Vec::new(), 1), "{name}");
        assert_eq!(fetched(&[("http_proxy", &address), (name, "other.example")]), (vec![line.clone()], 0), "{name}");
    }
    assert_eq!(fetched(&[("https_proxy", &address)]), (Vec::new(), 1), "a proxy for https alone");
    let listing = Ran::of(tiny.simpack(&["config", "--list"]).env("http_proxy", &address)).exit(0).stdout;
    assert!(listing.contains(&address) && listing.contains("http_proxy"), "{listing}");
}

#[test]
fn a_tunnel_is_asked_for_and_a_refusal_told() {
    let (tiny, server, build) = scene();
    let proxy = server.again();
    let host = "sources.example";
    tiny.change(&format!("http://{}", server.address), &format!("https://{host}"));
    let ran = Ran::of(build(&tiny).env("https_proxy", format!("http://{}", proxy.address))).exit(4);
    assert_eq!(proxy.lines(), [format!("CONNECT {host}:443 HTTP/1.1")]);
    assert!(ran.stderr.contains("proxy") && ran.stderr.contains(host), "{}", ran.stderr);
    assert!(!tiny.path("dist").exists());
}
