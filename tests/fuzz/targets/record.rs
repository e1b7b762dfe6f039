//! A recorded machine, replayed: it is examined and printed, or refused.

use std::path::Path;
use std::sync::LazyLock;

use simpack::data::Data;
use simpack::doctor::{Facts, PageOptions, Recorded, actions, examine, page, registry, smoke::SmokeReport};
use simpack::lint::{Registry, Settings};
use simpack::machine::{Machine, Redaction, Wanted};
use simpack::manifest::Manifests;

static KNOWN: LazyLock<(Manifests, Registry<Facts>)> = LazyLock::new(|| {
    let data = Data::at("no such directory");
    (Manifests::load(&data).expect("embedded data"), registry(&data).expect("embedded data"))
});

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(recorded) = Recorded::parse(Path::new("record.json"), text) else { return };
    let redaction = Redaction { home: Some("/home/me".into()), user: Some("me".into()), host: Some("here".into()) };
    let Recorded { machine, channel, offers, reaches, smoke, .. } =
        recorded.redacted(&redaction).expect("a record without names is a record");
    let (manifests, registry) = &*KNOWN;
    let failed = smoke.iter().flat_map(SmokeReport::failed_runs).collect();
    let machine = Machine::take(&machine, &Wanted::default());
    let facts = Facts::new(machine, reaches, &offers, manifests.clone()).with_failed_runs(failed);
    let report = examine(registry, &facts, &Settings::default());
    actions(&facts, &report, channel.as_deref());
    page(&facts, &report, PageOptions { verbose: true, ..PageOptions::default() });
}
