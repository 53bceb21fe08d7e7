//! Batch memory: aligned buffers that go back to their pool when the last holder drops them.
//!
//! A fresh allocation of a few hundred KiB costs a page fault every 4 KiB, so a stage that makes
//! batch after batch takes its buffers from a pool. A buffer is recycled only when nobody can see
//! it any more: a batch stays valid and unchanged for as long as it is held, also when the pool is gone.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::Result;
use crate::sys::{Buffer, Process};

/// Returned buffers kept for reuse: as many as are commonly in flight at once, and more of small ones, as links of small batches are
/// deep.
const KEPT: usize = 64;
const KEPT_SMALL: usize = 1024;

/// The most bytes of a small buffer.
const SMALL: usize = 1 << 10;

/// Buffers of one size.
pub(crate) struct Pool {
    bytes: usize,
    shelves: Arc<Shelves>,
}

/// Where idle buffers lie.
struct Shelves {
    home: Process,
    most: usize,
    returned: Mutex<Vec<Arc<Lease>>>,
    /// Small ones, for who takes next; when none are left, the returned ones come here. Buffers are mostly taken on one core and
    /// given back on another: with one list, to pass its cache line to and fro was a tenth of a small batch's cost.
    ready: Apart<Mutex<Vec<Arc<Lease>>>>,
}

/// A value on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

impl Pool {
    /// A pool of buffers of this many bytes. Allocates none yet.
    pub(crate) fn new(bytes: usize) -> Pool {
        let most = if bytes <= SMALL { KEPT_SMALL } else { KEPT };
        let (returned, ready) = Default::default();
        Pool { bytes, shelves: Arc::new(Shelves { home: Process::here(), most, returned, ready }) }
    }

    /// An idle buffer, its old content still in it, or a new one filled with zeros.
    pub(crate) fn take(&self) -> Result<Bytes> {
        let idle = match self.bytes <= SMALL {
            true => self.shelves.ready(),
            // What was returned last is most likely still in a cache.
            false => locked(&self.shelves.returned).pop(),
        };
        if let Some(lease) = idle {
            return Ok(Bytes::of(lease));
        }
        let home = Arc::downgrade(&self.shelves);
        Ok(Bytes::owned(Lease { buffer: Buffer::zeroed(self.bytes)?, home }))
    }
}

impl Shelves {
    fn ready(&self) -> Option<Arc<Lease>> {
        let mut ready = locked(&self.ready.0);
        if ready.is_empty() {
            std::mem::swap(&mut *ready, &mut *locked(&self.returned));
        }
        ready.pop()
    }

    fn put_back(&self, lease: Arc<Lease>) {
        // A thread of the parent may have held the lock when it forked.
        if !self.home.is_here() {
            return;
        }
        let mut returned = locked(&self.returned);
        if returned.len() < self.most {
            returned.push(lease);
        }
    }
}

fn locked<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 4] = [1, SMALL, SMALL + 1, 100_000];

    fn address(bytes: &Bytes) -> usize {
        bytes.as_slice().as_ptr() as usize
    }

    #[test]
    fn a_buffer_that_nobody_holds_is_used_again_whole() {
        for size in SIZES {
            let pool = Pool::new(size);
            let first = pool.take().unwrap();
            let place = address(&first);
            drop(first.first(0));
            let again = pool.take().unwrap();
            assert_eq!((address(&again), again.as_slice().len()), (place, size));
        }
    }

    #[test]
    fn a_buffer_that_somebody_holds_is_left_alone() {
        for size in SIZES {
            let pool = Pool::new(size);
            let mut bytes = pool.take().unwrap();
            bytes.as_mut_slice().unwrap().fill(7);
            let (place, clone, cut) = (address(&bytes), bytes.clone(), bytes.cut(0..1));
            drop(bytes);
            for held in [clone, cut] {
                let mut other = pool.take().unwrap();
                assert_ne!(address(&other), place);
                other.as_mut_slice().unwrap().fill(8);
                assert!(held.as_slice().iter().all(|byte| *byte == 7));
            }
            let idle = [pool.take().unwrap(), pool.take().unwrap()];
            assert!(idle.iter().any(|bytes| address(bytes) == place), "the last holder gives it back");
        }
    }

    #[test]
    fn buffers_outlive_their_pool_and_end_with_their_holder() {
        for size in SIZES {
            let pool = Pool::new(size);
            let (idle, mut held) = (pool.take().unwrap(), pool.take().unwrap());
            drop(idle);
            let shelves = Arc::downgrade(&pool.shelves);
            drop(pool);
            assert!(shelves.upgrade().is_none(), "no buffer keeps its pool");
            held.as_mut_slice().unwrap().fill(7);
            assert!(held.as_slice().iter().all(|byte| *byte == 7));
            let lease = held.lease.as_ref().map(Arc::downgrade).unwrap();
            drop(held);
            assert!(lease.upgrade().is_none());
        }
    }

    #[test]
    fn no_buffer_is_held_twice_whoever_takes_and_returns() {
        for size in SIZES {
            let pool = Pool::new(size);
            let (sender, held) = std::sync::mpsc::sync_channel::<(u8, Bytes)>(20);
            std::thread::scope(|scope| {
                for taker in 0..2 {
                    let (pool, sender) = (&pool, sender.clone());
                    scope.spawn(move || {
                        for mark in 0..2000u32 {
                            let (mark, mut bytes) = ((mark as u8) << 1 | taker, pool.take().unwrap());
                            bytes.as_mut_slice().unwrap().fill(mark);
                            sender.send((mark, bytes)).unwrap();
                        }
                    });
                }
                drop(sender);
                for (mark, bytes) in held {
                    assert!(bytes.as_slice().iter().all(|byte| *byte == mark));
                }
            });
            let shelves = &pool.shelves;
            let idle = locked(&shelves.returned).len() + locked(&shelves.ready.0).len();
            assert!(idle <= 20 + 2 * 2 + 1, "{idle} buffers for 25 that were held at a time");
        }
    }
}
