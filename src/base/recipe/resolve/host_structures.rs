//! `[kernels.NAME.structures]`: whether its headers are there and read, and its types are in the kernel table.

use std::collections::BTreeSet;

use super::resolver::Resolver;
use crate::layout::Structure;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::file::{LayoutTable, StructuresTable};
use crate::recipe::model::{HostStructures, HostType, LayoutSource};

/// What says how the structures lie, with all that is known to be wrong before anything is compiled.
pub(super) fn host_structures(
    resolver: &mut Resolver<'_>,
    written: &StructuresTable,
    (table, declared): (&str, &[Structure]),
) -> HostStructures {
    let plain = |list: &[Spanned<String>]| list.iter().map(|item| item.value.clone()).collect::<Vec<_>>();
    let inputs = written.inputs.as_deref();
    let (source, inputs) = match &written.source {
        LayoutTable::Headers { headers, language, flags } => {
            let inputs = plain(inputs.unwrap_or(headers));
            are_read(resolver, headers, &inputs);
            if written.inputs.is_none() {
                are_declared(resolver, &written.types, headers);
            }
            let (headers, language, flags) = (plain(headers), *language, flags.clone());
            (LayoutSource::Headers { headers, language, flags }, inputs)
        }
        LayoutTable::Command(command) => {
            let inputs = inputs.map(plain).unwrap_or_default();
            (LayoutSource::Command { command: command.clone() }, inputs)
        }
    };
    for one in &written.types {
        if !declared.iter().any(|structure| structure.name == one.value.name) {
            let names = || declared.iter().map(|structure| &structure.name);
            let message = format!("`{}` is no struct of the kernel table `{table}`", one.value.name);
            let mistake = resolver.mistake(one, message).known("declared", names()).near(&one.value.name, names());
            resolver.mistakes.push(mistake.hint("`simpack generate table` writes it as the host has it"));
        }
    }
    let types = written.types.iter().map(|one| one.value.clone()).collect();
    HostStructures { types, source, inputs, table: table.to_owned() }
}

/// Headers that are not there, or that the compiler would not see.
fn are_read(resolver: &mut Resolver<'_>, headers: &[Spanned<String>], inputs: &[String]) {
    let globs = |glob: &String| globset::Glob::new(glob).ok().map(|glob| glob.compile_matcher());
    let globs: Vec<_> = inputs.iter().filter_map(globs).collect();
    for header in headers {
        resolver.must_be_in_source(header);
        if !globs.iter().any(|glob| glob.is_match(&header.value)) {
            let mistake = resolver.mistake(header, format!("header `{}` is not among `inputs`", header.value));
            let hint = "`inputs` name all that the headers include, with the headers themselves";
            resolver.mistakes.push(mistake.hint(hint));
        }
    }
}

/// Types whose name is nowhere in the headers, where these are all that the compiler sees of the source.
fn are_declared(resolver: &mut Resolver<'_>, types: &[Spanned<HostType>], headers: &[Spanned<String>]) {
    let texts: Option<Vec<String>> = headers.iter().map(|header| resolver.source_text(&header.value)).collect();
    // A header that is not here was told or is elsewhere, and `##` makes names of others.
    let Some(texts) = texts.filter(|texts| !texts.iter().any(|text| text.contains("##"))) else { return };
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = texts.iter().flat_map(|text| text.split(|c: char| !is_letter(c))).collect();
    for one in types.iter().filter(|one| !words.contains(one.value.name.as_str())) {
        let place = match headers {
            [only] => format!("`{}`", only.value),
            _ => "the headers".to_owned(),
        };
        let names = words.iter().filter(|word| word.starts_with(|c: char| c.is_alphabetic()));
        let mistake = resolver.mistake(one, format!("type `{}` is not in {place}", one.value.host));
        resolver
            .mistakes
            .push(mistake.near(&one.value.name, names).hint("`inputs` name further headers, which these include"));
    }
}
