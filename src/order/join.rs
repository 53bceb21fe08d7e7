//! Several datasets as one: what `concat`, `mix` and `choose` stand on.
//!
//! Parts of one source share it; others become a joined source in which each part's rows have numbers of their own.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::data::{Batch, Projection, Slot, Spec};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::{Order, Resolver, Source};

/// Runs of fewer rows than this, on average, are gathered part by part and put in place afterwards.
const SHORT_RUN: usize = 4;

/// Datasets with the same columns, seen as one.
pub(super) struct Joined {
    source: Arc<dyn Source>,
    parts: Vec<Part>,
}

/// A part's order, and the number of its source's first row in the joined source.
struct Part {
    order: Arc<dyn Order>,
    offset: u64,
}

impl Joined {
    /// `parts` as one, for the verb `verb`.
    pub(super) fn new(verb: &'static str, parts: &[&Dataset]) -> Result<Joined> {
        let Some(first) = parts.first() else {
            return Err(Error::argument(verb, "at least one part", "none"));
        };
        let mut sources: Vec<Arc<dyn Source>> = Vec::new();
        let mut starts = vec![0u64];
        let mut joined = Vec::with_capacity(parts.len());
        for part in parts {
            if part.spec() != first.spec() {
                return Err(Error::spec(verb, first.spec(), part.spec()));
            }
            let known = sources.iter().position(|source| Arc::ptr_eq(source, part.source()));
            let offset = starts[known.unwrap_or(sources.len())];
            if known.is_none() {
                let Some(end) = offset.checked_add(part.source().rows()) else {
                    return Err(Error::argument(verb, "at most 2^64 rows together", "more"));
                };
                sources.push(part.source().clone());
                starts.push(end);
            }
            joined.push(Part { order: part.inner().clone(), offset });
        }
        let source: Arc<dyn Source> = match sources.as_slice() {
            [one] => one.clone(),
            _ => Arc::new(JoinedSource { parts: sources, starts }),
        };
        Ok(Joined { source, parts: joined })
    }

    pub(super) fn source(&self) -> Arc<dyn Source> {
        self.source.clone()
    }

    /// The orders of the parts.
    pub(super) fn orders(&self) -> impl Iterator<Item = &Arc<dyn Order>> {
        self.parts.iter().map(|part| &part.order)
    }

    /// Rows of one epoch of each part.
    pub(super) fn lens(&self) -> Vec<u64> {
        self.orders().map(|order| order.len()).collect()
    }

    /// Epochs that all parts can number.
    pub(super) fn epochs(&self) -> u64 {
        self.orders().map(|order| order.epochs()).min().unwrap_or(0)
    }

    pub(super) fn locality(&self) -> Option<u64> {
        self.orders().filter_map(|order| order.locality()).min()
    }

    pub(super) fn varies(&self) -> bool {
        self.orders().any(|order| order.varies())
    }

    pub(super) fn notes(&self, row_bytes: usize) -> Vec<String> {
        self.orders().flat_map(|order| order.notes(row_bytes)).collect()
    }

    /// Starts resolving positions that `deal` turns into a part and a position of it.
    pub(super) fn open(
        &self,
        mut deal: impl FnMut(u64) -> (usize, u64) + Send + 'static,
    ) -> Result<Resolver> {
        let hand = |part: &Part| {
            Ok(Hand {
                resolver: part.order.open()?,
                offset: part.offset,
                places: Vec::new(),
                rows: Vec::new(),
            })
        };
        let mut hands: Vec<Hand> = self.parts.iter().map(hand).collect::<Result<_>>()?;
        Ok(Box::new(move |at: &mut [u64]| {
            for (i, position) in at.iter().enumerate() {
                let (part, position) = deal(*position);
                hands[part].places.push(i);
                hands[part].rows.push(position);
            }
            for hand in hands.iter_mut().filter(|hand| !hand.places.is_empty()) {
                hand.resolver.resolve(&mut hand.rows);
                for (i, row) in hand.places.drain(..).zip(hand.rows.drain(..)) {
                    at[i] = row + hand.offset;
                }
            }
        }))
    }
}

/// What one part has to resolve, and where it goes.
struct Hand {
    resolver: Resolver,
    offset: u64,
    places: Vec<usize>,
    rows: Vec<u64>,
}

/// The rows of several sources as one.
struct JoinedSource {
    parts: Vec<Arc<dyn Source>>,
    /// The first row of each part, and the number of all rows.
    starts: Vec<u64>,
}

impl JoinedSource {
    fn part_of(&self, row: u64) -> usize {
        self.starts[1..].partition_point(|end| *end <= row).min(self.parts.len() - 1)
    }

    fn range(&self, part: usize) -> Range<u64> {
        self.starts[part]..self.starts[part + 1]
    }

    /// One call a run of rows of one part: whole batches in file order. A part is asked to confirm at once, while it is known
    /// which one it was.
    fn gather_runs(&self, runs: &[(usize, Range<usize>)], rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        let mut local = Vec::new();
        for (part, range) in runs {
            local.clear();
            local.extend(rows[range.clone()].iter().map(|row| row - self.starts[*part]));
            let mut slots: Vec<Slot<'_>> = into.iter_mut().map(|slot| slot.part(range.clone())).collect();
            let part = &self.parts[*part];
            part.gather(&local, &mut slots)?;
            part.confirm()?;
        }
        Ok(())
    }

    /// One call a part: a source looks after its files once a call, which is much for each single row.
    fn gather_parts(
        &self,
        runs: &[(usize, Range<usize>)],
        rows: &[u64],
        into: &mut [Slot<'_>],
    ) -> Result<()> {
        for (number, part) in self.parts.iter().enumerate() {
            let places = || runs.iter().filter(|(of, _)| *of == number).flat_map(|(_, range)| range.clone());
            let local: Vec<u64> = places().map(|i| rows[i] - self.starts[number]).collect();
            if local.is_empty() {
                continue;
            }
            let mut together = Batch::zeroed(self.spec(), local.len())?;
            part.gather(&local, &mut together.slots()?)?;
            part.confirm()?;
            for (slot, array) in into.iter_mut().zip(together.arrays()) {
                let row = slot.spec().row_bytes();
                for (i, from) in places().zip(array.bytes().chunks_exact(row.max(1))) {
                    slot.bytes()[i * row..(i + 1) * row].copy_from_slice(from);
                }
            }
        }
        Ok(())
    }
}

impl Source for JoinedSource {
    fn spec(&self) -> &Arc<Spec> {
        self.parts[0].spec()
    }

    fn rows(&self) -> u64 {
        self.starts[self.parts.len()]
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        let mut runs: Vec<(usize, Range<usize>)> = Vec::new();
        let mut done = 0;
        while let Some(row) = rows.get(done) {
            let part = self.part_of(*row);
            let of_part = self.range(part);
            let run = rows[done..].iter().take_while(|row| of_part.contains(row)).count().max(1);
            runs.push((part, done..done + run));
            done += run;
        }
        match runs.len() <= self.parts.len() || runs.len() * SHORT_RUN <= rows.len() {
            true => self.gather_runs(&runs, rows, into),
            false => self.gather_parts(&runs, rows, into),
        }
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts[0].describe(out)
    }

    fn scattered(&self) -> Option<Arc<dyn Source>> {
        let scattered: Vec<_> = self.parts.iter().map(|part| part.scattered()).collect();
        scattered.iter().any(Option::is_some).then(|| {
            let parts = self.parts.iter().zip(scattered);
            let parts = parts.map(|(part, scattered)| scattered.unwrap_or_else(|| part.clone())).collect();
            Arc::new(JoinedSource { parts, starts: self.starts.clone() }) as Arc<dyn Source>
        })
    }

    fn ahead(&self, rows: Range<u64>) {
        for (number, part) in self.parts.iter().enumerate() {
            let range = self.range(number);
            let (from, to) = (rows.start.max(range.start), rows.end.min(range.end));
            if from < to {
                part.ahead(from - range.start..to - range.start);
            }
        }
    }

    fn project(&self, change: &Projection) -> Option<Arc<dyn Source>> {
        let parts: Option<Vec<_>> = self.parts.iter().map(|part| part.project(change)).collect();
        Some(Arc::new(JoinedSource { parts: parts?, starts: self.starts.clone() }))
    }

    fn notes(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.notes()).collect()
    }

    fn stamps(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.stamps()).collect()
    }
}
