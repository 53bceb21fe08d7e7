//! A crew: a rayon pool of our own for work that splits, such as one very large batch.
//!
//! Work given to a crew never waits on a link, so a small pool cannot deadlock; the global pool is left alone, and the
//! threads are joined when the crew is dropped.

use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::spawn;
use super::sync::JoinHandle;
use crate::error::{Error, Result};

/// Threads that share out the parts of one piece of work; started when first used.
pub(crate) struct Crew {
    workers: usize,
    running: Mutex<Option<Running>>,
}

struct Running {
    pool: ThreadPool,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// A crew of `workers` threads.
    pub(crate) fn new(workers: usize) -> Crew {
        Crew { workers, running: Mutex::new(None) }
    }

    /// Does `work` on every part, several at a time, and returns the first error in the order of the parts; one that
    /// breaks the pipeline before one of the item.
    pub(crate) fn each<P: Send>(
        &self,
        parts: Vec<P>,
        work: impl Fn(P) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let crew = match &mut *running {
            Some(crew) => crew,
            idle => idle.insert(self.start()?),
        };
        let outcomes: Vec<Result<()>> = crew.pool.install(|| parts.into_par_iter().map(work).collect());
        let fatal = outcomes.iter().position(|o| o.as_ref().is_err_and(Error::is_fatal));
        outcomes.into_iter().skip(fatal.unwrap_or(0)).collect()
    }

    fn start(&self) -> Result<Running> {
        let mut threads = Vec::with_capacity(self.workers);
        let builder = ThreadPoolBuilder::new().num_threads(self.workers).spawn_handler(|thread| {
            threads.push(spawn("crew", || thread.run()).map_err(io::Error::other)?);
            Ok(())
        });
        let pool =
            builder.build().map_err(|e| Error::Spawn { stage: "crew", source: io::Error::other(e) })?;
        Ok(Running { pool, threads })
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { pool, threads }) = running {
            // Dropping the pool ends its threads, but does not wait for them.
            drop(pool);
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Crew({})", self.workers)
    }
}
