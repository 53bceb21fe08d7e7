//! A stage of your own, written as the stages of the crate are: a recipe, and a run that it opens.
//!
//! `cargo run --release --example own_stage`

use gristmill::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use gristmill::{Dataset, Result, Stream};

/// Each item together with the one before it.
fn pairwise<T: Clone + Send + 'static>(stream: Stream<T>) -> Stream<(T, T)> {
    stream.then(|upstream| PairwiseStage { upstream })
}

struct PairwiseStage<T> {
    upstream: Upstream<T>,
}

impl<T: Clone + Send + 'static> Stage for PairwiseStage<T> {
    type Item = (T, T);

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let length = upstream.length.map(|n| n.saturating_sub(1));
        let bytes = upstream.item_bytes.map(|item| item.saturating_mul(2));
        Ok(upstream.step("pairwise()").length(length).columns(None).sized(bytes).holds(1))
    }

    fn open(&self, run: &Run) -> Result<Running<(T, T)>> {
        Ok(Box::new(PairwisePull { upstream: self.upstream.open(run)?, last: None }))
    }

    fn label(&self) -> &'static str {
        "pairwise"
    }
}

struct PairwisePull<T> {
    upstream: Running<T>,
    last: Option<T>,
}

impl<T: Clone + Send> Pull for PairwisePull<T> {
    type Item = (T, T);

    fn pull(&mut self) -> Result<Option<(T, T)>> {
        loop {
            let Some(item) = self.upstream.pull()? else { return Ok(None) };
            if let Some(last) = self.last.replace(item.clone()) {
                return Ok(Some((last, item)));
            }
        }
    }
}

fn main() -> Result<()> {
    let squares = Dataset::from_generator(|_epoch| (0..6u32).map(|n| n * n));
    let steps = pairwise(squares).map(|(a, b)| b - a).prefetch(2);
    println!("{steps:?}");
    let steps: Vec<u32> = steps.iter()?.collect::<Result<_>>()?;
    println!("{steps:?}");
    assert_eq!(steps, [1, 3, 5, 7, 9]);
    Ok(())
}
