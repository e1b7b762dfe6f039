//! Sizes, times and counts as people write them: `10G`, `500M`, `90s`, `2h`, `30d`, `1 step`, `2 entries`.

use std::time::Duration;

use crate::error::{Error, Result};

/// So many of something: `1 step`, `2 steps`, `3 entries`.
pub fn count(number: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

/// Bytes: a number, with `k`, `M`, `G` or `T` for powers of 1024 behind it; `none` for no limit.
///
/// # Errors
/// The text is no such number.
pub fn bytes(text: &str) -> Result<Option<u64>> {
    if text.trim() == "none" {
        return Ok(None);
    }
    let wrong = || {
        Error::usage(format!("`{text}` is not a size")).hint("write a number with k, M, G or T behind it, or `none`")
    };
    let (number, unit) = split(text);
    let factor: u64 = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => 1,
        "k" | "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    match number * factor as f64 {
        bytes if bytes.is_finite() && (0.0..1.8e19).contains(&bytes) => Ok(Some(bytes as u64)),
        _ => Err(wrong()),
    }
}

/// A time: a number of seconds, or with `s`, `m`, `h` or `d` behind it.
///
/// # Errors
/// The text is no such number.
pub fn time(text: &str) -> Result<Duration> {
    let wrong = || Error::usage(format!("`{text}` is not a time")).hint("write a number with s, m, h or d behind it");
    let (number, unit) = split(text);
    let factor = match unit {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * factor).map_err(|_| wrong())
}

/// A time that people wait: `45 s`, `3 min 20 s`, `1 h 5 min`.
pub fn in_words(time: Duration) -> String {
    match (time.as_secs() / 3_600, time.as_secs() / 60 % 60, time.as_secs() % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes_) in
            [("0", 0), ("17", 17), ("1k", 1024), ("1.5M", 3 << 19), ("10G", 10 << 30), ("2 GiB", 2 << 30)]
        {
            assert_eq!(bytes(text).unwrap(), Some(bytes_), "{text}");
        }
        assert_eq!(bytes("none").unwrap(), None);
        for text in ["", "G", "-1", "1e3", "10X", "1.2.3", "99999999999999999999999"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("2m", 120), ("1.5h", 5400), ("30 d", 2_592_000)] {
            assert_eq!(time(text).unwrap(), Duration::from_secs(seconds), "{text}");
        }
        for text in ["", "h", "-1s", "1w", "99999999999999999999999d"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
