//! The processor that host code needs.

use super::fixture::{Tree, context, denies, passes, report, said};
use crate::report::Level;
use crate::verify::Depth;

fn plugin(source: &str, flags: &[&str]) -> Tree {
    Tree::core().compiled("lib/volley/p.so", source, &[&["-shared", "-fPIC"], flags].concat())
}

#[test]
fn processors_above_the_level() {
    denies(
        &[&plugin("int a;", &["-Wl,-z,x86-64-v3"]).seal()],
        &["isa-level | volley-core: lib/volley/p.so | \
           needs a processor of x86-64-v3, above the level 1 of the package"],
    );
    passes(&[&plugin("int a;", &[]).seal()]);
    let flags = ["-shared", "-fPIC", "-Wl,-z,x86-64-v3"];
    let place = |level: u32| format!("lib/glibc-hwcaps/x86-64-v{level}/volley/p.so");
    passes(&[&Tree::core().compiled("lib/glibc-hwcaps/x86-64-v3/p.so", "int a;", &flags).seal()]);
    assert_eq!(said(&report(&[&Tree::core().compiled(&place(2), "int a;", &flags).seal()], &context())).len(), 1);
}

const SUM: &str = "void sum(float *a, const float *b, long n) { for (long i = 0; i < n; i++) a[i] += b[i]; }";
const ASKS: &str = "#include <cpuid.h>\nint asks(void) { unsigned a, b, c, d; return __get_cpuid(7, &a, &b, &c, &d); }";

/// Findings of `--deep` with the level that a recipe declares, and the first line of their evidence.
fn deep(tree: Tree, declared: Option<u32>) -> Vec<(Level, String, String)> {
    let mut context = context().depth(Depth::Instructions);
    context.rules.processor = declared;
    let report = report(&[&tree.seal()], &context);
    assert_eq!(report.incomplete, []);
    let all = report.findings.into_iter();
    all.map(|it| (it.level, format!("{}: {}", it.lint, it.message), it.evidence.join("; "))).collect()
}

#[test]
fn unguarded_instructions_above_the_declared_level_are_denied() {
    let flags = ["-O3", "-mavx2"];
    let found = deep(plugin(SUM, &flags), Some(2));
    let [(Level::Deny, message, evidence)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(message, "isa-level: holds instructions of x86-64-v3, above the level 2 of the package");
    assert!(evidence.starts_with("nothing in the file asks the processor whether it has them; x86-64-v3: "));
    assert!(evidence.contains("instructions, in sum (v"), "{evidence}");
    // What the declared processor has, what is there to be chosen, and what nobody promised.
    assert_eq!(deep(plugin(SUM, &flags), Some(3)), []);
    let chosen = deep(plugin(&format!("{SUM}\n{ASKS}"), &flags), Some(1));
    let [(Level::Note, message, evidence)] = chosen.as_slice() else { panic!("{chosen:?}") };
    assert_eq!(message, "isa-instructions: holds instructions of x86-64-v3");
    assert!(evidence.starts_with("it asks the processor what it can: cpuid in asks; "), "{evidence}");
    let unsaid = deep(plugin(SUM, &flags), None);
    assert!(matches!(unsaid.as_slice(), [(Level::Note, ..)]), "{unsaid:?}");
    assert_eq!(deep(plugin(SUM, &["-O3"]), Some(1)), []);
    let own = Tree::core().compiled("lib/glibc-hwcaps/x86-64-v3/p.so", SUM, &["-shared", "-fPIC", "-O3", "-mavx2"]);
    assert_eq!(deep(own, Some(1)), []);
}

#[test]
fn without_deep_no_instruction_is_read() {
    let mut context = context();
    context.rules.processor = Some(1);
    assert_eq!(said(&report(&[&plugin(SUM, &["-O3", "-mavx2"]).seal()], &context)), [""; 0]);
}
