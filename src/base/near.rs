//! "Did you mean": the nearest of some words.

/// The choice nearest to `text`, if one is near enough to be meant: at most a third of the letters differ
/// (at least one may). Among equals the one with the longest common beginning wins, then the one whose first other
/// letter is nearest, so that `2.28` is nearer to `2.29` than `2.24` is.
pub fn nearest(text: &str, choices: impl IntoIterator<Item = String>) -> Option<String> {
    let lower = text.to_lowercase();
    let allowed = (text.chars().count() / 3).max(1);
    choices
        .into_iter()
        .map(|choice| {
            let common = choice.chars().zip(lower.chars()).take_while(|(a, b)| a == b).count();
            let letter = |text: &str| text.chars().nth(common).map_or(0, u32::from);
            let apart = letter(&lower).abs_diff(letter(&choice));
            (strsim::osa_distance(&lower, &choice.to_lowercase()), std::cmp::Reverse(common), apart, choice)
        })
        .filter(|(distance, .., choice)| *distance <= allowed && choice != text)
        .min()
        .map(|(.., choice)| choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let keys = || ["capabilities", "platforms", "cuda", "ptx"].map(str::to_owned);
        assert_eq!(nearest("capabilites", keys()).as_deref(), Some("capabilities"));
        assert_eq!(nearest("platform", keys()).as_deref(), Some("platforms"));
        assert_eq!(nearest("cdua", keys()).as_deref(), Some("cuda"));
        assert_eq!(nearest("PTX", keys()).as_deref(), Some("ptx"));
        assert_eq!(nearest("colour", keys()), None);
        let capabilities = || ["7.5", "8.0", "9.0", "9.0a", "10.0"].map(str::to_owned);
        assert_eq!(nearest("9.2", capabilities()).as_deref(), Some("9.0"));
        assert_eq!(nearest("2.29", ["2.24", "2.28", "2.34"].map(str::to_owned)).as_deref(), Some("2.28"));
        assert_eq!(nearest("9.5", capabilities()).as_deref(), Some("9.0"));
    }
}
