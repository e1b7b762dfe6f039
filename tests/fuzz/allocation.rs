//! Counts what a target allocates, so that an input that takes more than its size allows fails.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

static NOW: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all is the system's; numbers are only added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size() as u64, Relaxed) + layout.size() as u64;
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Runs `read` and fails when it holds more than 64 MiB and 8 bytes for each byte of the input at a time.
pub fn bounded<T>(bytes: &[u8], read: impl FnOnce() -> T) -> T {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let answer = read();
    let taken = PEAK.load(Relaxed).saturating_sub(before);
    let most = (64 << 20) + 8 * bytes.len() as u64;
    assert!(taken <= most, "{taken} bytes of memory for an input of {}", bytes.len());
    answer
}
