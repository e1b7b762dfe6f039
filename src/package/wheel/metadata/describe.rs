//! What a wheel says of itself: METADATA, WHEEL, entry points.

use std::collections::BTreeMap;

use crate::package::wheel::planned::Planned;

/// METADATA (core metadata 2.4).
pub(in crate::package::wheel) fn metadata(wheel: &Planned<'_>) -> String {
    let package = wheel.package;
    let mut lines = vec![
        "Metadata-Version: 2.4".to_owned(),
        format!("Name: {}", wheel.name),
        format!("Version: {}", wheel.version),
        format!("Summary: {}", one_line(&wheel.summary)),
    ];
    lines.extend(package.homepage.iter().map(|page| format!("Project-URL: Homepage, {}", one_line(page))));
    lines.extend(package.manifest.license.iter().map(|license| format!("License-Expression: {license}")));
    lines.extend(package.licences.keys().map(|name| format!("License-File: {name}")));
    lines.push(format!("Requires-Python: {}", wheel.requires_python.as_deref().unwrap_or(">=3.8")));
    lines.extend(wheel.requires.iter().map(|one| format!("Requires-Dist: {one}")));
    for (extra, requires) in &wheel.extras {
        lines.push(format!("Provides-Extra: {extra}"));
        lines.extend(requires.iter().map(|one| format!("Requires-Dist: {one} ; extra == '{extra}'")));
    }
    lines.join("\n") + "\n"
}

/// WHEEL. Every wheel goes where those with host code go, which some systems keep apart: the files belong together.
pub(in crate::package::wheel) fn wheel(wheel: &Planned<'_>) -> String {
    let build = wheel.build.map(|number| format!("Build: {number}\n")).unwrap_or_default();
    let tag = wheel.tag();
    format!("Wheel-Version: 1.0\nGenerator: simpack\nRoot-Is-Purelib: false\nTag: {tag}\n{build}")
}

/// Entry points: what an installer puts on PATH.
pub(in crate::package::wheel) fn entry_points(scripts: &BTreeMap<String, String>) -> Option<String> {
    let lines: Vec<String> = scripts.iter().map(|(name, function)| format!("{name} = {function}\n")).collect();
    (!lines.is_empty()).then(|| format!("[console_scripts]\n{}", lines.concat()))
}

/// A header is one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
