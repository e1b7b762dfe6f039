//! NVIDIA's own reader, as the second opinion: what it lists, and what it says that kernels use.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::program::Ran;

/// Pieces of code by arch as cuobjdump lists them: `sm_90.cubin`, `sm_75.ptx`. It writes `f` code without its
/// suffix. Relocatable code counts, too (`-all`).
pub fn listed(cuobjdump: &Path, file: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for list in ["-lelf", "-lptx"] {
        let ran = Ran::of(Command::new(cuobjdump).args(["-all", list]).arg(file));
        for line in ran.stdout.lines().filter(|line| line.starts_with("ELF file") || line.starts_with("PTX file")) {
            let arch = line.rsplitn(3, '.').take(2).collect::<Vec<_>>();
            *counts.entry(format!("{}.{}", arch[1], arch[0])).or_insert(0) += 1;
        }
    }
    counts
}

/// The same counts from simpack's JSON of one file, hidden code left out.
pub fn counted(file: &serde_json::Value) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for image in file["images"].as_array().unwrap().iter().filter(|image| image["hidden"] == false) {
        let ending = match image["kind"].as_str() {
            Some("sass") => "cubin",
            Some("ptx") => "ptx",
            _ => continue,
        };
        let target = image["target"].as_str().unwrap();
        let arch = target.trim_start_matches("compute_").trim_start_matches("sm_").trim_end_matches('f');
        *counts.entry(format!("sm_{arch}.{ending}")).or_insert(0) += 1;
    }
    counts
}

/// What a kernel uses: `REG:12 STACK:0 SHARED:1280 LOCAL:0 CONSTANT[0]:540`, by arch and symbol, sorted.
pub fn resources(cuobjdump: &Path, file: &Path) -> Vec<(String, String, String)> {
    let ran = Ran::of(Command::new(cuobjdump).args(["-all", "--dump-resource-usage"]).arg(file)).exit(0);
    let (mut arch, mut function, mut found) = (String::new(), String::new(), Vec::new());
    for line in ran.stdout.lines().map(str::trim) {
        if let Some(value) = line.strip_prefix("arch = ") {
            arch = value.to_owned();
        } else if let Some(name) = line.strip_prefix("Function ") {
            function = name.trim_end_matches(':').to_owned();
        } else if line.starts_with("REG:") {
            let wanted = ["REG:", "STACK:", "SHARED:", "LOCAL:", "CONSTANT[0]:"];
            let words = line.split(' ').filter(|word| wanted.iter().any(|start| word.starts_with(start)));
            found.push((arch.clone(), function.clone(), words.collect::<Vec<_>>().join(" ")));
        }
    }
    found.sort();
    found
}

/// The same from simpack's JSON of one file, kernels only.
pub fn kernels(file: &serde_json::Value) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for image in file["images"].as_array().unwrap().iter().filter(|image| image["kind"] == "sass") {
        for kernel in image["kernels"].as_array().unwrap() {
            let uses = &kernel["resources"];
            // Of code that is not linked yet, nobody can know the stack: cuobjdump writes 0 there.
            let unknown = if image["relocatable"] == true { "0" } else { "UNKNOWN" };
            let stack = uses["stack"].as_u64().map_or(unknown.to_owned(), |stack| stack.to_string());
            let text = format!(
                "REG:{} STACK:{stack} SHARED:{} LOCAL:{} CONSTANT[0]:{}",
                uses["registers"], uses["shared"], uses["local"], uses["constant"]
            );
            let name = kernel["name"].as_str().unwrap().to_owned();
            found.push((image["target"].as_str().unwrap().to_owned(), name, text));
        }
    }
    found.sort();
    found
}
