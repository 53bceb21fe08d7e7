//! Which rows: pure arithmetic on positions, no I/O.
//!
//! Positions never end; `position / len` is the epoch. Each verb of [`Dataset`](crate::Dataset) puts one order on top of
//! another: it turns its own positions into positions of the order below, which goes on until a row is reached.
//! So `repeat` costs nothing, a new shuffle for every epoch falls out of `position / len`, the shards of a shuffled
//! dataset share out exactly one shuffle, and resuming is an addition. Only the buffer shuffle needs history;
//! it replays indices, a few nanoseconds each.

mod balance;
mod blocks;
mod buffer;
mod concat;
mod cut;
mod full;
mod group_by_length;
mod join;
mod keep_where;
mod mix;
mod permutation;
mod repeat;
mod sample;
mod select;
mod shuffle;
mod split;
mod windows;

pub use balance::Balance;
pub use shuffle::Shuffle;

use crate::data::Projection;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// A verb that reads rows when it is called takes about this many bytes at a time, and at most this many rows.
const READ_BYTES: usize = 1 << 20;
const READ_ROWS: usize = 1 << 14;

/// Rows to read at a time where only `columns` are wanted.
fn rows_at_once(dataset: &Dataset, columns: &[String]) -> Result<usize> {
    let change = Projection::Select(columns.to_vec());
    change.spec(dataset.spec())?;
    // A source that cannot choose reads its other columns too.
    let read = dataset.source().project(&change);
    let spec = read.as_ref().map_or(dataset.spec(), |source| source.spec());
    Ok((READ_BYTES / spec.row_bytes().max(1)).clamp(1, READ_ROWS))
}

/// An empty list with room for `rows` entries.
fn list_of<T>(rows: u64) -> Result<Vec<T>> {
    let mut list = Vec::new();
    let refused = || Error::no_memory("a list of all rows", rows.saturating_mul(size_of::<T>() as u64));
    list.try_reserve_exact(usize::try_from(rows).unwrap_or(usize::MAX)).map_err(|_| refused())?;
    Ok(list)
}

/// Refuses a dataset whose places hold other rows in each epoch, for a verb that learns something about places.
fn settled(verb: &'static str, dataset: &Dataset) -> Result<()> {
    match dataset.inner().varies() {
        true => Err(Error::argument(
            verb,
            format!("rows whose order is the same in every epoch ({verb} first, shuffle after)"),
            format!("{dataset:?}"),
        )),
        false => Ok(()),
    }
}

/// Splits positions into epoch and place in the epoch; remembers the last epoch, since a run stays in one for long.
#[derive(Debug, Clone, Copy)]
struct Epochs {
    len: u64,
    epoch: u64,
    start: u64,
}

impl Epochs {
    fn new(len: u64) -> Epochs {
        Epochs { len: len.max(1), epoch: 0, start: 0 }
    }

    fn locate(&mut self, position: u64) -> (u64, u64) {
        let offset = position.wrapping_sub(self.start);
        if offset < self.len {
            return (self.epoch, offset);
        }
        self.epoch = position / self.len;
        self.start = self.epoch * self.len;
        (self.epoch, position - self.start)
    }
}
