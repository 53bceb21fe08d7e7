//! `shuffle`: the user's face of the three shuffles.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::blocks::BlocksOrder;
use super::buffer::BufferOrder;
use super::full::FullOrder;
use crate::dataset::Dataset;
use crate::plumbing::Order;

/// How rows are shuffled. Each epoch has its own order, fixed by the seed and the epoch's number; any seed is as good
/// as any other. [`fixed`](Shuffle::fixed) gives all epochs the order of epoch 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shuffle {
    pub(super) kind: Kind,
    pub(super) seed: u64,
    pub(super) fixed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Kind {
    Full,
    Blocks { shape: Option<(u64, u64)> },
    Buffer { rows: u64 },
}

impl Shuffle {
    /// A permutation of all rows, computed, not stored: O(1) memory at any size, O(1) seek. For files in memory or on
    /// fast disks; on cold files each row is a read of its own, and [`blocks`](Shuffle::blocks) is faster.
    pub fn full(seed: u64) -> Shuffle {
        Shuffle { kind: Kind::Full, seed, fixed: false }
    }

    /// Blocks of neighbouring rows, taken from all over the file, fill a group; rows are shuffled inside the group.
    /// Reads whole blocks, so it is fast on cold files too, and trains as well as a full shuffle on files sorted
    /// by class. O(1) memory, O(1) seek. Blocks of 64 KiB of all columns together, groups of 1024 blocks: the order
    /// changes when columns are added. Where it must not, say [`blocks_of`](Shuffle::blocks_of).
    pub fn blocks(seed: u64) -> Shuffle {
        Shuffle { kind: Kind::Blocks { shape: None }, seed, fixed: false }
    }

    /// [`blocks`](Shuffle::blocks) of `rows` rows each, `group` blocks to a group.
    pub fn blocks_of(rows: u64, group: u64, seed: u64) -> Shuffle {
        Shuffle { kind: Kind::Blocks { shape: Some((rows, group)) }, seed, fixed: false }
    }

    /// tf.data's shuffle buffer, on row numbers: holds `rows` of them, gives out one at random, takes the next. A row
    /// never comes earlier than `rows` places before its turn, so on a sorted file a small buffer hardly shuffles.
    /// Holds 8 bytes a row; seeking replays row numbers, a few nanoseconds each.
    pub fn buffer(rows: u64, seed: u64) -> Shuffle {
        Shuffle { kind: Kind::Buffer { rows }, seed, fixed: false }
    }

    /// The same order in every epoch.
    pub fn fixed(self) -> Shuffle {
        Shuffle { fixed: true, ..self }
    }

    /// The epoch whose order epoch `epoch` has.
    pub(super) fn epoch(&self, epoch: u64) -> u64 {
        if self.fixed { 0 } else { epoch }
    }

    /// What is to be said of a shuffle over several rounds of the same rows.
    pub(super) fn mixing(&self, inner: &dyn Order) -> Option<String> {
        let rounds = |seam| {
            format!(
                "shuffle({self}) mixes rounds of {seam} rows: a row may come twice before another comes once; shuffle first \
                 and repeat after it"
            )
        };
        inner.seam().map(rounds)
    }
}

impl fmt::Display for Shuffle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = self.seed;
        match self.kind {
            Kind::Full => write!(f, "full({seed})")?,
            Kind::Blocks { shape: None } => write!(f, "blocks({seed})")?,
            Kind::Blocks { shape: Some((rows, group)) } => write!(f, "blocks_of({rows}, {group}, {seed})")?,
            Kind::Buffer { rows } => write!(f, "buffer({rows}, {seed})")?,
        }
        f.write_str(if self.fixed { ".fixed()" } else { "" })
    }
}

impl Dataset {
    /// The rows of each epoch in a shuffled order, every row once.
    ///
    /// **Order:** permuted, by seed and epoch · **Holds:** nothing, or the buffer's row numbers · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Shuffle};
    ///
    /// let rows = Dataset::range(100)?.shuffle(Shuffle::full(7));
    /// let (first, second) = (rows.order(0, 0, 100)?, rows.order(1, 0, 100)?);
    /// assert_ne!(first, second);
    /// assert_eq!(first, rows.order(0, 0, 100)?);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn shuffle(&self, how: Shuffle) -> Dataset {
        let row_bytes = self.spec().row_bytes() as u64;
        self.reordered(|inner| match how.kind {
            Kind::Full => Arc::new(FullOrder { inner, how }),
            Kind::Blocks { shape } => Arc::new(BlocksOrder::new(inner, how, shape, row_bytes)),
            Kind::Buffer { rows } => Arc::new(BufferOrder { inner, how, rows }),
        })
    }
}
