//! One frame of zstd whose level changes from file to file.

use std::io::{self, Write};

use zstd::Encoder;
use zstd::zstd_safe::{CParameter, ParamSwitch};

use super::compression::Effort;

/// Below this size, in bytes, a frame begins when all of it is there: zstd then takes tables for that size alone, instead of the
/// hundreds of megabytes that its strongest level clears for what may come. Most packages are smaller.
const HELD: usize = 4 << 20;

/// A frame of zstd whose level changes from file to file. It is one frame, because there are readers of packages that
/// stop after the first. Its bytes are the same for any number of threads.
pub struct Frame<W: Write> {
    state: State<W>,
    threads: u32,
    effort: Effort,
}

enum State<W: Write> {
    /// What was written so far, by efforts.
    Held {
        out: W,
        pieces: Vec<(Effort, Vec<u8>)>,
        size: usize,
    },
    Begun(Encoder<'static, W>),
    /// Its beginning failed.
    Lost,
}

impl<W: Write> Frame<W> {
    /// A frame that goes to `out`, compressed on so many threads.
    pub fn new(out: W, threads: u32) -> Self {
        Self { state: State::Held { out, pieces: Vec::new(), size: 0 }, threads, effort: Effort::Strong }
    }

    /// What comes from here on is worth `effort`.
    ///
    /// # Errors
    /// What came before cannot be written.
    pub fn turn_to(&mut self, effort: Effort) -> io::Result<()> {
        if let State::Begun(encoder) = &mut self.state {
            turn(encoder, self.effort, effort)?;
        }
        self.effort = effort;
        Ok(())
    }

    /// Completes the frame.
    ///
    /// # Errors
    /// What is left cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        if let State::Held { size, .. } = &self.state {
            self.begin(Some(*size as u64))?;
        }
        match self.state {
            State::Begun(encoder) => encoder.finish(),
            State::Held { .. } | State::Lost => Err(lost()),
        }
    }

    /// Begins the frame with what is held, which is all of it where its size is given.
    fn begin(&mut self, size: Option<u64>) -> io::Result<()> {
        let State::Held { out, pieces, .. } = std::mem::replace(&mut self.state, State::Lost) else { return Ok(()) };
        // The window is settled when the frame begins: it is to be that of the strongest level.
        let mut effort = Effort::Strong;
        let mut encoder = Encoder::new(out, effort.zstd())?;
        // Also for one thread: zstd's threaded mode cuts its input the same way for any number of workers, and
        // differently from the mode without workers, in which the level could not change either.
        encoder.multithread(self.threads)?;
        encoder.include_checksum(true)?;
        // Settled when the frame begins, by a level that has no use for it: the fast one has.
        encoder.set_parameter(CParameter::UseRowMatchFinder(ParamSwitch::Enable))?;
        encoder.set_pledged_src_size(size)?;
        for (next, bytes) in pieces {
            turn(&mut encoder, effort, next)?;
            effort = next;
            encoder.write_all(&bytes)?;
        }
        turn(&mut encoder, effort, self.effort)?;
        self.state = State::Begun(encoder);
        Ok(())
    }
}

/// Another level for what comes from here on.
fn turn<W: Write>(encoder: &mut Encoder<'static, W>, from: Effort, to: Effort) -> io::Result<()> {
    if to != from {
        // Otherwise what is collected and not begun yet would get the new level, and how much that is would depend
        // on the number of threads.
        encoder.flush()?;
        encoder.set_parameter(CParameter::CompressionLevel(to.zstd()))?;
    }
    Ok(())
}

fn lost() -> io::Error {
    io::Error::other("the frame could not begin")
}

impl<W: Write> Write for Frame<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let State::Held { pieces, size, .. } = &mut self.state {
            if *size + bytes.len() <= HELD {
                *size += bytes.len();
                match pieces.last_mut().filter(|(effort, _)| *effort == self.effort) {
                    Some((_, piece)) => piece.extend_from_slice(bytes),
                    None => pieces.push((self.effort, bytes.to_vec())),
                }
                return Ok(bytes.len());
            }
            self.begin(None)?;
        }
        match &mut self.state {
            State::Begun(encoder) => encoder.write(bytes),
            State::Held { .. } | State::Lost => Err(lost()),
        }
    }

    /// Nothing: it would cut the frame where somebody wants to see what was written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::compression::tests::noise;
    use super::*;
    use crate::fs::Digest;

    /// Bytes that shrink to about a half, and more at a stronger level: digits of a generator.
    fn digits(count: usize) -> Vec<u8> {
        noise(count / 2).iter().flat_map(|byte| [b"0123456789abcdef"[usize::from(byte >> 4)], b'.']).collect()
    }

    /// Files of three efforts, several of each, so that zstd has jobs under way when the level changes.
    fn frame(threads: u32) -> Vec<u8> {
        let mut frame = Frame::new(Vec::new(), threads);
        for (effort, bytes) in [
            (Effort::Strong, digits(70_000)),
            (Effort::Store, noise(1 << 18).repeat(4 * 34)),
            (Effort::Fast, digits(1 << 18).repeat(4 * 66)),
            (Effort::Strong, digits(1 << 18)),
            (Effort::Fast, digits(1 << 18)),
        ] {
            frame.turn_to(effort).unwrap();
            // In pieces, as archives write them.
            bytes.chunks(30_011).for_each(|piece| frame.write_all(piece).unwrap());
        }
        frame.finish().unwrap()
    }

    #[test]
    fn a_frame_is_the_same_for_any_number_of_threads_and_is_one() {
        let one = frame(1);
        assert_eq!(Digest::of(&one), Digest::of(&frame(3)));
        let mut decoder = zstd::Decoder::new(one.as_slice()).unwrap().single_frame();
        let mut size = 0;
        let mut piece = vec![0; 1 << 16];
        loop {
            match io::Read::read(&mut decoder, &mut piece).unwrap() {
                0 => break,
                count => size += count,
            }
        }
        assert_eq!(size, 70_000 + ((4 * 34 + 4 * 66 + 2) << 18));
    }

    #[test]
    fn the_level_changes_within_a_frame() {
        // A text in which a stronger level finds more.
        let text: Vec<u8> = (0..400_000u32)
            .flat_map(|number| (number.wrapping_mul(2_654_435_761) >> 20).to_string().into_bytes())
            .collect();
        let size = |effort| {
            let mut frame = Frame::new(Vec::new(), 1);
            frame.write_all(b"first").unwrap();
            frame.turn_to(effort).unwrap();
            frame.write_all(&text).unwrap();
            frame.finish().unwrap().len()
        };
        let (store, fast, strong) = (size(Effort::Store), size(Effort::Fast), size(Effort::Strong));
        assert!(strong < fast && fast < store && store < text.len(), "{strong} {fast} {store} of {}", text.len());
    }

    #[test]
    fn a_small_frame_says_its_size_and_asks_readers_for_no_more() {
        let text = digits(200_000);
        let packed = |threads, count: usize| {
            let mut frame = Frame::new(Vec::new(), threads);
            for (at, piece) in text[..count].chunks(30_011).enumerate() {
                frame.turn_to([Effort::Strong, Effort::Fast][at % 2]).unwrap();
                frame.write_all(piece).unwrap();
            }
            frame.finish().unwrap()
        };
        for count in [0, 1, 100, 200_000] {
            let one = packed(1, count);
            assert_eq!(one, packed(3, count));
            assert_eq!(zstd::zstd_safe::get_frame_content_size(&one).unwrap(), Some(count as u64));
            assert_eq!(zstd::decode_all(one.as_slice()).unwrap(), text[..count]);
        }
        // 2^18 bytes are enough of a window.
        let frame = packed(1, 200_000);
        let mut decoder = zstd::Decoder::new(frame.as_slice()).unwrap();
        decoder.window_log_max(18).unwrap();
        io::copy(&mut decoder, &mut io::sink()).unwrap();
    }

    #[test]
    fn what_is_larger_than_what_is_held_is_whole() {
        let text = noise(HELD - 10);
        let mut frame = Frame::new(Vec::new(), 2);
        frame.write_all(&text).unwrap();
        frame.turn_to(Effort::Store).unwrap();
        frame.write_all(&text).unwrap();
        let packed = frame.finish().unwrap();
        assert_eq!(zstd::decode_all(packed.as_slice()).unwrap(), text.repeat(2));
    }
}
