//! Each case against its limit: a hand-written loop, with no pipeline, that does the same work in the same process.
//!
//! `cargo bench --bench throughput [-- --case NAME] [--small] [--json FILE] [--rounds N]`
//!
//! The two alternate for several rounds and the medians are compared, since machines are noisy. Data files are made once under
//! `target/bench`. Nothing here is a test.
#![allow(missing_docs, missing_debug_implementations, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, unsafe_code)]

mod cases;
mod cold;
mod files;
mod heap;
mod limit;

use std::time::Instant;

/// What a case measured.
pub struct Outcome {
    pub value: f64,
    pub unit: &'static str,
    pub limit: Option<f64>,
    /// Rows a second, where rows are what the case is about.
    pub rows: Option<f64>,
    /// The ratio or distance that is to be reached, in words.
    pub bar: &'static str,
}

impl Outcome {
    /// A case that this machine cannot run.
    pub fn skipped(why: String) -> Outcome {
        println!("  skipped: {why}");
        Outcome { value: f64::NAN, unit: "-", limit: None, rows: None, bar: "-" }
    }
}

/// Seconds that `work` takes.
pub fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Medians of both, run in turn `rounds` times after one round of warming up, in which the heap of the first is counted.
pub fn alternate(rounds: usize, mut a: impl FnMut() -> f64, mut b: impl FnMut() -> f64) -> (f64, f64) {
    a();
    heap::stop();
    b();
    let (mut left, mut right): (Vec<f64>, Vec<f64>) = (0..rounds).map(|_| (a(), b())).unzip();
    (median(&mut left), median(&mut right))
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

pub struct Options {
    pub small: bool,
    pub rounds: usize,
    case: Option<String>,
    /// A pass of a cold case, and the cgroup to make it in.
    cold: Option<[String; 2]>,
    json: Option<String>,
}

fn options() -> Options {
    let mut options = Options { small: false, rounds: 7, case: None, cold: None, json: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        match flag.as_str() {
            "--small" => options.small = true,
            // What `cargo bench` itself passes on.
            "--bench" => {}
            "--cold" => {
                options.cold = Some(std::array::from_fn(|_| arguments.next().expect("a pass and a group")))
            }
            _ => {
                let value = arguments.next().unwrap_or_else(|| panic!("{flag} takes a value"));
                match flag.as_str() {
                    "--case" => options.case = Some(value),
                    "--json" => options.json = Some(value),
                    "--rounds" => options.rounds = value.parse().expect("--rounds takes a number"),
                    _ => panic!("unknown option {flag}"),
                }
            }
        }
    }
    options
}

fn main() {
    let options = options();
    if let Some([pass, group]) = &options.cold {
        return cold::child(pass, group, &options);
    }
    println!(
        "{:<13} {:>10} {:>10} {:>7}  {:<9} {:>9} {:>10}  to reach",
        "case", "gristmill", "limit", "ratio", "unit", "Mrows/s", "heap peak"
    );
    let mut json = Vec::new();
    for (name, run) in cases::ALL {
        if options.case.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        heap::reset();
        let outcome = run(&options);
        let ratio = outcome.limit.map(|limit| outcome.value / limit);
        let number = |value: Option<f64>, digits| value.map_or("-".into(), |v: f64| format!("{v:.digits$}"));
        println!(
            "{name:<13} {:>10} {:>10} {:>7}  {:<9} {:>9} {:>10}  {}",
            number(Some(outcome.value), 3),
            number(outcome.limit, 3),
            number(ratio, 3),
            outcome.unit,
            number(outcome.rows.map(|rows| rows / 1e6), 2),
            format!("{:.2} MiB", heap::peak() as f64 / 1048576.0),
            outcome.bar,
        );
        json.push(serde_json::json!({
            "case": name, "value": outcome.value, "unit": outcome.unit, "limit": outcome.limit, "ratio": ratio,
        }));
    }
    if let Some(path) = options.json {
        std::fs::write(&path, serde_json::to_string_pretty(&json).unwrap() + "\n").unwrap();
    }
}
