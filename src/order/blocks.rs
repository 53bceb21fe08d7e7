//! The block shuffle: random blocks fill a group, rows shuffle inside it.
//!
//! An epoch's blocks are dealt into slots by a permutation; `group` slots in a row make a group, whose rows are
//! permuted again. The last block may be short: it gets a random slot of its own, outside the permutation, so that
//! every slot before it has full blocks and where a slot starts stays arithmetic. Any position is reached in O(1).

use std::fmt;
use std::sync::Arc;

use super::permutation::{Permutation, Recent};
use super::{Epochs, Shuffle};
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};
use crate::rng::RandomStream;

/// The smallest read that still keeps common disks at their sequential speed when enough of them are under way.
const BLOCK_BYTES: u64 = 64 << 10;

/// With this many blocks in a group, a batch of 256 rows of a class-sorted file looks like one of a full shuffle.
const GROUP_BLOCKS: u64 = 1024;

pub(super) struct BlocksOrder {
    inner: Arc<dyn Order>,
    how: Shuffle,
    rows: u64,
    group: u64,
}

impl BlocksOrder {
    pub(super) fn new(
        inner: Arc<dyn Order>,
        how: Shuffle,
        shape: Option<(u64, u64)>,
        row_bytes: u64,
    ) -> Self {
        let (rows, group) = shape.unwrap_or(((BLOCK_BYTES / row_bytes.max(1)).max(1), GROUP_BLOCKS));
        BlocksOrder { inner, how, rows, group }
    }
}

impl Order for BlocksOrder {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn epochs(&self) -> u64 {
        self.inner.epochs()
    }

    fn locality(&self) -> Option<u64> {
        Some(self.inner.locality().map_or(self.rows, |rows| rows.min(self.rows)))
    }

    fn varies(&self) -> bool {
        !self.how.fixed || self.inner.varies()
    }

    fn open(&self) -> Result<Resolver> {
        if self.rows == 0 || self.group == 0 {
            return Err(Error::argument("shuffle", "blocks and groups of at least one", self.how));
        }
        let mut inner = self.inner.open()?;
        let (len, how) = (self.len(), self.how);
        let (rows, group) = (self.rows.min(len.max(1)), self.group);
        let mut epochs = Epochs::new(len);
        let mut deals = Recent::new();
        let mut groups = Recent::new();
        let mut deal = Deal::new(len, rows, group, how, 0, &mut deals);
        let mut hand = Hand::default();
        Ok(Box::new(move |at: &mut [u64]| {
            for position in &mut *at {
                let (epoch, place) = epochs.locate(*position);
                let key = how.epoch(epoch);
                if key != deal.epoch {
                    deal = Deal::new(len, rows, group, how, key, &mut deals);
                    hand = Hand::default();
                }
                if !hand.holds(place) {
                    hand = Hand::of(&deal, place, &mut groups);
                }
                *position = epoch * len + hand.row(&deal, place);
            }
            inner.resolve(at);
        }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.describe(out)?;
        write!(out, ".shuffle({})", self.how)
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.inner.notes(row_bytes).into_iter().chain(self.how.mixing(&*self.inner)).collect()
    }
}

/// How one epoch's blocks lie in its slots.
struct Deal {
    epoch: u64,
    len: u64,
    rows: u64,
    group: u64,
    how: Shuffle,
    /// Blocks that are not short.
    full: u64,
    /// Rows of the short block, or 0, and its slot.
    short: (u64, u64),
    blocks: Arc<Permutation>,
}

impl Deal {
    fn new(len: u64, rows: u64, group: u64, how: Shuffle, epoch: u64, recent: &mut Recent) -> Deal {
        let (full, tail) = (len / rows, len % rows);
        let slot = match tail {
            0 => full,
            _ => RandomStream::new(how.seed, "short block", epoch, 0).below(full + 1),
        };
        let make = || Permutation::new(full, RandomStream::new(how.seed, "blocks", epoch, 0));
        Deal { epoch, len, rows, group, how, full, short: (tail, slot), blocks: recent.get((epoch, 0), make) }
    }

    /// The slot of the place `at` of the epoch, rows in the order in which the blocks were dealt.
    fn slot(&self, at: u64) -> u64 {
        let (tail, slot) = self.short;
        let before = slot * self.rows;
        match at {
            at if at < before => at / self.rows,
            at if at < before + tail => slot,
            at => slot + u64::from(tail > 0) + (at - before - tail) / self.rows,
        }
    }

    /// Where slot `slot` starts; past the last one, the end of the epoch.
    fn start(&self, slot: u64) -> u64 {
        let (tail, short) = self.short;
        match slot {
            slot if slot <= short => (slot * self.rows).min(self.len),
            slot => (slot.saturating_sub(1).saturating_mul(self.rows).saturating_add(tail)).min(self.len),
        }
    }

    /// The first row of the block in slot `slot`.
    fn first(&self, slot: u64) -> u64 {
        let (tail, short) = self.short;
        let block = match slot {
            slot if tail > 0 && slot == short => self.full,
            slot if tail > 0 && slot > short => self.blocks.at(slot - 1),
            slot => self.blocks.at(slot),
        };
        block * self.rows
    }
}

/// Slots of a group whose first rows are kept; those of larger groups are worked out for each row.
const KEPT_SLOTS: u64 = 4096;

/// A group's permutation, and the first row of the block in each of its slots.
struct Group {
    order: Permutation,
    firsts: Vec<u64>,
}

/// The group being given out, a range of dealt places from slot `slot` on.
#[derive(Default)]
struct Hand {
    start: u64,
    len: u64,
    slot: u64,
    group: Option<Arc<Group>>,
}

impl Hand {
    fn of(deal: &Deal, place: u64, recent: &mut Recent<Group>) -> Hand {
        let number = deal.slot(place) / deal.group;
        let slot = number * deal.group;
        let start = deal.start(slot);
        let len = deal.start((number + 1).saturating_mul(deal.group)) - start;
        let group = recent.get((deal.epoch, number), || {
            let slots =
                slot..slot.saturating_add(deal.group.min(KEPT_SLOTS)).min(deal.slot(start + len - 1) + 1);
            Group {
                order: Permutation::new(len, RandomStream::new(deal.how.seed, "group", deal.epoch, number)),
                firsts: slots.map(|slot| deal.first(slot)).collect(),
            }
        });
        Hand { start, len, slot, group: Some(group) }
    }

    fn holds(&self, place: u64) -> bool {
        place.wrapping_sub(self.start) < self.len
    }

    /// The row at place `place`, which it holds.
    fn row(&self, deal: &Deal, place: u64) -> u64 {
        let Some(group) = &self.group else { return place };
        let dealt = self.start + group.order.at(place - self.start);
        let slot = deal.slot(dealt);
        let kept = group.firsts.get((slot - self.slot) as usize);
        kept.copied().unwrap_or_else(|| deal.first(slot)) + (dealt - deal.start(slot))
    }
}
