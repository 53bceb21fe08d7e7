//! `concat`: the rows of one dataset after those of another.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use crate::data::{Projection, Slot, Spec};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver, Source};

impl Dataset {
    /// In each epoch, all rows of this dataset and then all of `other`, each in its own order.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Spec`] when the columns differ; [`Error::Argument`] when there are more than 2^64 rows.
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let rows = Dataset::range(2)?.concat(&Dataset::range(3)?.reverse())?;
    /// assert_eq!(rows.batch(10).iter()?.next().unwrap()?.column::<u64>("0")?, [0, 1, 2, 1, 0]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn concat(&self, other: &Dataset) -> Result<Dataset> {
        if self.spec() != other.spec() {
            return Err(Error::spec("concat", self.spec(), other.spec()));
        }
        let (parts, offset) = match Arc::ptr_eq(self.source(), other.source()) {
            true => (vec![self.source().clone()], Some(0)),
            false => (vec![self.source().clone(), other.source().clone()], Some(self.source().rows())),
        };
        let rows = parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.rows()));
        let (Some(_), Some(offset), Some(len)) = (rows, offset, self.len().checked_add(other.len())) else {
            return Err(Error::argument("concat", "at most 2^64 rows together", "more"));
        };
        let order = ConcatOrder { parts: [self.inner().clone(), other.inner().clone()], offset, len };
        let source: Arc<dyn Source> = match parts.as_slice() {
            [one] => one.clone(),
            _ => Arc::new(ConcatSource { parts }),
        };
        Ok(Dataset::new(source, Arc::new(order)))
    }
}

struct ConcatOrder {
    parts: [Arc<dyn Order>; 2],
    /// First row of the second part in the joined source.
    offset: u64,
    len: u64,
}

impl Order for ConcatOrder {
    fn len(&self) -> u64 {
        self.len
    }

    fn epochs(&self) -> u64 {
        let below = self.parts.iter().map(|p| p.epochs()).min().unwrap_or(0);
        below.min(u64::MAX / self.len.max(1))
    }

    fn open(&self) -> Result<Resolver> {
        let mut parts = [self.parts[0].open()?, self.parts[1].open()?];
        let lens = [self.parts[0].len(), self.parts[1].len()];
        let mut epochs = Epochs::new(self.len);
        let offsets = [0, self.offset];
        let mut places: [Vec<usize>; 2] = Default::default();
        let mut rows: [Vec<u64>; 2] = Default::default();
        Ok(Box::new(move |at: &mut [u64]| {
            for (i, position) in at.iter().enumerate() {
                let (epoch, place) = epochs.locate(*position);
                let part = usize::from(place >= lens[0]);
                places[part].push(i);
                rows[part].push(epoch * lens[part] + place - if part == 0 { 0 } else { lens[0] });
            }
            for part in 0..2 {
                parts[part].resolve(&mut rows[part]);
                for (i, row) in places[part].drain(..).zip(rows[part].drain(..)) {
                    at[i] = row + offsets[part];
                }
            }
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts[0].describe(out)?;
        out.write_str(".concat(")?;
        self.parts[1].describe(out)?;
        out.write_str(")")
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.notes(row_bytes)).collect()
    }
}

/// The rows of two sources as one.
struct ConcatSource {
    parts: Vec<Arc<dyn Source>>,
}

impl Source for ConcatSource {
    fn spec(&self) -> &Arc<Spec> {
        self.parts[0].spec()
    }

    fn rows(&self) -> u64 {
        self.parts.iter().map(|p| p.rows()).sum()
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        let first = self.parts[0].rows();
        let mut done = 0;
        // One call a run of rows from the same part: whole batches in file order, few rows each after a full shuffle.
        for run in rows.chunk_by(|a, b| (*a < first) == (*b < first)) {
            let part = usize::from(run[0] >= first);
            let rows: Vec<u64> = run.iter().map(|row| if part == 0 { *row } else { row - first }).collect();
            let mut slots: Vec<Slot<'_>> =
                into.iter_mut().map(|slot| slot.part(done..done + run.len())).collect();
            self.parts[part].gather(&rows, &mut slots)?;
            done += run.len();
        }
        Ok(())
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts[0].describe(out)
    }

    fn project(&self, change: &Projection) -> Option<Arc<dyn Source>> {
        let parts: Option<Vec<_>> = self.parts.iter().map(|p| p.project(change)).collect();
        Some(Arc::new(ConcatSource { parts: parts? }))
    }

    fn notes(&self) -> Vec<String> {
        self.parts.iter().flat_map(|p| p.notes()).collect()
    }

    fn stamps(&self) -> Vec<String> {
        self.parts.iter().flat_map(|p| p.stamps()).collect()
    }
}
