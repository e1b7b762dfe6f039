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

/// What `[[ $path =~ EXPRESSION ]]` of bash matches as the glob does, whose `*` ends at a slash. None for a glob with an open brace
/// or bracket.
pub fn expression(glob: &str) -> Option<String> {
    let mut expression = String::from("^");
    let mut open = 0;
    let mut rest = glob;
    while let Some(letter) = rest.chars().next() {
        let word = ["/**/", "**/", "/**", "**"].into_iter().find(|word| rest.starts_with(word));
        let is_part = rest.len() == glob.len() || word.is_some_and(|word| word.starts_with('/'));
        let (taken, text) = match word {
            // `**` is whole directories, or none.
            Some("/**/") => (4, "/(.*/)?".to_owned()),
            Some("**/") if is_part => (3, "(.*/)?".to_owned()),
            Some("/**") if rest.len() == 3 => (3, "/.*".to_owned()),
            Some("**") if is_part && rest.len() == 2 => (2, ".*".to_owned()),
            _ => match letter {
                '*' => (1, "[^/]*".to_owned()),
                '?' => (1, "[^/]".to_owned()),
                '{' => (1, "(".to_owned()),
                '}' if open > 0 => (1, ")".to_owned()),
                ',' if open > 0 => (1, "|".to_owned()),
                '[' => {
                    let class = &rest[1..=rest[1..].find(']')?];
                    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
                    let (not, letters) = class.strip_prefix('!').map_or(("", class), |letters| ("^", letters));
                    if letters.is_empty() || !letters.chars().all(plain) {
                        return None;
                    }
                    (class.len() + 2, format!("[{not}{letters}]"))
                }
                '\n' | '\0' => return None,
                letter if letter.is_ascii_punctuation() && !"/-_,".contains(letter) => (1, format!("\\{letter}")),
                letter => (letter.len_utf8(), letter.to_string()),
            },
        };
        match text.as_str() {
            "(" => open += 1,
            ")" => open -= 1,
            _ => {}
        }
        expression.push_str(&text);
        rest = &rest[taken..];
    }
    expression.push('$');
    (open == 0).then_some(expression)
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

    /// Bash and the matcher of globs agree on paths.
    #[test]
    fn expressions_match_what_globs_match() {
        let paths = [
            "a.so",
            "out/a.so",
            "out/deep/a.so",
            "out/a.so.1",
            "out/b+c.cmake",
            "out/b",
            "out/bin/x y",
            "out/bin/z",
            "b",
            "outbin/z",
        ];
        for glob in [
            "*.so",
            "out/*.so",
            "**/*.so",
            "out/**",
            "out/**/a.so",
            "**",
            "out/b+c.*",
            "out/{a,b}*",
            "out/bin/?",
            "out/[!a]*",
            "out/bin/x y",
        ] {
            let matcher = globset::GlobBuilder::new(glob).literal_separator(true).build().unwrap().compile_matcher();
            let expression = expression(glob).unwrap();
            for path in paths {
                let ran = std::process::Command::new("bash")
                    .args(["-c", "[[ $1 =~ $2 ]]", "bash", path, &expression])
                    .status()
                    .unwrap();
                assert_eq!(ran.success(), matcher.is_match(path), "{glob} as {expression} on {path}");
            }
        }
        for open in ["{a", "[a", "[", "a\nb"] {
            assert_eq!(expression(open), None, "{open}");
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
