//! Zeroed memory aligned to 64 bytes: a cache line, and the widest vector load.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ptr::NonNull;

use crate::error::{Error, Result};

const ALIGN: usize = 64;

/// Where empty buffers point: a place that is aligned as full ones are.
#[repr(align(64))]
struct Line;

/// Owned bytes, aligned to 64.
#[derive(Default)]
pub(crate) struct Buffer {
    memory: Option<(NonNull<u8>, Layout)>,
}

impl Buffer {
    /// `bytes` zeros; the system gives large ones lazily, page by page.
    pub(crate) fn zeroed(bytes: usize) -> Result<Buffer> {
        let refused = || Error::no_memory("a buffer", bytes as u64);
        if bytes == 0 {
            return Ok(Buffer { memory: None });
        }
        let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| refused())?;
        // SAFETY: the layout has a size above zero.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)?;
        Ok(Buffer { memory: Some((memory, layout)) })
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match self.memory {
            // SAFETY: `memory` was allocated with `layout`, zeroed, and is freed only in `drop`; the slice borrows self.
            Some((memory, layout)) => unsafe { std::slice::from_raw_parts(memory.as_ptr(), layout.size()) },
            // SAFETY: no bytes are read through it; it is aligned and not null.
            None => unsafe { std::slice::from_raw_parts(NonNull::<Line>::dangling().as_ptr().cast(), 0) },
        }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        match self.memory {
            // SAFETY: as in `as_slice`; the slice borrows self mutably, so it is the only one.
            Some((memory, layout)) => unsafe {
                std::slice::from_raw_parts_mut(memory.as_ptr(), layout.size())
            },
            // SAFETY: as in `as_slice`.
            None => unsafe { std::slice::from_raw_parts_mut(NonNull::<Line>::dangling().as_ptr().cast(), 0) },
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some((memory, layout)) = self.memory.take() {
            // SAFETY: allocated in `zeroed` with this layout, and `take` makes this the only free.
            unsafe { dealloc(memory.as_ptr(), layout) };
        }
    }
}

// SAFETY: a buffer owns its memory, as a `Vec<u8>` does.
unsafe impl Send for Buffer {}
// SAFETY: as above; sharing it gives only `&[u8]`.
unsafe impl Sync for Buffer {}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({})", self.as_slice().len())
    }
}
