//! Who runs the stages: the only threads, channels and waits.
//!
//! A run, from open to drop:
//!
//! 1. `Stream::epoch` opens the stages, consumer last. A stage that gets a thread is wrapped in a
//!    [`link`]; a stage with workers makes [`lanes`]. Nothing runs yet.
//! 2. The first `next` starts the thread of the last link; that thread's first pull starts the one before
//!    it, and so on up to the sources.
//! 3. Items flow down in bursts. A full link stops its producer: what is read ahead is bounded.
//! 4. The end is a message. A channel that closes without one is an error, never the end of data.
//! 5. Dropping the iterator raises the run's stop flag, closes the channels, which wakes whoever waits, and
//!    joins the threads, last first. A thread leaves within one call of a user's function.
//!
//! Law: threads are invisible. The same items, order and errors come out for every choice of threads; but for
//! the [`swarm`], whose users ask for it by a verb that says so.

mod aside;
mod crew;
mod iter;
mod lanes;
mod link;
#[cfg(all(test, shuttle))]
mod model;
mod swarm;
mod sync;

pub(crate) use aside::Aside;
pub(crate) use crew::Crew;
pub use iter::Iter;
pub(crate) use lanes::{in_flight, lanes};
pub(crate) use link::{MOST_ITEMS, link};
pub(crate) use swarm::{swarm, swarming};

use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use sync::{Builder, JoinHandle};

/// Threads of ours that there are now, in all runs of this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// One of them.
struct Counted;

impl Counted {
    // Relaxed, here and below: a hint about speed; it orders nothing.
    fn new() -> Counted {
        THREADS.fetch_add(1, Ordering::Relaxed);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether each of our threads, and one consumer, can have a core of its own. Asked by who wants to wait without sleeping.
fn cores_to_spare() -> bool {
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    THREADS.load(Ordering::Relaxed) < *cores
}

/// Starts a named thread; the only place that does.
fn spawn(stage: &'static str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    // The kernel keeps 15 bytes of a thread's name.
    let name = format!("grist-{stage}");
    let counted = move || {
        let _counted = Counted::new();
        body();
    };
    Builder::new().name(name).spawn(counted).map_err(|source| Error::Spawn { stage, source })
}
