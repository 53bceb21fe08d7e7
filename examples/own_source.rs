//! A source of your own: rows that no file holds, reached by number, shuffled and batched like any other.
//!
//! `cargo run --release --example own_source`

use std::fmt;
use std::sync::Arc;

use gristmill::plumbing::Source;
use gristmill::{ColumnSpec, DType, Dataset, Result, Shuffle, Slot, Spec};

/// Row `n` is the pair (n, number of steps that n takes to reach 1 by Collatz' rule).
struct Collatz {
    spec: Arc<Spec>,
    rows: u64,
}

impl Collatz {
    fn new(rows: u64) -> Result<Collatz> {
        let columns = vec![ColumnSpec::new("n", DType::U64, &[]), ColumnSpec::new("steps", DType::U32, &[])];
        Ok(Collatz { spec: Spec::new(columns)?, rows })
    }
}

impl Source for Collatz {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        into[0].elements::<u64>()?.copy_from_slice(rows);
        for (steps, row) in into[1].elements::<u32>()?.iter_mut().zip(rows) {
            let mut at = row.max(&1).to_owned();
            *steps = 0;
            while at != 1 {
                at = if at % 2 == 0 { at / 2 } else { 3 * at + 1 };
                *steps += 1;
            }
        }
        Ok(())
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "collatz({})", self.rows)
    }
}

fn main() -> Result<()> {
    let rows = Dataset::from_source(Collatz::new(100_000)?);
    let batches = rows.skip(1).shuffle(Shuffle::full(3)).batch(1000).prefetch(2);
    println!("{batches:?}\n");

    let mut longest = (0, 0);
    for batch in batches.iter()? {
        let batch = batch?;
        let pairs = batch.column::<u32>("steps")?.iter().zip(batch.column::<u64>("n")?);
        longest = longest.max(pairs.map(|(steps, n)| (*steps, *n)).max().unwrap_or_default());
    }
    println!("longest: {} takes {} steps", longest.1, longest.0);
    Ok(())
}
