//! Names as people wrote them: of host symbols and of kernels.

use std::fmt::{self, Write};

/// Longer names are not demangled: no compiler makes them, and reading one takes time and stack.
const MOST_NAME: usize = 1 << 16;
/// What a name stands for may be exponentially longer than it is. Longer words than this nobody reads; those of the
/// largest kernels in vendors' libraries have about 12,000 bytes.
const MOST_WORDS: usize = 1 << 15;
/// Words of a name are at most so many times as long as it: see [`MOST_WORDS`].
const MOST_EXPANSION: usize = 64;

/// The most bytes that the words of a name may have.
pub fn most_words(name: &str) -> usize {
    MOST_WORDS.min(name.len() * MOST_EXPANSION)
}

/// A mangled name in words: `two(float*, int)`; none for a name that is none of C++ (Itanium ABI) or Rust, or whose
/// words nobody would read.
pub fn demangled(name: &str) -> Option<String> {
    if name.len() > MOST_NAME {
        return None;
    }
    let mut words = Words { text: String::new(), most: most_words(name) };
    if let Ok(symbol) = rustc_demangle::try_demangle(name) {
        write!(words, "{symbol:#}").ok()?;
    } else if name.starts_with("_Z") {
        let limits = cpp_demangle::ParseOptions::default().recursion_limit(200);
        let options = cpp_demangle::DemangleOptions::default().recursion_limit(200);
        let symbol = cpp_demangle::Symbol::new_with_options(name, &limits).ok()?;
        symbol.structured_demangle(&mut words, &options).ok()?;
    } else {
        return None;
    }
    Some(words.text)
}

/// A text that refuses to grow beyond its limit, which ends the demangling.
struct Words {
    text: String,
    most: usize,
}

impl Write for Words {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len() + part.len() > self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
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

    #[test]
    fn names_that_explode_stay_as_they_are() {
        // Each template argument names the one before twice: S1_ is `a<int, int>`, S2_ is `a<S1_, S1_>` ...
        let digit = |number: u32| char::from_digit(number, 36).unwrap().to_ascii_uppercase();
        let mut cpp = "_Z1fI1aIiiE".to_owned();
        for last in (1..35).map(digit) {
            cpp.push_str(&format!("S0_IS{last}_S{last}_E"));
        }
        assert_eq!(
            demangled(&format!("{}EvT_", &cpp[..11 + 3 * 11])).unwrap().matches("int").count(),
            2 * (1 + 2 + 4 + 8) + 2
        );
        cpp.push_str("EvT_");
        assert_eq!(demangled(&cpp), None);
        assert_eq!(demangled(&format!("_Z{}", "P".repeat(70_000))), None);
    }
}
