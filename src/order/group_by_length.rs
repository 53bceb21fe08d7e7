//! `group_by_length`: an order whose batches hold rows of like length.
//!
//! One pass reads the lengths and sorts the places by them, equal ones at random. In each epoch the rows that do not
//! fill a batch are cut out of the list at a random place, to come last; the others are cut into batches.
//! Neighbouring batches make groups, which start elsewhere in each epoch; a group's rows are permuted, and so are the
//! batches.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use super::permutation::{Permutation, Recent};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};
use crate::rng::RandomStream;

/// Batches of a group, at most: among so many rows a row meets others in each epoch.
const GROUP: u64 = 32;

/// Groups, where batches are few: lengths in one group are to be alike.
const GROUPS: u64 = 16;

impl Dataset {
    /// The rows in an order in which each `rows` of them in a row are of like length, so that
    /// [`batch(rows)`](Dataset::batch) has little to pad. The column `length` is read once, now; no other.
    ///
    /// Each epoch has its own batches, in its own order, fixed by the seed and the epoch's number: rows are shuffled
    /// in groups of like length (32 batches, fewer where that is more than a sixteenth of them, but at least two),
    /// and whole batches all over the epoch. Every row comes once. Use the same `rows` for the batches; another size,
    /// or a shuffle above this, undoes the grouping.
    ///
    /// **Order:** permuted, by seed and epoch · **Holds:** 8 bytes a row, shared (24 during the pass) · **Threads:**
    /// during the pass
    ///
    /// # Errors
    /// [`Error::Spec`] when there is no such column, or it does not hold one number a row; [`Error::Argument`] for 0
    /// rows, and above a shuffle that changes with the epoch; those of reading.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let lengths: Vec<u32> = (0..1000).map(|i| i * 7 % 1000).collect();
    /// let rows = Dataset::from_slices((("length", lengths),))?.group_by_length("length", 10, 7)?;
    /// for batch in rows.batch(10).iter()? {
    ///     let batch = batch?;
    ///     let lengths = batch.column::<u32>("length")?;
    ///     let (least, most) = (lengths.iter().min(), lengths.iter().max());
    ///     assert!(most.unwrap() - least.unwrap() < 80);
    /// }
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn group_by_length(&self, length: &str, rows: usize, seed: u64) -> Result<Dataset> {
        super::settled("group_by_length", self)?;
        if rows == 0 {
            return Err(Error::argument("group_by_length", "batches of at least one row", 0));
        }
        let (rows, places) = (rows as u64, sorted(self, length, seed)?.into());
        let group = (self.len() / rows / GROUPS).clamp(2, GROUP);
        let length = length.to_owned();
        Ok(self.reordered(|inner| Arc::new(LengthOrder { inner, places, length, rows, group, seed })))
    }
}

/// All places, short rows first.
fn sorted(dataset: &Dataset, length: &str, seed: u64) -> Result<Vec<u64>> {
    let column = &dataset.spec().columns[dataset.spec().position(length)?];
    if column.row_elements() != 1 || !column.dtype.is_number() {
        return Err(Error::spec(format!("column {length:?}"), "one number a row", column));
    }
    let mut lengths: Vec<u64> = super::list_of(dataset.len())?;
    let rows = super::rows_at_once(dataset, &[length.to_owned()])?;
    for batch in dataset.batch(rows).select([length]).cast::<u64>(length).iter()? {
        lengths.extend_from_slice(batch?.column::<u64>(length)?);
    }
    let mut places: Vec<u64> = super::list_of(dataset.len())?;
    // Sorting keeps equal ones as they stand, so that rows of one length are not grouped by where the file has them.
    let mixed = Permutation::new(dataset.len(), RandomStream::new(seed, "equal lengths", 0, 0));
    places.extend((0..dataset.len()).map(|place| mixed.at(place)));
    places.sort_by_key(|place| lengths[*place as usize]);
    Ok(places)
}

struct LengthOrder {
    inner: Arc<dyn Order>,
    places: Arc<[u64]>,
    length: String,
    /// Rows of a batch, and batches of a group.
    rows: u64,
    group: u64,
    seed: u64,
}

/// One epoch's batches.
struct Deal {
    epoch: u64,
    /// The batch before which the short one was cut out.
    cut: u64,
    /// Batches that the first group lacks.
    shift: u64,
    batches: Arc<Permutation>,
}

impl Order for LengthOrder {
    fn len(&self) -> u64 {
        self.places.len() as u64
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs()
    }

    fn locality(&self) -> Option<u64> {
        Some(1)
    }

    fn varies(&self) -> bool {
        true
    }

    fn open(&self) -> Result<Resolver> {
        let mut inner = self.inner.open()?;
        let (len, rows, group, seed) = (self.len(), self.rows, self.group, self.seed);
        let (full, short) = (len / rows, len % rows);
        let places = self.places.clone();
        let mut epochs = Epochs::new(len);
        let (mut deals, mut groups) = (Recent::new(), Recent::new());
        let mut deal: Option<Deal> = None;
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                let Deal { cut, shift, batches, .. } = match &deal {
                    Some(deal) if deal.epoch == epoch => deal,
                    _ => {
                        let make =
                            || Permutation::new(full, RandomStream::new(seed, "length batches", epoch, 0));
                        let batches = deals.get((epoch, 0), make);
                        let mut random = RandomStream::new(seed, "length groups", epoch, 0);
                        let (cut, shift) = (random.below(full + 1), random.below(group));
                        deal.insert(Deal { epoch, cut, shift, batches })
                    }
                };
                let (number, i) = (place / rows, place % rows);
                let sorted = match number == full {
                    true => cut * rows + i,
                    false => {
                        let batch = batches.at(number);
                        let of = (batch + shift) / group;
                        let (from, to) =
                            ((of * group).saturating_sub(*shift), ((of + 1) * group - shift).min(full));
                        let size = (to - from) * rows;
                        let make =
                            || Permutation::new(size, RandomStream::new(seed, "length group", epoch, of));
                        let within = groups.get((epoch, of), make).at((batch - from) * rows + i);
                        let among_full = from * rows + within;
                        among_full + if among_full < cut * rows { 0 } else { short }
                    }
                };
                *position = epoch * len + places[sorted as usize];
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".group_by_length({:?}, {}, {})", self.length, self.rows, self.seed)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes)
    }
}
