//! The table at the end of a build: package, version, target, size, device code, verdict, seconds.

use schemars::JsonSchema;
use serde::Serialize;

use crate::ui::size;

/// One row: a package file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    /// Package name.
    pub package: String,
    /// Version.
    pub version: String,
    /// Build string.
    pub build: String,
    /// Conda's subdirectory: `linux-64` or `noarch`.
    pub target: String,
    /// Size of the `.conda` file in bytes.
    pub bytes: u64,
    /// SHA-256 of the `.conda` file.
    pub sha256: String,
    /// Device code inside, in words.
    pub device_code: String,
    /// Verdict of its bundle.
    pub verdict: String,
    /// Seconds that its steps took when they were compiled; never in a file of `dist/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// The last part of a build string: what tells two builds apart. The rest stands in other columns.
fn short(build: &str) -> &str {
    let hash = build.split('_').rfind(|part| part.starts_with('h'));
    hash.unwrap_or(build)
}

/// The table, 100 columns at most for ordinary names.
pub(crate) fn table(rows: &[Row]) -> String {
    let header = ["package", "version", "target", "bytes", "device code", "verdict", "seconds"].map(str::to_owned);
    let body = rows.iter().map(|row| {
        [
            row.package.clone(),
            format!("{}-{}", row.version, short(&row.build)),
            row.target.clone(),
            size(row.bytes),
            row.device_code.clone(),
            row.verdict.clone(),
            row.seconds.filter(|seconds| *seconds > 0.0).map_or("-".to_owned(), |seconds| format!("{seconds:.1}")),
        ]
    });
    let lines: Vec<[String; 7]> = std::iter::once(header).chain(body).collect();
    let mut widths = [0; 7];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.len());
        }
    }
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (index, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            // Numbers align on the right.
            let padded = if matches!(index, 3 | 6) { format!(" {cell:>width$}") } else { format!(" {cell:<width$}") };
            row.push_str(&padded);
            row.push(' ');
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}
