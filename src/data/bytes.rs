//! Batch memory: aligned buffers that go back to their pool when the last holder drops them.
//!
//! A fresh allocation of a few hundred KiB costs a page fault every 4 KiB, so a stage that makes
//! batch after batch takes its buffers from a pool. A buffer is recycled only when nobody can see
//! it any more: a batch stays valid and unchanged for as long as it is held.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::sys::Buffer;

/// Idle buffers kept for reuse; more than are commonly in flight at once would only hold memory.
const KEPT: usize = 64;

/// Buffers of one size.
#[derive(Clone)]
pub(crate) struct Pool {
    bytes: usize,
    idle: Arc<Mutex<Vec<Buffer>>>,
}

impl Pool {
    /// A pool of buffers of this many bytes. Allocates nothing yet.
    pub(crate) fn new(bytes: usize) -> Pool {
        Pool { bytes, idle: Arc::default() }
    }

    /// An idle buffer, its old content still in it, or a new one filled with zeros.
    pub(crate) fn take(&self) -> Result<Bytes> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffer = match idle {
            Some(buffer) => buffer,
            None => Buffer::zeroed(self.bytes)?,
        };
        Ok(Bytes::owned(Lease { buffer, home: Some(self.clone()) }))
    }
}

struct Lease {
    buffer: Buffer,
    home: Option<Pool>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(pool) = self.home.take() {
            let mut idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < KEPT {
                idle.push(std::mem::take(&mut self.buffer));
            }
        }
    }
}

/// A range of a shared buffer: cheap to clone, cheap to cut.
#[derive(Clone)]
pub(crate) struct Bytes {
    lease: Arc<Lease>,
    range: Range<usize>,
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
        let range = 0..lease.buffer.as_slice().len();
        Bytes { lease: Arc::new(lease), range }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.lease.buffer.as_slice()[self.range.clone()]
    }

    /// The bytes for writing, if nobody else holds the buffer.
    pub(crate) fn as_mut_slice(&mut self) -> Option<&mut [u8]> {
        let lease = Arc::get_mut(&mut self.lease)?;
        Some(&mut lease.buffer.as_mut_slice()[self.range.clone()])
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
