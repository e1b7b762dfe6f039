//! How much a container may unpack to: counted in bytes that really came, whatever its headers promise.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::ContainerError;
use crate::budget;

/// What is still taken for an honest container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one member.
    pub member: u64,
    /// Bytes of all members, however small the container is.
    pub least: u64,
    /// Bytes of all members for each byte of the container.
    pub ratio: u64,
    /// Members, those of containers inside it included.
    pub members: usize,
    /// Containers inside each other.
    pub depth: usize,
    /// KiB that a stream's dictionary may take.
    pub dictionary: u32,
}

impl Limits {
    /// Those of simpack. The most that compilers' output was seen to shrink is to a twentieth, vendors' static archives
    /// to a fortieth; the largest member seen has 3 GB, the most members (a kernel's source) are 90,000; `xz -9` takes a
    /// dictionary of 64 MiB.
    pub const USUAL: Self =
        Self { member: 64 << 30, least: 1 << 30, ratio: 200, members: 1 << 20, depth: 4, dictionary: 256 << 10 };

    /// What a container of `size` bytes may give, or so many times as much as the user allows.
    pub fn quota(self, size: u64) -> Quota {
        self.times(budget::factor()).usual(size)
    }

    fn times(self, factor: u64) -> Self {
        let members = self.members.saturating_mul(usize::try_from(factor).unwrap_or(usize::MAX));
        let [member, least, ratio] = [self.member, self.least, self.ratio].map(|limit| limit.saturating_mul(factor));
        Self { member, least, ratio, members, ..self }
    }

    fn usual(self, size: u64) -> Quota {
        let most = self.least.max(size.saturating_mul(self.ratio));
        Quota { limits: self, most, left: AtomicU64::new(most), members: AtomicUsize::new(self.members) }
    }
}

/// What is left of the limits while a container and those inside it are read, by however many threads.
#[derive(Debug)]
pub struct Quota {
    pub(super) limits: Limits,
    most: u64,
    left: AtomicU64,
    members: AtomicUsize,
}

impl Quota {
    /// Counts one member.
    pub(super) fn member(&self) -> Result<(), ContainerError> {
        let counted = self.members.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        counted.map(drop).map_err(|_| ContainerError::Members(self.limits.members))
    }

    /// What an error of a reader below a [`Counted`] means.
    pub(super) fn failure(&self, error: io::Error) -> ContainerError {
        match self.left.load(Relaxed) {
            0 => ContainerError::Bomb(self.most),
            _ => ContainerError::Damaged(error.into()),
        }
    }

    /// The same bytes, counted; of one member where that is all that `reader` gives.
    pub(super) fn counted<R: Read>(&self, reader: R, is_member: bool) -> Counted<'_, R> {
        Counted { reader, quota: self, left: if is_member { self.limits.member } else { u64::MAX } }
    }
}

/// A reader that fails instead of going on for ever.
pub(super) struct Counted<'a, R> {
    reader: R,
    quota: &'a Quota,
    left: u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let less = |left: u64| left.checked_sub(count as u64);
        let own = less(self.left).filter(|_| self.quota.left.fetch_update(Relaxed, Relaxed, less).is_ok());
        let Some(own) = own else {
            self.quota.left.store(0, Relaxed);
            return Err(io::Error::other(ContainerError::Bomb(self.quota.most.min(self.quota.limits.member))));
        };
        self.left = own;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_can_be_raised() {
        let few = Limits { member: 6, least: 4, ratio: 2, members: 2, ..Limits::USUAL };
        let read = |limits: Limits, size: u64| {
            let quota = limits.usual(size);
            let ended = io::copy(&mut quota.counted(io::repeat(0).take(5), true), &mut io::sink());
            (ended.is_ok(), [(); 3].map(|()| quota.member().is_ok()))
        };
        assert_eq!(read(few, 1), (false, [true, true, false]));
        assert_eq!(read(few, 3), (true, [true, true, false]), "a larger container may give more");
        assert_eq!(read(few.times(2), 1), (true, [true, true, true]));
    }
}
