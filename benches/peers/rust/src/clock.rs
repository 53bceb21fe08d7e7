//! The clock and the line that is printed; `common.py` has the same for Python.

use std::time::{Duration, Instant};

use crate::data::{ROW_BYTES, ROWS};

const ROUNDS: usize = 3;
const LIMIT: Duration = Duration::from_millis(500);

pub struct Case {
    pub name: &'static str,
    pub batch: usize,
    pub shuffled: bool,
}

pub const CASES: [Case; 3] = [
    Case { name: "shuffled-1024", batch: 1024, shuffled: true },
    Case { name: "shuffled-128", batch: 128, shuffled: true },
    Case { name: "in-order-1024", batch: 1024, shuffled: false },
];

/// Rows a second of an epoch that was begun at `start`, or of its first batches: what is left is taken to go on as it did after
/// the first batch. `batches` are the numbers of rows.
pub fn rate(batches: impl Iterator<Item = usize>, start: Instant) -> f64 {
    let (mut rows, mut first, mut took) = (0, None, Duration::ZERO);
    for batch in batches {
        rows += batch;
        took = start.elapsed();
        if took - first.get_or_insert((took, batch)).0 > LIMIT {
            break;
        }
    }
    let (until_first, first_rows) = first.expect("a batch");
    let left = (ROWS - rows) as f64 / (rows - first_rows) as f64 * (took - until_first).as_secs_f64();
    ROWS as f64 / (took.as_secs_f64() + left)
}

/// Prints the median of some rounds after one that warms up.
///
/// A round starts an epoch and gives its [`rate`]. The clock runs from before that start, so drawing the order counts.
pub fn measure(peer: &str, way: &str, case: &Case, workers: usize, mut round: impl FnMut(Instant) -> f64) {
    let mut rates: Vec<f64> = (0..=ROUNDS).map(|_| round(Instant::now())).skip(1).collect();
    rates.sort_by(f64::total_cmp);
    let rate = rates[ROUNDS / 2];
    let line = serde_json::json!({
        "peer": peer, "way": way, "case": case.name, "workers": workers, "cores": workers.max(1),
        "gb_per_s": (rate * ROW_BYTES as f64 / 1e5).round() / 1e4, "rows_per_s": rate.round() as u64, "version": version(peer),
    });
    println!("{line}");
}

/// The version of a crate in the lock file.
fn version(peer: &str) -> String {
    let name = match peer {
        "Burn" => "burn-core",
        "dataloader-rs" => "dataloader-rs",
        _ => "gristmill",
    };
    let lock = include_str!("../Cargo.lock");
    let (_, rest) =
        lock.split_once(&format!("name = \"{name}\"\nversion = \"")).expect("the crate in Cargo.lock");
    rest.split('"').next().unwrap_or_default().to_owned()
}
