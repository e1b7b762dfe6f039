//! The report as SARIF 2.1.0 (OASIS standard), for tools that collect results of many checkers.

use serde_json::{Value, json};

use super::{Finding, Level, Report, Rule};
use crate::data::DataOrigin;
use crate::fs::DigestBuilder;

/// Identifier of the schema that the OASIS standard names for its documents.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A SARIF log with one run. `rules` are all lints that ran. `recipe` is the recipe's file below the root
/// of the repository: what a person changes to fix a package, and so where code scanning shows a result;
/// without it a result is shown at the packaged file.
pub fn sarif(report: &Report, rules: &[Rule], recipe: Option<&str>, data: Option<&DataOrigin>) -> Value {
    let mut results: Vec<Value> = report.findings.iter().map(|finding| result(finding, rules, recipe)).collect();
    for waived in report.waived() {
        let mut value = result(&waived.finding, rules, recipe);
        // 3.35: an external suppression is one that does not stand in the examined file itself.
        value["suppressions"] = json!([{ "kind": "external", "justification": waived.reason }]);
        results.push(value);
    }
    // 3.20.21: what kept the tool from a complete answer is a notification, not a result.
    let notifications: Vec<Value> = report
        .incomplete
        .iter()
        .map(|incomplete| {
            json!({
                "level": "error",
                "message": { "text": format!("{}: {}: {}", incomplete.topic, incomplete.subject, incomplete.reason) },
            })
        })
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "simpack",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.incomplete.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
            "properties": data.map_or_else(|| json!({}), |data| json!({ "data": data })),
        }],
    })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Allow => "none",
        Level::Note => "note",
        Level::Warn => "warning",
        Level::Deny => "error",
    }
}

fn rule(rule: &Rule) -> Value {
    let mut help = rule.fix.clone();
    for link in &rule.link {
        help.push_str(&format!("\nsee: {link}"));
    }
    let mut value = json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.text },
        "help": { "text": help },
        "defaultConfiguration": { "level": level(rule.level) },
    });
    if !rule.aliases.is_empty() {
        value["deprecatedIds"] = json!(rule.aliases);
    }
    value
}

fn result(finding: &Finding, rules: &[Rule], recipe: Option<&str>) -> Value {
    let mut text = finding.message.clone();
    for line in &finding.evidence {
        text.push('\n');
        text.push_str(line);
    }
    if let Some(fix) = &finding.fix {
        text.push_str(&format!("\nfix: {fix}"));
    }
    let mut logical = Vec::new();
    let mut packaged = Vec::new();
    for subject in finding.subjects() {
        let package = subject.package();
        let module = json!({ "name": package, "kind": "module" });
        if !logical.contains(&module) {
            logical.push(module);
        }
        match &subject.path {
            // 3.33.6: a file in a package is a thing inside another.
            Some(path) => {
                logical.push(json!({ "name": path, "fullyQualifiedName": subject, "kind": "resource" }));
                packaged.push(format!("{}/{}", uri(package), uri(path)));
            }
            None => packaged.push(uri(package)),
        }
    }
    // Code scanning shows no result without a file and a line; a binary has none, so the first stands for all.
    let place = |uri: &str, line: usize| json!({ "artifactLocation": { "uri": uri }, "region": { "startLine": line } });
    let written = finding.at.as_ref().map(|at| place(&uri(&at.path), at.line));
    let shown = written.or_else(|| Some(place(&uri(recipe?), 1)));
    let (is_written, shown) = (shown.is_some(), shown.unwrap_or_else(|| place(&packaged[0], 1)));
    let mut value = json!({
        "ruleId": finding.lint,
        "level": level(finding.level),
        "message": { "text": text },
        "locations": [{ "physicalLocation": shown, "logicalLocations": logical }],
        // 3.27.17: the same finding in another run, whatever else changed.
        "partialFingerprints": { "simpackFinding/v1": fingerprint(finding) },
    });
    // What is shown at the recipe says where the packaged files are; else those behind the first.
    let related = packaged.iter().skip(usize::from(!is_written)).enumerate().map(|(index, uri)| {
        json!({
            "id": index + 1,
            "message": { "text": "the packaged file" },
            "physicalLocation": { "artifactLocation": { "uri": uri } },
        })
    });
    let related: Vec<Value> = related.collect();
    if !related.is_empty() {
        value["relatedLocations"] = json!(related);
    }
    if let Some(index) = rules.iter().position(|rule| rule.id == finding.lint) {
        value["ruleIndex"] = json!(index);
    }
    value
}

fn fingerprint(finding: &Finding) -> String {
    let parts = [&finding.lint, &finding.subject.to_string(), &finding.message];
    parts.into_iter().fold(DigestBuilder::default(), DigestBuilder::field).finish().to_string()
}

/// A path as a relative URI reference (RFC 3986): everything but unreserved characters and `/` is escaped.
fn uri(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => text.push(byte.into()),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Incomplete, Waived};
    use super::*;
    use crate::report::Subject;

    #[test]
    fn findings_waivers_and_gaps_have_their_places() {
        let finding = Finding {
            lint: "soname-policy".to_owned(),
            level: Level::Deny,
            subject: Subject::file("volley-core", "lib/lib volley.so.1"),
            also: Vec::new(),
            message: "wrong".to_owned(),
            evidence: vec!["SONAME libvolley.so.2".to_owned()],
            fix: None,
            at: None,
        };
        let rule = Rule {
            id: "soname-policy".to_owned(),
            aliases: vec!["soname".to_owned()],
            level: Level::Deny,
            title: "t".to_owned(),
            text: "x".to_owned(),
            fix: "f".to_owned(),
            link: vec!["ELF gABI".to_owned()],
        };
        let gap = Incomplete { subject: "p".into(), topic: "elf".into(), reason: "damaged".into() };
        let mut report = Report::new(vec![finding.clone()], vec![gap], Vec::new());
        report.set_waived(vec![Waived { finding, reason: "because".to_owned() }]);
        let of_recipe = sarif(&report, std::slice::from_ref(&rule), Some("sim/simpack.toml"), None);
        let result = &of_recipe["runs"][0]["results"][0];
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "sim/simpack.toml");
        assert_eq!(
            result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "volley-core/lib/lib%20volley.so.1"
        );
        let run = &sarif(&report, &[rule], None, None)["runs"][0];
        assert_eq!(run["results"][0]["partialFingerprints"], result["partialFingerprints"]);
        assert_eq!(run["results"][0]["level"], "error");
        assert_eq!(run["results"][0]["ruleIndex"], 0);
        assert_eq!(run["tool"]["driver"]["rules"][0]["deprecatedIds"], json!(["soname"]));
        assert_eq!(run["results"][0]["message"]["text"], "wrong\nSONAME libvolley.so.2");
        let location = &run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
        assert_eq!(location["uri"], "volley-core/lib/lib%20volley.so.1");
        assert_eq!(run["results"][1]["suppressions"][0]["justification"], "because");
        assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    }
}
