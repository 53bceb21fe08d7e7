//! Batch memory: aligned buffers that go back to their pool when the last holder drops them.
//!
//! A fresh allocation of a few hundred KiB costs a page fault every 4 KiB, so a stage that makes
//! batch after batch takes its buffers from a pool. A buffer is recycled only when nobody can see
//! it any more: a batch stays valid and unchanged for as long as it is held.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::sys::{Buffer, Process};

/// Idle buffers kept for reuse: as many as are commonly in flight at once, and more of small ones, as links of small batches are deep.
const KEPT: usize = 64;
const KEPT_SMALL: usize = 1024;
const SMALL: usize = 1 << 10;

/// Buffers of one size.
#[derive(Clone)]
pub(crate) struct Pool {
    bytes: usize,
    idle: Arc<Mutex<Vec<Arc<Lease>>>>,
    home: Process,
}

impl Pool {
    /// A pool of buffers of this many bytes. Allocates nothing yet.
    pub(crate) fn new(bytes: usize) -> Pool {
        Pool { bytes, idle: Arc::default(), home: Process::here() }
    }

    /// An idle buffer, its old content still in it, or a new one filled with zeros.
    pub(crate) fn take(&self) -> Result<Bytes> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut lease = match idle {
            Some(lease) => lease,
            None => Arc::new(Lease { buffer: Buffer::zeroed(self.bytes)?, home: None }),
        };
        // Nobody else holds an idle lease.
        if let Some(lease) = Arc::get_mut(&mut lease) {
            lease.home = Some(self.clone());
        }
        Ok(Bytes::of(lease))
    }

    fn put_back(&self, lease: Arc<Lease>) {
        // A thread of the parent may have held the lock when it forked.
        if !self.home.is_here() {
            return;
        }
        let most = if self.bytes <= SMALL { KEPT_SMALL } else { KEPT };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < most {
            idle.push(lease);
        }
    }
}

struct Lease {
    buffer: Buffer,
    /// The pool to go back to; none while idle, or the pool would hold itself.
    home: Option<Pool>,
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
        if let Some(home) = Arc::get_mut(&mut lease).and_then(|lease| lease.home.take()) {
            home.put_back(lease);
        }
    }
}

impl Bytes {
    /// New memory filled with zeros, outside any pool.
    pub(crate) fn zeroed(bytes: usize) -> Result<Bytes> {
        Ok(Bytes::owned(Lease { buffer: Buffer::zeroed(bytes)?, home: None }))
    }

    /// A copy of `bytes` in memory of its own.
    pub(crate) fn copied(bytes: &[u8]) -> Result<Bytes> {
        let mut buffer = Buffer::zeroed(bytes.len())?;
        buffer.as_mut_slice().copy_from_slice(bytes);
        Ok(Bytes::owned(Lease { buffer, home: None }))
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

    /// The first `bytes` of these bytes.
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
