//! The one time stamp of an archive: SOURCE_DATE_EPOCH.

use crate::bundle::EARLIEST;
use crate::error::{Error, Result};

/// 2107-12-31 23:59:58: the latest one (seven bits of years, two-second steps).
const LATEST: u64 = 4_354_819_198;

/// Reads the value of SOURCE_DATE_EPOCH: decimal digits, seconds since 1970, up to 2107.
///
/// # Errors
/// It is anything else. A build that ignored the value would look reproducible and not be.
pub fn parse_epoch(text: &str) -> Result<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(epoch) if digits => check_epoch(epoch),
        _ => Err(refused(text)),
    }
}

/// Refuses what no archive can hold.
///
/// # Errors
/// It is later than 2107.
pub fn check_epoch(epoch: u64) -> Result<u64> {
    if epoch <= LATEST { Ok(epoch) } else { Err(refused(epoch)) }
}

fn refused(value: impl std::fmt::Display) -> Error {
    Error::usage(format!("SOURCE_DATE_EPOCH is `{value}`"))
        .hint(format!("set it to whole seconds since 1970, at most {LATEST} (2107), or unset it"))
}

/// The time inside archives: the epoch, but not before 1980.
pub(in crate::package) fn archive_time(epoch: u64) -> u64 {
    epoch.clamp(EARLIEST, LATEST)
}

/// The time of entries, in seconds since 1970, as zip archives spell it.
pub(in crate::package) fn zip_time(seconds: u64) -> Result<zip::DateTime> {
    let seconds = i64::try_from(seconds).unwrap_or_default();
    let stamp = jiff::Timestamp::from_second(seconds).map(|stamp| stamp.to_zoned(jiff::tz::TimeZone::UTC));
    let stamp = stamp.map_err(|error| Error::bug("a time stamp is none").because(error))?;
    let part = |number: i8| u8::try_from(number).unwrap_or_default();
    let year = u16::try_from(stamp.year()).unwrap_or_default();
    let (date, clock) = ((part(stamp.month()), part(stamp.day())), (part(stamp.hour()), part(stamp.minute())));
    zip::DateTime::from_date_and_time(year, date.0, date.1, clock.0, clock.1, part(stamp.second()))
        .map_err(|error| Error::bug("a time stamp fits no archive").because(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_seconds_and_nothing_else() {
        assert_eq!(parse_epoch("0").unwrap(), 0);
        assert_eq!(parse_epoch("1704067200").unwrap(), 1_704_067_200);
        for text in ["", " ", "-1", "+1", "1.5", "1e9", "0x10", "yesterday", "1 ", "4354819199", "99999999999999999999"]
        {
            assert!(parse_epoch(text).is_err(), "{text:?}");
        }
    }
}
