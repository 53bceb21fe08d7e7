//! `take` and `skip` on a stream: counted items. An error counts as the item whose place it takes.

use crate::data::Length;
use crate::error::Result;
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// The first `n` items of each epoch. After the last one nothing more is pulled, and the stages above are let go.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let three = Dataset::from_generator(|_| 0..).take(3);
    /// assert_eq!(three.iter()?.collect::<Result<Vec<_>, _>>()?, [0, 1, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn take(self, n: u64) -> Stream<T> {
        self.then(|upstream| TakeStage { upstream, n })
    }

    /// All items of each epoch but the first `n`, which are passed over as cheaply as the stages above can.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let rest = Dataset::from_generator(|_| 0..5).skip(3);
    /// assert_eq!(rest.iter()?.collect::<Result<Vec<_>, _>>()?, [3, 4]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn skip(self, n: u64) -> Stream<T> {
        self.then(|upstream| SkipStage { upstream, n })
    }
}

struct TakeStage<T> {
    upstream: Upstream<T>,
    n: u64,
}

impl<T: Send + 'static> Stage for TakeStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let length = match upstream.length {
            Length::Exact(len) => Length::Exact(len.min(self.n)),
            Length::Infinite => Length::Exact(self.n),
            Length::Unknown if self.n == 0 => Length::Exact(0),
            Length::Unknown => Length::Unknown,
        };
        Ok(upstream.step(format!("take({})", self.n)).length(length))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(TakePull { upstream: Some(self.upstream.open(run)?), left: self.n }))
    }

    fn label(&self) -> &'static str {
        "take"
    }
}

struct TakePull<T> {
    upstream: Option<Running<T>>,
    left: u64,
}

impl<T> Pull for TakePull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        let Some(upstream) = self.upstream.as_mut().filter(|_| self.left > 0) else {
            self.upstream = None;
            return Ok(None);
        };
        let item = upstream.pull();
        self.left -= 1;
        if self.left == 0 {
            self.upstream = None;
        }
        item
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let Some(upstream) = self.upstream.as_mut() else { return Ok(0) };
        let passed = upstream.skip(n.min(self.left))?;
        self.left -= passed;
        Ok(passed)
    }
}

struct SkipStage<T> {
    upstream: Upstream<T>,
    n: u64,
}

impl<T: Send + 'static> Stage for SkipStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let length = upstream.length.map(|len| len.saturating_sub(self.n));
        Ok(upstream.step(format!("skip({})", self.n)).length(length))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(SkipPull { upstream: self.upstream.open(run)?, ahead: self.n }))
    }

    fn label(&self) -> &'static str {
        "skip"
    }
}

struct SkipPull<T> {
    upstream: Running<T>,
    ahead: u64,
}

impl<T> SkipPull<T> {
    fn pass(&mut self) -> Result<()> {
        match std::mem::take(&mut self.ahead) {
            0 => Ok(()),
            n => self.upstream.skip(n).map(drop),
        }
    }
}

impl<T> Pull for SkipPull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        self.pass()?;
        self.upstream.pull()
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        self.pass()?;
        self.upstream.skip(n)
    }
}
