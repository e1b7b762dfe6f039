//! The process as a graph: dot text, and a picture of it.

use std::fmt::Write;

use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};

use crate::elf::resolve::{End, NeedKind, Resolution, Rule};
use crate::error::{Error, Result};

/// The graph in the language of Graphviz: one node a file, one edge an asking.
pub(super) fn dot(resolution: &Resolution) -> String {
    let mut text = "digraph process {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for (index, object) in resolution.objects.iter().enumerate() {
        let _ = writeln!(text, "  n{index} [label=\"{}\"];", quoted(&object.path));
    }
    for (index, link) in resolution.links.iter().enumerate() {
        let (to, color) = match link.end {
            End::Found { object, .. } => (format!("n{object}"), "black"),
            End::Missing | End::Fatal { .. } => {
                let _ = writeln!(text, "  m{index} [label=\"{}: not found\", color=\"red\"];", quoted(&link.name));
                (format!("m{index}"), "red")
            }
        };
        let style = if link.kind == NeedKind::Dlopen { ", style=\"dashed\"" } else { "" };
        let label = match &link.by {
            None | Some(Rule::Loaded | Rule::Loader) => String::new(),
            Some(rule) => format!(", label=\"{}\"", quoted(rule_word(rule))),
        };
        let _ = writeln!(text, "  n{} -> {to} [color=\"{color}\"{style}{label}];", link.from);
    }
    text.push_str("}\n");
    text
}

fn rule_word(rule: &Rule) -> &'static str {
    match rule {
        Rule::Path => "path",
        Rule::Loaded | Rule::Loader => "loaded",
        Rule::Rpath { .. } => "RPATH",
        Rule::LibraryPath { .. } => "LD_LIBRARY_PATH",
        Rule::Runpath { .. } => "RUNPATH",
        Rule::Cache => "cache",
        Rule::Default { .. } => "default",
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The picture of a graph.
///
/// # Errors
/// The graph is not understood, which is a mistake here.
pub(super) fn svg(dot: &str) -> Result<String> {
    let graph =
        DotParser::new(dot).process().map_err(|error| Error::bug(format!("the graph is not drawn: {error}")))?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut writer = SVGWriter::new();
    builder.get().do_it(false, false, false, &mut writer);
    Ok(writer.finalize())
}
