//! Which rows: pure arithmetic on positions, no I/O.
//!
//! Positions never end; `position / len` is the epoch. Each verb of [`Dataset`](crate::Dataset) puts one order on top of
//! another: it turns its own positions into positions of the order below, which goes on until a row is reached.
//! So `repeat` costs nothing, a new shuffle for every epoch falls out of `position / len`, the shards of a shuffled
//! dataset share out exactly one shuffle, and resuming is an addition. Only the buffer shuffle needs history;
//! it replays indices, a few nanoseconds each.

mod blocks;
mod buffer;
mod concat;
mod cut;
mod full;
mod permutation;
mod repeat;
mod select;
mod shuffle;
mod split;
mod windows;

pub use shuffle::Shuffle;

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
