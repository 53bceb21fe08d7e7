//! Batch memory: aligned buffers that go back to their pool when the last holder drops them.
//!
//! A fresh allocation of a few hundred KiB costs a page fault every 4 KiB, so a stage that makes
//! batch after batch takes its buffers from a pool. A buffer is recycled only when nobody can see
//! it any more: a batch stays valid and unchanged for as long as it is held.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::Result;
use crate::sys::{Buffer, Process};

/// Idle buffers kept for reuse: as many as are commonly in flight at once, and more of small ones, as links of small batches are deep.
const KEPT: usize = 64;
const KEPT_SMALL: usize = 1024;
const SMALL: usize = 1 << 10;

/// Buffers of one size.
pub(crate) struct Pool(Arc<Shelves>);

struct Shelves {
    bytes: usize,
    home: Process,
    returned: Mutex<Vec<Arc<Lease>>>,
    ready: Apart<Mutex<Vec<Arc<Lease>>>>,
}

/// On cache lines of its own: who takes buffers and who gives them back are mostly on different cores, and meet only when no small buffer
/// is ready and those that were returned become so. With one list, to meet was a fifth of a small batch's cost.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

impl Pool {
    /// A pool of buffers of this many bytes. Allocates none yet.
    pub(crate) fn new(bytes: usize) -> Pool {
        let (returned, ready) = (Mutex::default(), Apart::default());
        Pool(Arc::new(Shelves { bytes, home: Process::here(), returned, ready }))
    }

    /// An idle buffer, its old content still in it, or a new one filled with zeros.
    pub(crate) fn take(&self) -> Result<Bytes> {
        if let Some(lease) = self.0.idle() {
            return Ok(Bytes::of(lease));
        }
        let home = Arc::downgrade(&self.0);
        Ok(Bytes::owned(Lease { buffer: Buffer::zeroed(self.0.bytes)?, home }))
    }
}

impl Shelves {
    fn idle(&self) -> Option<Arc<Lease>> {
        if self.bytes > SMALL {
            // What was returned last is most likely still in a cache.
            return open(&self.returned).pop();
        }
        let mut ready = open(&self.ready.0);
        if ready.is_empty() {
            std::mem::swap(&mut *ready, &mut *open(&self.returned));
        }
        ready.pop()
    }

    fn put_back(&self, lease: Arc<Lease>) {
        // A thread of the parent may have held the lock when it forked.
        if !self.home.is_here() {
            return;
        }
        let most = if self.bytes <= SMALL { KEPT_SMALL } else { KEPT };
        let mut returned = open(&self.returned);
        if returned.len() < most {
            returned.push(lease);
        }
    }
}

fn open(shelf: &Mutex<Vec<Arc<Lease>>>) -> MutexGuard<'_, Vec<Arc<Lease>>> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Lease {
    buffer: Buffer,
    /// The pool to go back to, while there is one.
    home: Weak<Shelves>,
}

/// A range of a shared buffer: cheap to clone, cheap to cut.
#[derive(Clone)]
pub(crate) struct Bytes {
    /// None only while being dropped.
    lease: Option<Arc<Lease>>,
    range: Range<usize>,
}

impl Drop for Bytes {
    /// The last holder gives the buffer back. Two that let go in the same moment may both be too early to be the last; the
    /// buffer is freed then.
    fn drop(&mut self) {
        let Some(mut lease) = self.lease.take() else { return };
        if let Some(home) = Arc::get_mut(&mut lease).and_then(|lease| lease.home.upgrade()) {
            home.put_back(lease);
        }
    }
}

impl Bytes {
    /// New memory filled with zeros, outside any pool.
    pub(crate) fn zeroed(bytes: usize) -> Result<Bytes> {
        Ok(Bytes::owned(Lease { buffer: Buffer::zeroed(bytes)?, home: Weak::new() }))
    }

    /// A copy of `bytes` in memory of its own.
    pub(crate) fn copied(bytes: &[u8]) -> Result<Bytes> {
        let mut buffer = Buffer::zeroed(bytes.len())?;
        buffer.as_mut_slice().copy_from_slice(bytes);
        Ok(Bytes::owned(Lease { buffer, home: Weak::new() }))
    }

    fn owned(lease: Lease) -> Bytes {
        Bytes::of(Arc::new(lease))
    }

    fn of(lease: Arc<Lease>) -> Bytes {
        let range = 0..lease.buffer.as_slice().len();
        Bytes { lease: Some(lease), range }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.lease.as_ref().map_or(&[], |lease| &lease.buffer.as_slice()[self.range.clone()])
    }

    /// The bytes for writing, if nobody else holds the buffer.
    pub(crate) fn as_mut_slice(&mut self) -> Option<&mut [u8]> {
        let lease = Arc::get_mut(self.lease.as_mut()?)?;
        Some(&mut lease.buffer.as_mut_slice()[self.range.clone()])
    }

    /// The first `bytes` of these bytes: as [`cut`](Bytes::cut), but they stay the only holder's.
    pub(crate) fn first(mut self, bytes: usize) -> Bytes {
        self.range.end = self.range.end.min(self.range.start.saturating_add(bytes));
        self
    }

    /// The part `range` of these bytes, sharing the buffer.
    pub(crate) fn cut(&self, range: Range<usize>) -> Bytes {
        let from = self.range.start + range.start.min(self.range.len());
        let to = self.range.start + range.end.min(self.range.len());
        Bytes { lease: self.lease.clone(), range: from..to }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.range.len())
    }
}
