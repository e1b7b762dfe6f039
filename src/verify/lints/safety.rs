//! What makes a library refused or dangerous at load time.

use super::super::BundleFacts;
use crate::elf::Stack;
use crate::lint::{Hits, Parameters, Predicate};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "executable-stack", parameters: &[], check: executable_stack },
        Predicate { id: "text-relocations", parameters: &[], check: text_relocations },
    ]
}

fn executable_stack(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in facts.contents() {
        for (subject, _, elf) in package.loaded() {
            match elf.stack {
                Stack::Data => {}
                Stack::Executable => {
                    hits.add(subject, "asks for an executable stack (PT_GNU_STACK with execute permission)");
                }
                Stack::Unstated => {
                    hits.add(
                        subject,
                        "does not say what stack it wants (no PT_GNU_STACK), so the loader makes it executable",
                    );
                }
            }
        }
    }
}

fn text_relocations(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in facts.contents() {
        for (subject, _, elf) in package.loaded().filter(|(_, _, elf)| elf.text_relocations) {
            let sections: Vec<&str> = elf.sections.iter().map(|section| section.name.as_str()).collect();
            let with_device = sections.iter().any(|name| name.starts_with(".nv"));
            hits.add(subject, "has relocations in read-only memory (DT_TEXTREL)").evidence_lines(
                with_device.then_some("it also holds device code: look at how the device link was done"),
            );
        }
    }
}
