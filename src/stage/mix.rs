//! `mix` and `mix_to_end`: items of several streams, so many of each.
//!
//! Whose turn it is depends on the weights alone. Of any run of as many items as the weights sum up to, each stream gives exactly its
//! weight; of the first `n` items, its share rounded up or down. An error counts as the item whose place it takes.

use crate::data::Length;
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

/// Weights that sum up to more make a mix whose length is not counted beforehand.
const COUNTED: u64 = 1 << 16;

impl<T: Send + 'static> Stream<T> {
    /// Items of all `parts`, of each in proportion to its weight, spread evenly: with the weights 3 and 1 every run of four items has
    /// three of the first stream and one of the second. Ends when a stream has ended whose turn it is.
    ///
    /// Nothing is random in it. Threads and other settings are those of the first stream.
    ///
    /// **Order:** kept within each stream; turns by the weights · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] without a weight above 0, or when the weights sum up to more than a `u64`. [`Error::Spec`] if parts yield
    /// batches whose columns are known and differ.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Stream};
    ///
    /// let numbers = Dataset::from_generator(|_| 1..100);
    /// let zeros = Dataset::from_generator(|_| [0, 0]);
    /// let mixed = Stream::mix([(numbers, 3), (zeros, 1)]);
    /// assert_eq!(mixed.iter()?.collect::<Result<Vec<_>, _>>()?, [1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn mix(parts: impl IntoIterator<Item = (Stream<T>, u64)>) -> Stream<T> {
        Stream::mixed("mix", parts)
    }

    /// As [`mix`](Stream::mix), but a stream that has ended leaves the others to go on in the proportion of their weights, until all
    /// have ended.
    ///
    /// **Order:** kept within each stream; turns by the weights · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// As [`mix`](Stream::mix).
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Stream};
    ///
    /// let (long, short) = (Dataset::from_generator(|_| 1..5), Dataset::from_generator(|_| [0]));
    /// let mixed = Stream::mix_to_end([(long, 1), (short, 1)]);
    /// assert_eq!(mixed.iter()?.collect::<Result<Vec<_>, _>>()?, [1, 0, 2, 3, 4]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn mix_to_end(parts: impl IntoIterator<Item = (Stream<T>, u64)>) -> Stream<T> {
        Stream::mixed("mix_to_end", parts)
    }

    fn mixed(label: &'static str, parts: impl IntoIterator<Item = (Stream<T>, u64)>) -> Stream<T> {
        let streams: Vec<(Stream<T>, u64)> = parts.into_iter().collect();
        let parts = streams.iter().map(|(stream, weight)| (stream.upstream(), *weight)).collect();
        let stage = MixStage { parts, label };
        match streams.into_iter().next() {
            Some((first, _)) => first.then(|_| stage),
            None => Stream::new(stage),
        }
    }
}

struct MixStage<T> {
    parts: Vec<(Upstream<T>, u64)>,
    label: &'static str,
}

impl<T: Send + 'static> Stage for MixStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let weights = self.parts.iter().map(|(_, weight)| *weight);
        if weights.clone().try_fold(0u64, u64::checked_add).is_none_or(|sum| sum == 0) {
            let found = format!("{:?}", weights.collect::<Vec<_>>());
            return Err(Error::argument(self.label, "weights with a sum above 0 and below 2^64", found));
        }
        let outlines: Result<Vec<Outline>> = self.parts.iter().map(|(part, _)| part.outline(run)).collect();
        let outlines = outlines?;
        let lengths: Vec<Length> = outlines.iter().map(|outline| outline.length).collect();
        let drawn: Vec<(Length, u64)> =
            lengths.into_iter().zip(weights.clone()).filter(|part| part.1 > 0).collect();
        let length = match self.label {
            "mix" => until_one_ends(&drawn),
            _ => until_all_end(&drawn),
        };
        let pairs = outlines
            .iter()
            .zip(weights)
            .map(|(outline, weight)| format!("({}, {weight})", outline.expression()));
        let call = format!("{}([{}])", self.label, pairs.collect::<Vec<_>>().join(", "));
        Ok(Outline::drawn(call, self.label, outlines)?.length(length))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let mut parts = Vec::new();
        for (upstream, weight) in self.parts.iter().filter(|(_, weight)| *weight > 0) {
            let left = match upstream.outline(run)?.length {
                Length::Exact(items) => Some(items),
                Length::Infinite => Some(u64::MAX),
                Length::Unknown => None,
            };
            parts.push(Part { running: upstream.open(run)?, weight: *weight, left });
        }
        let turns = Turns::new(parts.iter().map(|part| part.weight));
        Ok(Box::new(MixPull { parts, turns, goes_on: self.label != "mix" }))
    }

    fn label(&self) -> &'static str {
        self.label
    }
}

/// Items until the turn of a stream that has ended, where that can be counted.
fn until_one_ends(parts: &[(Length, u64)]) -> Length {
    if parts.iter().any(|(length, _)| *length == Length::Unknown) {
        return Length::Unknown;
    }
    let weights = || parts.iter().map(|(_, weight)| *weight);
    let sum: u64 = weights().sum();
    if parts.iter().all(|(length, _)| *length == Length::Infinite) {
        return Length::Infinite;
    }
    if sum > COUNTED {
        return Length::Unknown;
    }
    // A stream of n items is found ended at its turn number n, which is turn n mod weight of some round.
    let mut turns = Turns::new(weights());
    let mut first = u64::MAX;
    for place in 0..sum {
        let Some(at) = turns.next() else { break };
        let (number, weight) = (turns.turns[at].number, parts[at].1);
        if let Length::Exact(items) = parts[at].0
            && items % weight == number
        {
            first = first.min((items / weight).saturating_mul(sum).saturating_add(place));
        }
        turns.took(at);
    }
    Length::Exact(first)
}

/// Items until all streams have ended.
fn until_all_end(parts: &[(Length, u64)]) -> Length {
    parts.iter().fold(Length::Exact(0), |all, (length, _)| match (all, length) {
        (Length::Infinite, _) | (_, Length::Infinite) => Length::Infinite,
        (Length::Exact(a), Length::Exact(b)) => Length::Exact(a.saturating_add(*b)),
        _ => Length::Unknown,
    })
}

/// Whose turn it is: each stream has its turns at even distances, and of those who may have theirs, the one whose time is up
/// first does. One such choice is always right: nobody's turn comes a whole one too early or too late.
struct Turns {
    sum: u64,
    /// The place in the round; a round is as many places as the weights sum up to.
    place: u64,
    turns: Vec<Turn>,
}

/// The next turn of one stream: its number in the round, and the places from and before which it is to come.
struct Turn {
    weight: u64,
    number: u64,
    from: u64,
    before: u64,
}

impl Turn {
    fn new(weight: u64, number: u64, sum: u64) -> Turn {
        let (weight, number, sum) = (u128::from(weight), u128::from(number), u128::from(sum));
        let (from, before) = (number * sum / weight, ((number + 1) * sum).div_ceil(weight));
        // Only the turn after the round's last, which nobody has, may lie beyond the sum.
        let before = u64::try_from(before).unwrap_or(u64::MAX);
        Turn { weight: weight as u64, number: number as u64, from: from as u64, before }
    }
}

impl Turns {
    fn new(weights: impl Iterator<Item = u64> + Clone) -> Turns {
        let sum = weights.clone().sum();
        Turns { sum, place: 0, turns: weights.map(|weight| Turn::new(weight, 0, sum)).collect() }
    }

    /// The stream whose turn it is; `None` if there are no streams.
    fn next(&self) -> Option<usize> {
        let order = |at: &usize| (self.turns[*at].from > self.place, self.turns[*at].before);
        (0..self.turns.len()).min_by_key(order)
    }

    /// Stream `at` had its turn.
    fn took(&mut self, at: usize) {
        self.place += 1;
        if self.place == self.sum {
            self.place = 0;
            self.turns.iter_mut().for_each(|turn| *turn = Turn::new(turn.weight, 0, self.sum));
        } else {
            let turn = &mut self.turns[at];
            *turn = Turn::new(turn.weight, turn.number + 1, self.sum);
        }
    }
}

struct Part<T> {
    running: Running<T>,
    weight: u64,
    /// Items to come, where their number is known.
    left: Option<u64>,
}

impl<T> Part<T> {
    fn gave(&mut self, items: u64) {
        self.left = self.left.map(|left| if left == u64::MAX { left } else { left.saturating_sub(items) });
    }
}

struct MixPull<T> {
    parts: Vec<Part<T>>,
    turns: Turns,
    /// Whether the others go on when one has ended.
    goes_on: bool,
}

impl<T> MixPull<T> {
    fn ended(&mut self, at: usize) {
        match self.goes_on {
            true => drop(self.parts.remove(at)),
            false => self.parts.clear(),
        }
        self.turns = Turns::new(self.parts.iter().map(|part| part.weight));
    }

    fn took(&mut self, at: usize) {
        self.parts[at].gave(1);
        self.turns.took(at);
    }

    /// Passes over up to `n` items in whole rounds in which no stream ends.
    fn pass_rounds(&mut self, n: u64) -> Result<u64> {
        if self.turns.place > 0 || self.parts.is_empty() {
            return Ok(0);
        }
        let known = self.parts.iter().map(|part| part.left.map_or(0, |left| left / part.weight)).min();
        let rounds = known.unwrap_or(0).min(n / self.turns.sum);
        for part in &mut self.parts {
            let items = rounds * part.weight;
            part.running.skip(items)?;
            part.gave(items);
        }
        Ok(rounds * self.turns.sum)
    }
}

impl<T> Pull for MixPull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        while let Some(at) = self.turns.next() {
            let item = self.parts[at].running.pull();
            if let Ok(None) = item {
                self.ended(at);
                continue;
            }
            self.took(at);
            return item;
        }
        Ok(None)
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let mut passed = 0;
        while passed < n {
            passed += self.pass_rounds(n - passed)?;
            let Some(at) = self.turns.next().filter(|_| passed < n) else { break };
            match self.parts[at].running.skip(1)? {
                0 => self.ended(at),
                _ => {
                    self.took(at);
                    passed += 1;
                }
            }
        }
        Ok(passed)
    }
}
