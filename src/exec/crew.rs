//! A crew: a rayon pool of our own for work that splits, such as one very large batch.
//!
//! Work given to a crew never waits on a link, so a small pool cannot deadlock; the global pool is left alone.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// Threads that share out the parts of one piece of work; started when first used.
pub(crate) struct Crew {
    workers: usize,
    pool: Mutex<Option<std::sync::Arc<ThreadPool>>>,
}

impl Crew {
    /// A crew of `workers` threads.
    pub(crate) fn new(workers: usize) -> Crew {
        Crew { workers, pool: Mutex::new(None) }
    }

    /// Does `work` on every part, several at a time, and returns the first error in the order of the parts.
    pub(crate) fn each<P: Send>(
        &self,
        parts: Vec<P>,
        work: impl Fn(P) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        let pool = {
            let mut slot = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            match &*slot {
                Some(pool) => pool.clone(),
                None => slot.insert(std::sync::Arc::new(self.start()?)).clone(),
            }
        };
        let outcomes: Vec<Result<()>> = pool.install(|| parts.into_par_iter().map(work).collect());
        outcomes.into_iter().collect()
    }

    fn start(&self) -> Result<ThreadPool> {
        let builder = ThreadPoolBuilder::new().num_threads(self.workers).thread_name(|_| "grist-crew".into());
        builder.build().map_err(|e| Error::Spawn { stage: "crew", source: std::io::Error::other(e) })
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Crew({})", self.workers)
    }
}
