//! `assert_len`: a promise about the number of items, kept or refused.
//!
//! An error counts as the item whose place it takes. Too few items or too many end the stream with an error that names the numbers.

use crate::data::Length;
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// The same items, which must be `n` an epoch. Stages below and [`length`](Stream::length) know the number beforehand, as is
    /// needed for generators and filters by whoever counts steps.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] if the length is known to be another. While iterating, [`Error::Spec`] naming the numbers, in place of the
    /// first item too many or after the last of too few; it ends the epoch.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Length};
    ///
    /// let even = Dataset::from_generator(|_| 0..6).filter(|n| n % 2 == 0).assert_len(3);
    /// assert_eq!(even.length()?, Length::Exact(3));
    /// assert_eq!(even.iter()?.collect::<Result<Vec<_>, _>>()?, [0, 2, 4]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn assert_len(self, n: u64) -> Stream<T> {
        self.then(|upstream| AssertLenStage { upstream, n })
    }
}

struct AssertLenStage<T> {
    upstream: Upstream<T>,
    n: u64,
}

impl<T: Send + 'static> Stage for AssertLenStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let length = Length::Exact(self.n);
        if upstream.length != length && upstream.length != Length::Unknown {
            let expected = format!("the length of the stream, which is {}", upstream.length);
            return Err(Error::argument("assert_len", expected, self.n));
        }
        Ok(upstream.step(format!("assert_len({})", self.n)).length(length))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(AssertLenPull { upstream: Some(self.upstream.open(run)?), n: self.n, seen: 0 }))
    }

    fn label(&self) -> &'static str {
        "assert_len"
    }
}

struct AssertLenPull<T> {
    /// Gone when it has ended.
    upstream: Option<Running<T>>,
    n: u64,
    seen: u64,
}

impl<T> AssertLenPull<T> {
    /// `passed` more items went by, and if it `ended`, these were all.
    fn count(&mut self, passed: u64, ended: bool) -> Result<()> {
        self.seen += passed;
        let (n, seen) = (self.n, self.seen);
        if ended || seen > n {
            self.upstream = None;
        }
        let found = match seen {
            _ if seen > n => format!("at least {seen}"),
            _ if ended && seen < n => seen.to_string(),
            _ => return Ok(()),
        };
        Err(Error::spec("assert_len", format!("{n} items an epoch"), found))
    }
}

impl<T> Pull for AssertLenPull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        let Some(upstream) = &mut self.upstream else { return Ok(None) };
        let item = upstream.pull();
        match &item {
            Err(error) if error.is_fatal() => {}
            other => {
                let ended = matches!(other, Ok(None));
                self.count(u64::from(!ended), ended)?;
            }
        }
        item
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let Some(upstream) = &mut self.upstream else { return Ok(0) };
        // One too many is enough to know.
        let wanted = n.min((self.n - self.seen).saturating_add(1));
        let passed = upstream.skip(wanted)?;
        self.count(passed, passed < wanted)?;
        Ok(passed)
    }
}
