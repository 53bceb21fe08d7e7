//! Which process is this? A fork copies memory but no threads: what had threads, or may have held a lock, is of no use in the child.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use memmap2::{MmapOptions, MmapRaw};

use crate::error::{Error, Result};

/// The process that something was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// This process. Costs a load from memory: asking the system, as is done where it has no such pages, takes a hundred times as long.
    pub(crate) fn here() -> Process {
        let Some(number) = number() else { return Process(std::process::id()) };
        match number.load(Ordering::Relaxed) {
            0 => {
                let id = std::process::id();
                number.store(id, Ordering::Relaxed);
                Process(id)
            }
            id => Process(id),
        }
    }

    /// Whether it is this one.
    pub(crate) fn is_here(self) -> bool {
        self == Process::here()
    }

    /// Refuses what was made before a fork.
    pub(crate) fn check(self, what: &'static str) -> Result<()> {
        match Process::here() {
            here if here == self => Ok(()),
            here => Err(Error::Forked { what, made_in: self.0, used_in: here.0 }),
        }
    }
}

/// This process's number, or 0: it stands in a page that the system empties in a forked child. `None` where it cannot do that.
fn number() -> Option<&'static AtomicU32> {
    static PAGE: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());
    static REFUSED: AtomicBool = AtomicBool::new(false);
    let mut at = PAGE.load(Ordering::Acquire);
    if at.is_null() {
        // No lock, which a fork could leave locked; of two pages made at once, one is let go.
        let page = if REFUSED.load(Ordering::Relaxed) { None } else { emptied_by_fork() };
        let Some(page) = page else {
            REFUSED.store(true, Ordering::Relaxed);
            return None;
        };
        let ours = page.as_mut_ptr().cast();
        match PAGE.compare_exchange(at, ours, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                std::mem::forget(page);
                at = ours;
            }
            Err(theirs) => at = theirs,
        }
    }
    // SAFETY: not null, so a page that was mapped readable and writable above, is aligned as pages are, is never unmapped, and is only
    // ever used as this atomic. All bits are one.
    Some(unsafe { &*at })
}

fn emptied_by_fork() -> Option<MmapRaw> {
    let page: MmapRaw = MmapOptions::new().len(size_of::<AtomicU32>()).map_anon().ok()?.into();
    // SAFETY: the range is the map just made, from its start, which is that of a page.
    let done = unsafe { libc::madvise(page.as_mut_ptr().cast(), page.len(), libc::MADV_WIPEONFORK) } == 0;
    done.then_some(page)
}
