//! Globs of recipes as extended patterns of bash.

/// What `[[ $path == PATTERN ]]` of bash with `extglob` matches as the glob does where `*` crosses directories:
/// `kernels/*.{h,cuh}` is `kernels/*.@(h|cuh)`. None for a glob with an open brace or bracket.
pub fn extended(glob: &str) -> Option<String> {
    let mut pattern = String::new();
    let mut open = 0;
    let mut letters = glob.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '*' if letters.peek() == Some(&'*') => {
                letters.next();
                match letters.peek() {
                    // `**/` stands for any directories, and for none.
                    Some('/') => {
                        letters.next();
                        pattern.push_str("?(*/)");
                    }
                    _ => pattern.push('*'),
                }
            }
            '*' | '?' => pattern.push(letter),
            '{' => {
                open += 1;
                pattern.push_str("@(");
            }
            '}' if open > 0 => {
                open -= 1;
                pattern.push(')');
            }
            ',' if open > 0 => pattern.push('|'),
            '[' => {
                let mut class = String::new();
                loop {
                    match letters.next()? {
                        ']' if !class.is_empty() => break,
                        letter => class.push(letter),
                    }
                }
                let plain = |letter: char| letter.is_ascii_alphanumeric() || "-!_.".contains(letter);
                if !class.chars().all(plain) {
                    return None;
                }
                pattern.push_str(&format!("[{class}]"));
            }
            letter if letter.is_ascii_alphanumeric() || "/._-+".contains(letter) => pattern.push(letter),
            '\n' | '\0' => return None,
            letter => {
                pattern.push('\\');
                pattern.push(letter);
            }
        }
    }
    (open == 0).then_some(pattern)
}

/// The globs that one with alternatives stands for: `lib*.{a,so}` for `lib*.a` and `lib*.so`. One that is not closed stays.
pub(super) fn alternatives(glob: &str) -> Vec<String> {
    let cut = glob.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (words, after))) = cut.filter(|(_, (words, _))| !words.contains('{')) else {
        return vec![glob.to_owned()];
    };
    let all = words.split(',').flat_map(|word| alternatives(&format!("{before}{word}{after}")));
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_become_patterns() {
        for (glob, pattern) in [
            ("kernels/**", Some("kernels/*")),
            ("**/LICENSE", Some("?(*/)LICENSE")),
            ("kernels/*.{h,cuh}", Some("kernels/*.@(h|cuh)")),
            ("a b$(x)", Some("a\\ b\\$\\(x\\)")),
            ("v[0-9]", Some("v[0-9]")),
            ("{a", None),
            ("[a", None),
        ] {
            assert_eq!(extended(glob).as_deref(), pattern, "{glob}");
        }
    }

    #[test]
    fn globs_with_alternatives_are_several() {
        assert_eq!(alternatives("lib/lib*.{a,so}"), ["lib/lib*.a", "lib/lib*.so"]);
        assert_eq!(alternatives("{a,b}/{c,d}"), ["a/c", "a/d", "b/c", "b/d"]);
        for alone in ["bin/**", "a{b", "{a,{b,c}}"] {
            assert_eq!(alternatives(alone), [alone]);
        }
    }
}
