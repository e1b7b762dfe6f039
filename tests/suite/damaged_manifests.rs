//! A package whose `simpack.json` is damaged is never taken for none: every verb that reads it says so.

use serde_json::Value;

use crate::doctor_machine::{put, record};
use crate::support::{Ran, Tiny, copy_tree, scratch, simpack};

/// What it holds, and what is said of it.
const DAMAGED: [(&str, &str); 2] = [("{\"schema\": 1", "is not valid"), ("{\"schema\": 99}", "has schema 99")];

#[test]
fn every_reader_says_so() {
    for (text, said) in DAMAGED {
        let dir = scratch();
        let prefix = dir.path().join("prefix");
        put(&prefix, "share/simpack/sim-core/simpack.json", text.as_bytes());
        let mut archive = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
        archive.append_dir_all(".", &prefix).unwrap();
        put(dir.path(), "dist/sim-core.tar.zst", &archive.into_inner().unwrap().finish().unwrap());
        let run = |args: &[&str], code: i32| Ran::of(&mut simpack(dir.path(), args)).exit(code);
        for path in ["prefix", "dist"] {
            let report = run(&["verify", "--json", path], 7).json();
            assert!(reasons(&report["incomplete"]).contains(said), "verify {path}: {report}");
            let ran = run(&["select", "--device", "cpu", path], 7);
            assert!(ran.stderr.contains(said), "select {path}: {ran:?}");
        }
        let found = run(&["inspect", "--json", "dist/sim-core.tar.zst"], 7).json();
        assert!(reasons(&found["subjects"][0]["unexamined"]).contains(said), "inspect: {found}");
        let ran = run(&["rebuild", "dist"], 7);
        assert!(ran.stderr.contains(said), "rebuild: {ran:?}");
        let tiny = Tiny::new();
        copy_tree(&dir.path().join("dist"), &tiny.path("dist"));
        let ran = Ran::of(&mut tiny.simpack(&["generate", "cmake", "recipe", "--dist", "dist"])).exit(7);
        assert!(ran.stderr.contains(said), "generate: {ran:?}");
        let answer = record(&[prefix.to_str().unwrap()], DOCTOR);
        assert!(reasons(&answer["report"]["incomplete"]).contains(said), "doctor: {answer}");
        assert!(answer["machine"]["prefixes"][0]["damaged"].to_string().contains("sim-core/simpack.json"), "{answer}");
    }
}

/// Exit code of a doctor who could not see everything.
const DOCTOR: i32 = 7;

fn reasons(gaps: &Value) -> String {
    gaps.as_array().into_iter().flatten().map(|gap| gap["reason"].to_string()).collect()
}
