//! Names as people wrote them: of host symbols and of kernels.

/// Longer names are not demangled: what they stand for may be exponentially longer than they are.
const MOST_NAME: usize = 1 << 16;

/// A mangled name in words: `two(float*, int)`; none for a name that is none of C++ (Itanium ABI) or Rust.
pub fn demangled(name: &str) -> Option<String> {
    if name.len() > MOST_NAME {
        return None;
    }
    if let Ok(symbol) = rustc_demangle::try_demangle(name) {
        return Some(format!("{symbol:#}"));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    let limits = cpp_demangle::ParseOptions::default().recursion_limit(200);
    let options = cpp_demangle::DemangleOptions::default().recursion_limit(200);
    cpp_demangle::Symbol::new_with_options(name, &limits).ok()?.demangle_with_options(&options).ok()
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn both_languages() {
        assert_eq!(demangled("_ZN6volley7Network4stepEi").as_deref(), Some("volley::Network::step(int)"));
        assert_eq!(demangled("_ZTVN6volley7BackendE").as_deref(), Some("{vtable(volley::Backend)}"));
        let rust = demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE");
        assert_eq!(rust.as_deref(), Some("core::fmt::Formatter::pad"));
        assert_eq!(demangled("_Z3twoPfi").as_deref(), Some("two(float*, int)"));
        assert_eq!(demangled("_Z4manyILi3EEvPdx").as_deref(), Some("void many<3>(double*, long long)"));
        assert_eq!(demangled("volley_run"), None);
        assert_eq!(demangled("_Z"), None);
        assert_eq!(demangled("_Zgarbage"), None);
    }
}
