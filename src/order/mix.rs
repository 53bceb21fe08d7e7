//! `mix` and `choose`: rows of several datasets in turn, by weights or by a list.
//!
//! Whose turn it is stands in a table of one period: for each slot the part, and how often the part had its turn
//! before. So any position is reached in O(1), and epoch `k` takes rows of epoch `k` of each part, in the part's own
//! order.

use std::fmt;
use std::sync::Arc;

use super::Epochs;
use super::join::Joined;
use crate::dataset::Dataset;
use crate::digest;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver};

/// Most slots of a period: weights that need more are finer than anyone will notice.
const LONGEST: u64 = 1 << 20;

impl Dataset {
    /// Rows of several datasets with the same columns in turn, in proportion to their weights: with weights 3 and 1,
    /// three of every four rows are the first part's.
    ///
    /// Nothing is drawn: after any number of rows each part has given its exact share to within one row, so any
    /// stretch of rows holds its share to within two, and to within one where there are two parts. An epoch ends
    /// where the next row would be one of a part that has no more in this epoch; to go over a small part several
    /// times meanwhile, give `small.repeat(10)`. Each part keeps its own order, and a shuffle of it goes on to its
    /// next epoch with this one's.
    ///
    /// A part of weight 0 is left out.
    ///
    /// **Order:** the parts', in turn · **Holds:** 12 bytes for each unit of the weights' sum in lowest terms ·
    /// **Threads:** none
    ///
    /// # Errors
    /// [`Error::Spec`] when the columns differ; [`Error::Argument`] when all weights are 0, or their sum in lowest
    /// terms is above 1,048,576.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let (web, books) = (Dataset::range_by(0, 100, 1)?, Dataset::range_by(-1, -100, -1)?);
    /// let mixed = Dataset::mix([(&web, 2), (&books, 1)])?;
    /// let first = mixed.batch(9).iter()?.next().expect("a batch")?;
    /// assert_eq!(first.column::<i64>("0")?, [0, -1, 1, 2, -2, 3, 4, -3, 5]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn mix<'a>(parts: impl IntoIterator<Item = (&'a Dataset, u64)>) -> Result<Dataset> {
        let (parts, weights): (Vec<&Dataset>, Vec<u64>) = parts.into_iter().unzip();
        let joined = Joined::new("mix", &parts)?;
        let turns = Turns::by_weights(&weights)?;
        let (len, ending) = turns.cyclic_len(&joined.lens());
        MixOrder::dataset(joined, turns, len, Kind::Mix { weights, ending })
    }

    /// Rows of several datasets with the same columns in turn, by a list of part numbers: `[0, 0, 1]` is two rows of
    /// the first part and one of the second, each part in its own order.
    ///
    /// An epoch is the list, or what of it comes before a row of a part that has no more in this epoch.
    ///
    /// **Order:** the parts', in turn · **Holds:** the list, 12 bytes a row, shared · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Spec`] when the columns differ; [`Error::Argument`] naming the first number that is no part's.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let (up, down) = (Dataset::range_by(0, 5, 1)?, Dataset::range_by(0, -5, -1)?);
    /// let chosen = Dataset::choose([&up, &down], [1, 1, 0, 1])?;
    /// assert_eq!(chosen.batch(4).iter()?.next().expect("a batch")?.column::<i64>("0")?, [0, -1, 0, -2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn choose<'a>(
        parts: impl IntoIterator<Item = &'a Dataset>,
        list: impl Into<Vec<u32>>,
    ) -> Result<Dataset> {
        let parts: Vec<&Dataset> = parts.into_iter().collect();
        let joined = Joined::new("choose", &parts)?;
        let turns = Turns::by_list("choose", list.into(), parts.len())?;
        let len = turns.len(&joined.lens());
        MixOrder::dataset(joined, turns, len, Kind::Choose)
    }
}

/// Whose turn it is in each slot of one period.
struct Turns {
    parts: Vec<u32>,
    /// For each slot: turns of its part in the slots before.
    before: Vec<u64>,
    /// Turns of each part in the whole period.
    whole: Vec<u64>,
}

impl Turns {
    fn by_list(verb: &'static str, list: Vec<u32>, parts: usize) -> Result<Turns> {
        let mut whole = vec![0; parts];
        let mut before = Vec::new();
        let bytes = (list.len() as u64).saturating_mul(8);
        before.try_reserve_exact(list.len()).map_err(|_| Error::no_memory("the list of parts", bytes))?;
        for (i, part) in list.iter().enumerate() {
            let Some(turns) = whole.get_mut(*part as usize) else {
                let found = format!("{part} at place {i}");
                return Err(Error::argument(verb, format!("part numbers below {parts}"), found));
            };
            before.push(*turns);
            *turns += 1;
        }
        Ok(Turns { parts: list, before, whole })
    }

    /// The turns of Tijdeman's chairman: whoever would be owed too much soonest. No part is ever a whole row ahead of
    /// its share or behind it.
    fn by_weights(weights: &[u64]) -> Result<Turns> {
        let divisor = weights.iter().fold(0, |a, b| greatest_divisor(a, *b));
        let Some(weights) = (divisor > 0).then(|| weights.iter().map(|w| i128::from(w / divisor))) else {
            return Err(Error::argument("mix", "a weight above 0", "none"));
        };
        let weights: Vec<i128> = weights.collect();
        let sum: i128 = weights.iter().sum();
        if sum > i128::from(LONGEST) {
            let expected = format!("weights of at most {LONGEST} together, in lowest terms");
            return Err(Error::argument("mix", expected, sum));
        }
        // Everything in units of 1 / (sum * scale), so that the rule is exact.
        let drawn = weights.iter().filter(|w| **w > 0).count() as i128;
        let scale = (2 * drawn - 2).max(1);
        let mut list = Vec::with_capacity(sum as usize);
        let mut turns = vec![0i128; weights.len()];
        for slot in 1..=sum {
            let owed = |part: usize| (weights[part] * slot - turns[part] * sum) * scale;
            let due = (0..weights.len()).filter(|part| weights[*part] > 0 && owed(*part) >= sum);
            // The slots until a part is owed too much, as a fraction over its weight; the earlier part wins a tie.
            let sooner = |a: &usize, b: &usize| {
                let room = |part: usize| sum * scale - sum - owed(part);
                (room(*a) * weights[*b]).cmp(&(room(*b) * weights[*a]))
            };
            let next = due.min_by(sooner).unwrap_or_default();
            turns[next] += 1;
            list.push(next as u32);
        }
        Turns::by_list("mix", list, weights.len())
    }

    /// Part, and turns it had before, in slot `slot` of the periods without end.
    fn at(&self, slot: u64) -> (usize, u64) {
        let period = self.parts.len() as u64;
        let (round, slot) = (slot / period, (slot % period) as usize);
        let part = self.parts[slot] as usize;
        (part, round * self.whole[part] + self.before[slot])
    }

    /// Slots of one period before a part with so many rows would be asked for more.
    fn len(&self, lens: &[u64]) -> u64 {
        let mut turns = self.parts.iter().zip(&self.before);
        turns.position(|(part, before)| *before >= lens[*part as usize]).unwrap_or(self.parts.len()) as u64
    }

    /// The same for periods without end, and the part that ends them.
    fn cyclic_len(&self, lens: &[u64]) -> (u128, usize) {
        let period = self.parts.len() as u128;
        // A part's first turn too many is in the period after its whole ones, where it has had its last rows.
        let mut ends: Vec<u128> = lens.iter().map(|_| u128::MAX).collect();
        for (slot, (part, before)) in self.parts.iter().zip(&self.before).enumerate() {
            let part = *part as usize;
            if *before == lens[part] % self.whole[part] {
                ends[part] = u128::from(lens[part] / self.whole[part]) * period + slot as u128;
            }
        }
        let first = ends.iter().enumerate().min_by_key(|(_, end)| **end);
        first.map_or((0, 0), |(part, end)| (*end, part))
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// Which verb it was.
enum Kind {
    Mix { weights: Vec<u64>, ending: usize },
    Choose,
}

struct MixOrder {
    joined: Joined,
    turns: Arc<Turns>,
    len: u64,
    kind: Kind,
}

impl MixOrder {
    fn dataset(joined: Joined, turns: Turns, len: impl TryInto<u64>, kind: Kind) -> Result<Dataset> {
        let Ok(len) = len.try_into() else {
            return Err(Error::argument("mix", "an epoch of at most 2^64 rows", "a longer one"));
        };
        Ok(Dataset::new(joined.source(), Arc::new(MixOrder { joined, turns: Arc::new(turns), len, kind })))
    }
}

impl Order for MixOrder {
    fn len(&self) -> u64 {
        self.len
    }

    fn epochs(&self) -> u64 {
        self.joined.epochs().min(u64::MAX / self.len.max(1))
    }

    fn locality(&self) -> Option<u64> {
        self.joined.locality()
    }

    fn varies(&self) -> bool {
        self.joined.varies()
    }

    fn open(&self) -> Result<Resolver> {
        let (lens, turns) = (self.joined.lens(), self.turns.clone());
        let mut epochs = Epochs::new(self.len);
        self.joined.open(move |position| {
            let (epoch, place) = epochs.locate(position);
            let (part, turn) = turns.at(place);
            (part, epoch * lens[part] + turn)
        })
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if matches!(self.kind, Kind::Choose) { "choose([" } else { "mix([" })?;
        for (i, order) in self.joined.orders().enumerate() {
            out.write_str(if i > 0 { ", " } else { "" })?;
            match &self.kind {
                Kind::Mix { weights, .. } => {
                    out.write_str("(")?;
                    order.describe(out)?;
                    write!(out, ", {})", weights[i])?;
                }
                Kind::Choose => order.describe(out)?,
            }
        }
        match self.kind {
            Kind::Mix { .. } => out.write_str("])"),
            Kind::Choose => {
                let digest = digest::of_list(self.turns.parts.iter().map(|part| u64::from(*part)));
                write!(out, "], [{} parts #{digest}])", self.turns.parts.len())
            }
        }
    }

    fn notes(&self, row_bytes: usize) -> Vec<String> {
        let mut notes = self.joined.notes(row_bytes);
        let Kind::Mix { ending, .. } = self.kind else { return notes };
        for (part, order) in self.joined.orders().enumerate() {
            let share = u128::from(self.turns.whole[part]) * u128::from(self.len);
            let (given, len) = ((share / self.turns.parts.len().max(1) as u128) as u64, order.len());
            // A part that shuffles anew gets round to all of its rows in time.
            if given < len / 10 * 9 && given > 0 && !order.varies() {
                notes.push(format!(
                    "an epoch of this mix ends with part {ending}, after about {given} of the {len} rows of part {part}, and \
                     the others never come; shuffle part {part}, or repeat part {ending}"
                ));
            }
        }
        notes
    }
}
