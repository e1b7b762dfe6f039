//! JSON on a terminal, in a log or in a pipe: written as it is made, so that a long result takes no memory.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::printable;

/// What lies deeper stands on one line: a kernel of a piece of code of a file.
const ON_LINES: usize = 8;
/// Bytes that are looked through at once.
const PART: usize = 1 << 16;

/// Writes a value to `out`, indented, and so that no terminal and no reader of logs obeys it.
///
/// # Errors
/// The value is none that JSON can hold, or `out` takes no more.
pub(super) fn write(value: &impl Serialize, out: impl Write) -> Result<(), serde_json::Error> {
    let mut shown = Shown { out, held: Vec::with_capacity(2 * PART) };
    value.serialize(&mut Serializer::with_formatter(&mut shown, Lines::default()))?;
    shown.held.push(b'\n');
    shown.pass_on().and_then(|()| shown.out.flush()).map_err(serde_json::Error::io)
}

/// Spells out what nobody may obey. What the serializer writes at once is whole: no letter and no pair of `#` is divided.
struct Shown<W> {
    out: W,
    held: Vec<u8>,
}

impl<W: Write> Shown<W> {
    fn pass_on(&mut self) -> io::Result<()> {
        let text = std::str::from_utf8(&self.held).map_err(io::Error::other)?;
        self.out.write_all(printable::json(text).as_bytes())?;
        self.held.clear();
        Ok(())
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= PART {
            self.pass_on()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Two blanks for each level, as serde_json's own, down to [`ON_LINES`].
#[derive(Default)]
struct Lines {
    depth: usize,
    has_value: bool,
}

/// A line end, and the blanks of as many levels as stand on lines of their own.
const INDENTED: &[u8; 1 + 2 * ON_LINES] = b"\n                ";

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        writer.write_all(sign)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value && self.depth < ON_LINES {
            writer.write_all(&INDENTED[..=2 * self.depth])?;
        }
        writer.write_all(sign)
    }

    fn item<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        match (first, self.depth <= ON_LINES) {
            (true, false) => Ok(()),
            (false, false) => writer.write_all(b", "),
            (first, true) => {
                if !first {
                    writer.write_all(b",")?;
                }
                writer.write_all(&INDENTED[..=2 * self.depth])
            }
        }
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.item(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.item(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &serde_json::Value) -> String {
        let mut out = Vec::new();
        write(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn nested(depth: usize) -> serde_json::Value {
        (0..depth).fold(serde_json::json!([1, {}]), |inner, _| serde_json::json!({ "in": inner, "n": [], "t": "x" }))
    }

    #[test]
    fn lines_are_those_of_serde_down_to_a_depth() {
        let shallow = nested(ON_LINES - 2);
        assert_eq!(written(&shallow), serde_json::to_string_pretty(&shallow).unwrap() + "\n");
        let deep = nested(ON_LINES + 2);
        let text = written(&deep);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), deep);
        assert!(
            text.contains("{\"in\": {\"in\": [1, {}], \"n\": [], \"t\": \"x\"}, \"n\": [], \"t\": \"x\"}"),
            "{text}"
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out_wherever_it_stands() {
        let long = "a".repeat(PART - 8);
        for hostile in ["\u{9b}31m", "##[error]x", "\u{7f}", "\u{202e}"] {
            let value = serde_json::json!([long, hostile, hostile.repeat(PART)]);
            let text = written(&value);
            assert!(!text.contains(hostile), "{}", hostile.escape_unicode());
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }
}
