//! `enumerate`: items with their numbers.

use crate::error::Result;
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// Items with their positions in the epoch, from 0. An error takes its item's number.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let numbered = Dataset::from_generator(|_| ["a", "b"]).enumerate();
    /// assert_eq!(numbered.iter()?.collect::<Result<Vec<_>, _>>()?, [(0, "a"), (1, "b")]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn enumerate(self) -> Stream<(u64, T)> {
        self.enumerate_from(0)
    }

    /// Items with consecutive numbers from `start`.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let numbered = Dataset::from_generator(|_| 1..4).enumerate_from(5);
    /// assert_eq!(numbered.iter()?.collect::<Result<Vec<_>, _>>()?, [(5, 1), (6, 2), (7, 3)]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn enumerate_from(self, start: u64) -> Stream<(u64, T)> {
        self.then(|upstream| EnumerateStage { upstream, start })
    }
}

struct EnumerateStage<T> {
    upstream: Upstream<T>,
    start: u64,
}

impl<T: Send + 'static> Stage for EnumerateStage<T> {
    type Item = (u64, T);

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let bytes = upstream.item_bytes.map(|bytes| bytes.saturating_add(8));
        let call =
            if self.start == 0 { "enumerate()".into() } else { format!("enumerate_from({})", self.start) };
        Ok(upstream.step(call).columns(None).sized(bytes))
    }

    fn open(&self, run: &Run) -> Result<Running<(u64, T)>> {
        Ok(Box::new(EnumeratePull { upstream: self.upstream.open(run)?, next: self.start }))
    }

    fn label(&self) -> &'static str {
        "enumerate"
    }
}

struct EnumeratePull<T> {
    upstream: Running<T>,
    next: u64,
}

impl<T> Pull for EnumeratePull<T> {
    type Item = (u64, T);

    fn pull(&mut self) -> Result<Option<(u64, T)>> {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        Ok(self.upstream.pull()?.map(|item| (number, item)))
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let passed = self.upstream.skip(n)?;
        self.next = self.next.wrapping_add(passed);
        Ok(passed)
    }
}
