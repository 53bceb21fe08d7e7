//! `concat` on a stream: all items of one stream, then all of another.

use crate::data::Length;
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// In each epoch, all items of this stream and then all of `other`. Settings (threads, workers, budget) are this
    /// stream's, for both.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// When opened, [`Error::Spec`] if both yield batches whose columns are known and differ.
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let all = Dataset::from_generator(|_| 1..4).concat(Dataset::from_generator(|_| 4..8));
    /// assert_eq!(all.iter()?.collect::<Result<Vec<_>, _>>()?, [1, 2, 3, 4, 5, 6, 7]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn concat(self, other: Stream<T>) -> Stream<T> {
        let second = other.upstream();
        self.then(|first| ConcatStage { first, second })
    }
}

struct ConcatStage<T> {
    first: Upstream<T>,
    second: Upstream<T>,
}

impl<T: Send + 'static> Stage for ConcatStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let (first, second) = (self.first.outline(run)?, self.second.outline(run)?);
        let length = match (first.length, second.length) {
            (Length::Infinite, _) | (_, Length::Infinite) => Length::Infinite,
            (Length::Exact(a), Length::Exact(b)) => Length::Exact(a.saturating_add(b)),
            _ => Length::Unknown,
        };
        let spec = match (&first.spec, &second.spec) {
            (Some(a), Some(b)) if a != b => return Err(Error::spec("concat", a, b)),
            (Some(spec), Some(_)) => Some(spec.clone()),
            _ => None,
        };
        let bytes = first.item_bytes.zip(second.item_bytes).map(|(a, b)| a.max(b));
        Ok(first.join("concat", second).length(length).columns(spec).sized(bytes))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(ConcatPull { first: Some(self.first.open(run)?), second: self.second.open(run)? }))
    }

    fn label(&self) -> &'static str {
        "concat"
    }
}

struct ConcatPull<T> {
    first: Option<Running<T>>,
    second: Running<T>,
}

impl<T> Pull for ConcatPull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        if let Some(first) = &mut self.first {
            match first.pull() {
                Ok(None) => self.first = None,
                other => return other,
            }
        }
        self.second.pull()
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let mut passed = 0;
        if let Some(first) = &mut self.first {
            passed = first.skip(n)?;
            if passed == n {
                return Ok(n);
            }
            self.first = None;
        }
        Ok(passed + self.second.skip(n - passed)?)
    }
}
