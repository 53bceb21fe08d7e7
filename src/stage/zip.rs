//! `zip`: items of two streams in pairs.

use crate::data::Length;
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// Pairs of this stream's items and `other`'s, until the shorter one ends.
    ///
    /// Pairs never shift: when one side's item is an error, the pair is that error, and the other side's item goes with it.
    ///
    /// Settings (threads, workers, budget) are this stream's, for both sides.
    ///
    /// **Order:** kept · **Holds:** one item · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let pairs = Dataset::from_generator(|_| 1..4).zip(Dataset::from_generator(|_| ["a", "b"]));
    /// assert_eq!(pairs.iter()?.collect::<Result<Vec<_>, _>>()?, [(1, "a"), (2, "b")]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn zip<U: Send + 'static>(self, other: Stream<U>) -> Stream<(T, U)> {
        let right = other.upstream();
        self.then(|left| ZipStage { left, right })
    }
}

struct ZipStage<T, U> {
    left: Upstream<T>,
    right: Upstream<U>,
}

impl<T: Send + 'static, U: Send + 'static> Stage for ZipStage<T, U> {
    type Item = (T, U);

    fn outline(&self, run: &Run) -> Result<Outline> {
        let (left, right) = (self.left.outline(run)?, self.right.outline(run)?);
        let length = match (left.length, right.length) {
            (Length::Exact(a), Length::Exact(b)) => Length::Exact(a.min(b)),
            (Length::Infinite, other) | (other, Length::Infinite) => other,
            _ => Length::Unknown,
        };
        let bytes = left.item_bytes.zip(right.item_bytes).map(|(a, b)| a.saturating_add(b));
        Ok(left.join("zip", right).length(length).columns(None).sized(bytes))
    }

    fn open(&self, run: &Run) -> Result<Running<(T, U)>> {
        Ok(Box::new(ZipPull { left: self.left.open(run)?, right: self.right.open(run)?, ended: false }))
    }

    fn label(&self) -> &'static str {
        "zip"
    }
}

/// Pairs that are passed over at a time.
const PIECE: u64 = 256;

struct ZipPull<T, U> {
    left: Running<T>,
    right: Running<U>,
    ended: bool,
}

impl<T, U> ZipPull<T, U> {
    fn pair(&mut self) -> Result<Option<(T, U)>> {
        match (self.left.pull(), self.right.pull()) {
            (Ok(Some(left)), Ok(Some(right))) => Ok(Some((left, right))),
            // Without a partner an item is no pair, and neither is an item's error.
            (Ok(None), Err(error)) | (Err(error), Ok(None)) if !error.is_fatal() => Ok(None),
            // The side that broke tells why; an item's error beside it would hide that.
            (Err(error), other) if error.is_fatal() || !other.as_ref().is_err_and(Error::is_fatal) => {
                Err(error)
            }
            (_, Err(error)) => Err(error),
            _ => Ok(None),
        }
    }
}

impl<T, U> Pull for ZipPull<T, U> {
    type Item = (T, U);

    fn pull(&mut self) -> Result<Option<(T, U)>> {
        if self.ended {
            return Ok(None);
        }
        let pair = self.pair();
        self.ended = matches!(pair, Ok(None));
        pair
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        // In pieces: the longer side is not run far beyond the end of the shorter one.
        let mut passed = 0;
        while passed < n && !self.ended {
            let piece = (n - passed).min(PIECE);
            let right = self.right.skip(piece)?;
            let both = right.min(self.left.skip(right)?);
            passed += both;
            self.ended = both < piece;
        }
        Ok(passed)
    }
}
