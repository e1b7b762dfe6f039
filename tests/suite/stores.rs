//! Artifacts in an S3-compatible store: what one machine made the next one fetches, checks, and gives the same bytes; a store
//! that is damaged, gone or refuses costs time and no build, and nothing secret is ever said.

use std::process::Command;

use crate::support::s3::{KEY, S3, SECRET};
use crate::support::{Ran, Tiny, changed, digests, files};

/// A call on a machine of its own, with a cache of its own.
fn machine(tiny: &Tiny, name: &str, mut command: Command) -> Command {
    command.env("SIMPACK_CACHE_DIR", tiny.path(name).join("cache"));
    command
}

fn build(tiny: &Tiny, s3: &S3, name: &str, mode: &str) -> Ran {
    let (work, dist) = (format!("{name}/work"), format!("{name}/dist"));
    let mut command = machine(tiny, name, tiny.build(&["--verbose", "--work", &work, "--dist", &dist]));
    let ran = Ran::of(s3.serve(&mut command, mode));
    secrets_stay(tiny, name, &ran);
    ran
}

/// Neither what was printed nor any file of a build has what is secret, or a signed address.
fn secrets_stay(tiny: &Tiny, name: &str, ran: &Ran) {
    let is_said =
        |text: &str| [KEY, SECRET, "X-Amz-Signature", "secret%2Fof"].iter().any(|secret| text.contains(secret));
    assert!(!is_said(&ran.stdout) && !is_said(&ran.stderr), "{}{}", ran.stdout, ran.stderr);
    if tiny.path(name).is_dir() {
        for file in files(&tiny.path(name)) {
            let bytes = fs_err::read(tiny.path(name).join(&file)).unwrap();
            assert!(!is_said(&String::from_utf8_lossy(&bytes)), "{file}");
        }
    }
}

#[track_caller]
fn told(ran: &Ran, words: &[&str]) {
    for words in words {
        assert!(format!("{}{}", ran.stderr, ran.stdout).contains(words), "{words}: {}{}", ran.stderr, ran.stdout);
    }
}

#[test]
fn what_one_machine_made_the_next_one_fetches() {
    let Some(s3) = S3::start() else { return };
    let Some(tiny) = Tiny::with_kernels() else { return };
    let reference = tiny.reference();
    let same =
        |name: &str| assert_eq!(changed(&digests(&tiny.path(&format!("{name}/dist"))), &reference), [""; 0], "{name}");

    // Who only reads leaves nothing.
    told(
        &build(&tiny, &s3, "reader", "read").exit(0),
        &["cache      and s3://bucket/ci/main at 127.0.0.1, read", "3 compiled"],
    );
    assert_eq!(s3.objects(""), [""; 0].map(std::path::PathBuf::from));
    told(&build(&tiny, &s3, "first", "write").exit(0), &["read and written", "(3 compiled, 0 from cache)"]);
    assert_eq!((s3.objects("artifacts").len(), s3.objects("headers/lists").len()), (3, 2));

    // Kernels too, whose keys follow from lists of headers.
    told(&build(&tiny, &s3, "third", "read").exit(0), &["(0 compiled, 3 from cache)"]);
    same("first");
    same("third");

    // What is there is known before anything is built.
    let mut dry = machine(&tiny, "fourth", tiny.build(&["--dry-run"]));
    told(&Ran::of(s3.serve(&mut dry, "read")).exit(0), &["3 steps, 3 in the cache, 0 to compile"]);

    // Nobody is asked without a network.
    let mut offline =
        machine(&tiny, "fifth", tiny.build(&["--offline", "--work", "fifth/work", "--dist", "fifth/dist"]));
    let ran = Ran::of(s3.serve(&mut offline, "write")).exit(0);
    told(&ran, &["(3 compiled, 0 from cache)"]);
    assert!(!ran.stderr.contains("s3://"), "{}", ran.stderr);
}

#[test]
fn what_is_damaged_or_missing_is_made_again() {
    let Some(s3) = S3::start() else { return };
    let tiny = Tiny::new();
    let reference = tiny.reference();
    let same =
        |name: &str| assert_eq!(changed(&digests(&tiny.path(&format!("{name}/dist"))), &reference), [""; 0], "{name}");
    build(&tiny, &s3, "first", "write").exit(0);
    let objects = s3.objects("artifacts");
    assert_eq!(objects.len(), 1);
    let whole = fs_err::read(&objects[0]).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2..].fill(0xff);
    for (name, bytes) in
        [("flipped", flipped.as_slice()), ("short", &whole[..whole.len() / 2]), ("empty", b""), ("text", b"no")]
    {
        fs_err::write(&objects[0], bytes).unwrap();
        let ran = build(&tiny, &s3, name, "read").exit(0);
        told(
            &ran,
            &["an entry of the store s3://bucket/ci/main at 127.0.0.1 is damaged", "it is not used", "1 compiled"],
        );
        same(name);
        assert_eq!(fs_err::read(&objects[0]).unwrap(), bytes, "who reads changes nothing");
    }
    // Who writes repairs it.
    told(&build(&tiny, &s3, "repairing", "write").exit(0), &["is damaged", "1 compiled"]);
    told(&build(&tiny, &s3, "repaired", "read").exit(0), &["(0 compiled, 1 from cache)"]);
    same("repaired");
    // An entry of another key under this one's name.
    tiny.version(2);
    build(&tiny, &s3, "other", "write").exit(0);
    let other = s3.objects("artifacts").into_iter().find(|object| *object != objects[0]).unwrap();
    fs_err::copy(&other, &objects[0]).unwrap();
    tiny.version(1);
    told(&build(&tiny, &s3, "foreign", "read").exit(0), &["its list is that of", "1 compiled"]);
    same("foreign");
    fs_err::remove_file(&objects[0]).unwrap();
    let ran = build(&tiny, &s3, "missing", "read").exit(0);
    told(&ran, &["1 compiled"]);
    assert!(!ran.stderr.contains("damaged"), "{}", ran.stderr);
    same("missing");
}

#[test]
fn a_store_that_refuses_or_is_gone_costs_no_build() {
    let Some(mut s3) = S3::start() else { return };
    let tiny = Tiny::new();
    let with = |s3: &S3, name: &str, mode: &str, variables: &[(&str, &str)]| {
        let (work, dist) = (format!("{name}/work"), format!("{name}/dist"));
        let mut command = machine(&tiny, name, tiny.build(&["--work", &work, "--dist", &dist]));
        s3.serve(&mut command, mode).envs(variables.iter().copied());
        let ran = Ran::of(&mut command);
        secrets_stay(&tiny, name, &ran);
        ran
    };
    let wrong = with(&s3, "wrong", "write", &[("AWS_SECRET_ACCESS_KEY", "of-somebody-else")]).exit(0);
    told(
        &wrong,
        &[
            "is not asked any more: it refuses the credentials in AWS_ACCESS_KEY_ID",
            "SignatureDoesNotMatch",
            "1 compiled",
        ],
    );
    let unknown = with(&s3, "unknown", "read", &[("AWS_ACCESS_KEY_ID", "AKIDNOBODY")]).exit(0);
    told(&unknown, &["1 compiled"]);
    assert!(
        !unknown.stderr.contains("AKIDNOBODY") && unknown.stderr.contains("s3://bucket/ci/main at"),
        "{}",
        unknown.stderr
    );
    assert_eq!(s3.objects(""), [""; 0].map(std::path::PathBuf::from));

    // Mistakes are told before anything is built.
    let nobody = with(&s3, "nobody", "write", &[("AWS_SECRET_ACCESS_KEY", "")]).exit(2);
    told(&nobody, &["there are no credentials", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"]);
    let place = with(&s3, "place", "read", &[("SIMPACK_CACHE_STORE", "bucket/ci")]).exit(2);
    told(&place, &["the setting cache-store does not begin with s3://"]);
    let login = with(&s3, "login", "read", &[("SIMPACK_CACHE_STORE_ENDPOINT", "http://me:mine@127.0.0.1")]).exit(2);
    told(&login, &["the setting cache-store-endpoint holds login data"]);
    assert!(!login.stderr.contains("mine"), "{}", login.stderr);
    let mut listed = tiny.simpack(&["config", "--list"]);
    let listed = Ran::of(s3.serve(&mut listed, "read")).exit(0);
    told(&listed, &["AWS_SECRET_ACCESS_KEY", "(set)"]);
    secrets_stay(&tiny, "nothing", &listed);

    s3.stop();
    let gone = with(&s3, "gone", "write", &[]).exit(0);
    told(&gone, &["is not asked any more: it cannot be reached", "1 compiled"]);
    assert_eq!(gone.stderr.matches("s3://bucket/ci/main at 127.0.0.1 is not asked").count(), 1, "{}", gone.stderr);
}

/// Parts of a plan in CI: a second run of a part finds what the first one made, on another machine.
#[test]
fn parts_of_a_plan_use_the_store() {
    let Some(s3) = S3::start() else { return };
    let Some(tiny) = Tiny::with_kernels() else { return };
    let reference = tiny.reference();
    let shard = |name: &str, shard: &str| {
        let (work, dist) = (format!("{name}/work"), format!("{name}/shards/{}", shard.replace('/', "-of-")));
        let args = [
            "build",
            "recipe",
            "--sandbox",
            "off",
            "--toolchain",
            "system",
            "--shard",
            shard,
            "--work",
            &work,
            "--dist",
            &dist,
        ];
        let mut command = machine(&tiny, name, tiny.simpack(&args));
        Ran::of(s3.serve(&mut command, "write")).exit(0)
    };
    for part in ["1/2", "2/2"] {
        shard("before", part);
        told(&shard(&format!("after-{}", &part[..1]), part), &["(0 compiled, "]);
    }
    let mut merge = tiny.simpack(&[
        "merge",
        "after-1/shards",
        "after-2/shards",
        "--allow",
        "device-coverage",
        "--allow",
        "kernel-tag-absent",
    ]);
    merge.env("SIMPACK_CACHE_DIR", tiny.path("merging/cache"));
    Ran::of(&mut merge).exit(0);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
}
