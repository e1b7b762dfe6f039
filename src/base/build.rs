//! The embedded data must be read again when a file of it changes.
fn main() {
    for dir in ["recipes", "manifests", "templates"] {
        println!("cargo:rerun-if-changed=../../{dir}");
    }
}
