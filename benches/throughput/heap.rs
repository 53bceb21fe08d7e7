//! A counting allocator: the heap's peak in a round that is not timed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static NOW: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

fn add(bytes: usize) {
    if COUNTS.load(Relaxed) {
        let now = NOW.fetch_add(bytes as isize, Relaxed) + bytes as isize;
        PEAK.fetch_max(now, Relaxed);
    }
}

fn remove(bytes: usize) {
    if COUNTS.load(Relaxed) {
        NOW.fetch_sub(bytes as isize, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged; only sizes are added up beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        remove(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Starts to count.
pub fn reset() {
    NOW.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    COUNTS.store(true, Relaxed);
}

/// Counts no more: numbers that two threads add to cost as much as a small allocation, so a round that is timed is not counted.
pub fn stop() {
    COUNTS.store(false, Relaxed);
}

/// Bytes beyond what was held at the last reset, at most, while it was counted.
pub fn peak() -> usize {
    PEAK.load(Relaxed) as usize
}
