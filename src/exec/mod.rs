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

use crate::error::{Error, Result};
use sync::{Builder, JoinHandle};

/// Starts a named thread; the only place that does.
fn spawn(stage: &'static str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    // The kernel keeps 15 bytes of a thread's name.
    let name = format!("grist-{stage}");
    Builder::new().name(name).spawn(body).map_err(|source| Error::Spawn { stage, source })
}
