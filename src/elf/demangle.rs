//! Names as people wrote them.

/// The C++ or Rust name behind a mangled one; none when it is not mangled or not well formed.
pub fn demangled(name: &str) -> Option<String> {
    // Longer names are seen in hostile files only, and the demangler's work grows with them.
    if name.len() > 8192 {
        return None;
    }
    if let Ok(symbol) = rustc_demangle::try_demangle(name) {
        return Some(format!("{symbol:#}"));
    }
    if !name.starts_with("_Z") && !name.starts_with("__Z") {
        return None;
    }
    cpp_demangle::Symbol::new(name).ok()?.demangle().ok()
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn both_languages() {
        assert_eq!(demangled("_ZN6volley7Network4stepEi").as_deref(), Some("volley::Network::step(int)"));
        assert_eq!(demangled("_ZTVN6volley7BackendE").as_deref(), Some("{vtable(volley::Backend)}"));
        assert_eq!(
            demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE").as_deref(),
            Some("core::fmt::Formatter::pad")
        );
        assert_eq!(demangled("volley_run"), None);
        assert_eq!(demangled("_Zgarbage"), None);
    }
}
