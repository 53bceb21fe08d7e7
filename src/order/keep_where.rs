//! `keep_where`: the rows that a function approves, found by one pass over them.
//!
//! The pass reads in parallel and makes a keep-list: a bit a row, and a count for each block of bits, so that the
//! place of any kept row is a search among counts and a look into one block. What comes after is an order like any
//! other.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use crate::data::{Batch, Row};
use crate::dataset::Dataset;
use crate::digest;
use crate::error::{BoxError, Error, Result, caught};
use crate::plumbing::{Order, Resolver};

/// Words of a block of bits.
const BLOCK: usize = 8;

impl Dataset {
    /// The rows for which `keep` returns true, in their order. Unlike [`Stream::filter`](crate::Stream::filter),
    /// which decides anew in each epoch, this reads all rows once, now, on several threads; what it returns has an
    /// exact length, can be shuffled, split and sought, and reads nothing but the rows it keeps.
    ///
    /// Only the columns named are read, and `keep` sees rows of these. `progress` is told rows done and rows there
    /// are, after each batch. To use a keep-list again without the pass, save `kept.order(0, 0, n)` and give it to
    /// [`select`](Dataset::select).
    ///
    /// **Order:** kept · **Holds:** a bit and an eighth for each row there is, shared · **Threads:** during the pass
    ///
    /// # Errors
    /// [`Error::User`] naming the first row for which `keep` failed; [`Error::Spec`] for a column that there is not;
    /// [`Error::Argument`] above a shuffle that changes with the epoch; those of reading.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let rows = Dataset::from_slices((("x", vec![0.5f32, 0.6, 0.7]), ("label", vec![0i64, 9, 1])))?;
    /// let known = rows.keep_where(["label"], |row| Ok(row.value::<i64>("label")? != 9), |_done, _of| {})?;
    /// assert_eq!(known.order(0, 0, 10)?, [0, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn keep_where<N: Into<String>>(
        &self,
        columns: impl IntoIterator<Item = N>,
        keep: impl Fn(&Row) -> Result<bool, BoxError> + Send + Sync + 'static,
        progress: impl FnMut(u64, u64),
    ) -> Result<Dataset> {
        let judge = move |batch: &Batch, start: u64| {
            let rows = (0..batch.rows()).filter_map(|i| Some((start + i as u64, batch.row(i)?)));
            rows.map(|(place, row)| asked("keep_where", place, || keep(&row))).collect()
        };
        self.kept("keep_where", columns.into_iter().map(Into::into).collect(), judge, progress)
    }

    /// As [`keep_where`](Dataset::keep_where), with a function that judges a whole batch at a time and returns one
    /// answer for each of its rows: faster where a row alone is little work. Batches have any number of rows.
    ///
    /// **Order:** kept · **Holds:** as [`keep_where`](Dataset::keep_where) · **Threads:** during the pass
    ///
    /// # Errors
    /// As [`keep_where`](Dataset::keep_where); [`Error::Item`] when there is not one answer for each row.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let even = Dataset::range(1000)?.keep_where_batched(
    ///     ["0"],
    ///     |batch| Ok(batch.column::<u64>("0")?.iter().map(|n| n % 2 == 0).collect()),
    ///     |done, of| eprintln!("{done} of {of} rows"),
    /// )?;
    /// assert_eq!(even.len(), 500);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn keep_where_batched<N: Into<String>>(
        &self,
        columns: impl IntoIterator<Item = N>,
        keep: impl Fn(&Batch) -> Result<Vec<bool>, BoxError> + Send + Sync + 'static,
        progress: impl FnMut(u64, u64),
    ) -> Result<Dataset> {
        let judge = move |batch: &Batch, start: u64| {
            let answers = asked("keep_where_batched", start, || keep(batch))?;
            match answers.len() == batch.rows() {
                true => Ok(answers),
                false => Err(Error::Item {
                    stage: "keep_where_batched",
                    position: start,
                    expected: format!("{} answers, one for each row", batch.rows()),
                    found: answers.len().to_string(),
                }),
            }
        };
        self.kept("keep_where_batched", columns.into_iter().map(Into::into).collect(), judge, progress)
    }

    fn kept(
        &self,
        verb: &'static str,
        columns: Vec<String>,
        judge: impl Fn(&Batch, u64) -> Result<Vec<bool>> + Send + Sync + 'static,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Dataset> {
        super::settled(verb, self)?;
        let rows = super::rows_at_once(self, &columns)?;
        let judged = self
            .batch(rows)
            .select(columns)
            .enumerate()
            .par_map(0, move |(number, batch)| judge(&batch, number * rows as u64));
        let mut list = KeepList::new(self.len())?;
        for answers in judged.iter()? {
            answers??.into_iter().for_each(|keep| list.push(keep));
            caught(verb, list.rows, || {
                progress(list.rows, self.len());
                Ok(())
            })?;
        }
        Ok(self.reordered(|inner| Arc::new(KeepOrder { inner, verb, list: Arc::new(list) })))
    }
}

/// Calls a user's function on the row at `place`.
fn asked<T>(verb: &'static str, place: u64, call: impl FnOnce() -> Result<T, BoxError>) -> Result<T> {
    caught(verb, place, || call().map_err(|source| Error::User { stage: verb, position: place, source }))
}

/// Which places are kept.
struct KeepList {
    bits: Vec<u64>,
    /// Kept places before each block of bits.
    before: Vec<u64>,
    rows: u64,
    kept: u64,
}

impl KeepList {
    fn new(rows: u64) -> Result<KeepList> {
        let words = rows.div_ceil(64);
        let refused = |_| Error::no_memory("the list of kept rows", rows / 8 + rows / 64);
        let (mut bits, mut before) = (Vec::new(), Vec::new());
        let words = usize::try_from(words).unwrap_or(usize::MAX);
        bits.try_reserve_exact(words).map_err(refused)?;
        before.try_reserve_exact(words.div_ceil(BLOCK)).map_err(refused)?;
        Ok(KeepList { bits, before, rows: 0, kept: 0 })
    }

    fn push(&mut self, keep: bool) {
        let bit = self.rows % 64;
        if bit == 0 {
            if self.bits.len().is_multiple_of(BLOCK) {
                self.before.push(self.kept);
            }
            self.bits.push(0);
        }
        if let Some(word) = self.bits.last_mut() {
            *word |= u64::from(keep) << bit;
        }
        self.kept += u64::from(keep);
        self.rows += 1;
    }

    fn holds(&self, block: usize, number: u64) -> bool {
        let end = self.before.get(block + 1).copied().unwrap_or(self.kept);
        self.before[block] <= number && number < end
    }

    /// The place of the kept row `number`, which lies in `block`.
    fn place(&self, block: usize, number: u64) -> u64 {
        let mut left = number - self.before[block];
        for (at, word) in self.bits.iter().enumerate().skip(block * BLOCK) {
            let (mut word, ones) = (*word, u64::from(word.count_ones()));
            if left < ones {
                (0..left).for_each(|_| word &= word - 1);
                return at as u64 * 64 + u64::from(word.trailing_zeros());
            }
            left -= ones;
        }
        0
    }
}

struct KeepOrder {
    inner: Arc<dyn Order>,
    verb: &'static str,
    list: Arc<KeepList>,
}

impl Order for KeepOrder {
    fn len(&self) -> u64 {
        self.list.kept
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs()
    }

    fn locality(&self) -> Option<u64> {
        self.inner.locality()
    }

    fn varies(&self) -> bool {
        false
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let mut epochs = Epochs::new(self.len());
        let list = self.list.clone();
        // Rows in order stay in one block for long.
        let mut block = 0;
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, number) = epochs.locate(*position);
                if !list.holds(block, number) {
                    block = list.before.partition_point(|before| *before <= number) - 1;
                }
                *position = epoch * list.rows + list.place(block, number);
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        let digest = digest::of_list(self.list.bits.iter().copied());
        write!(out, ".{}([{} of {} rows #{digest}])", self.verb, self.list.kept, self.list.rows)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes)
    }
}
