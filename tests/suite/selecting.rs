//! One table of cases for simpack's fallback chain and volley's own loader.

use std::path::Path;

use serde::Deserialize;
use simpack::data::Data;
use simpack::manifest::Manifests;

use crate::support::{Prefix, Ran};

#[derive(Deserialize)]
pub struct Cases {
    pub case: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    pub device: String,
    pub driver: Option<String>,
    pub available: Vec<String>,
    pub chosen: String,
    #[serde(default)]
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Refused {
    item: String,
}

/// `compute_75 cuda13.0 ptx9.0` as volley writes it: `cuda13/compute_75@9.0`.
pub fn item(text: &str, manifests: &Manifests) -> Option<String> {
    // Only CUDA's targets have a directory that volley looks into.
    if !text.starts_with("sm_") && !text.starts_with("compute_") {
        return None;
    }
    let mut words = text.split(' ');
    let (target, cuda) = (words.next().unwrap(), words.next().unwrap().strip_prefix("cuda").unwrap());
    let major = cuda.split('.').next().unwrap();
    let isa = match words.next() {
        Some(word) => Some(word.strip_prefix("ptx").unwrap().to_owned()),
        None if target.starts_with("compute") => {
            let release = manifests.cuda.get(cuda.parse().unwrap()).unwrap_or_else(|| panic!("no CUDA {cuda}"));
            let (major, minor) = release.ptx_isa();
            Some(format!("{major}.{minor}"))
        }
        None => None,
    };
    Some(format!("cuda{major}/{target}{}", isa.map(|isa| format!("@{isa}")).unwrap_or_default()))
}

/// The table, and the manifests that complete it.
pub fn cases() -> (Cases, Manifests) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs_err::read_to_string(root.join("tests/cases/chain.toml")).unwrap();
    (toml::from_str(&text).unwrap(), Manifests::load(&Data::at(root)).unwrap())
}

#[test]
fn volley_chooses_what_the_chain_chooses() {
    let (cases, manifests) = cases();
    let prefix = Prefix::of(&["volley-core"]);
    let (mut asked, mut wrong) = (0, Vec::new());
    for case in &cases.case {
        // Without a driver volley never gets as far as choosing.
        let Some(driver) = &case.driver else { continue };
        let available: Vec<_> = case.available.iter().filter_map(|text| item(text, &manifests)).collect();
        let mut distinct = available.clone();
        distinct.sort();
        distinct.dedup();
        if distinct.len() < available.len() {
            // volley's directories know CUDA majors only: two releases of one major are one place.
            continue;
        }
        let mut command = prefix.volley(&["select", "--json", "--capability", &case.device, "--driver", driver]);
        let ran = Ran::of(command.args(["--available", &available.join(",")]));
        if ran.code != Some(0) {
            wrong.push(format!("{}: exit {:?}: {}", case.name, ran.code, ran.stderr));
            continue;
        }
        let answer = ran.json();
        let plain = |text: &str| text.split('@').next().unwrap().to_owned();
        let expected = match case.chosen.as_str() {
            "cpu" => None,
            text => item(text, &manifests).map(|name| plain(&name)),
        };
        let found = answer["choice"].as_str().filter(|text| text.contains('/')).map(str::to_owned);
        if found != expected {
            wrong.push(format!("{}: volley takes {found:?}, the chain {expected:?}", case.name));
        }
        let trace = answer["trace"].as_array().unwrap();
        for refused in &case.refused {
            let Some(name) = item(&refused.item, &manifests).map(|name| plain(&name)) else { continue };
            let entry = trace.iter().find(|entry| entry["candidate"] == name.as_str());
            if entry.is_none_or(|entry| entry["verdict"] != "refused" || entry["why"].as_str().unwrap().is_empty()) {
                wrong.push(format!("{}: {name} is not refused: {entry:?}", case.name));
            }
        }
        asked += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(asked >= 30, "only {asked} cases of {}", cases.case.len());
}
