//! The inputs that the fuzz targets keep under `fuzz/corpus`, and random ones.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::bodies;
use crate::common::*;

/// Checks what is kept for a target.
fn replay(target: &str, check: impl Fn(&Path, &[u8])) {
    let dir = tempfile::tempdir().unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut inputs: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(inputs.len() > 20, "{} inputs", inputs.len());
    for input in inputs {
        // Shown when the test fails.
        println!("{}", input.display());
        check(&dir.path().join("input"), &std::fs::read(input).unwrap());
    }
}

#[test]
fn kept_npy_files_are_data_or_an_error() {
    watchdog(|| {
        replay("npy", |path, input| {
            bodies::npy::check(path, input);
        })
    });
}

#[test]
fn kept_raw_files_are_the_rows_that_were_described_or_an_error() {
    watchdog(|| {
        replay("raw", |path, input| {
            bodies::raw::check(path, input);
        })
    });
}

#[test]
fn kept_states_are_gone_on_with_or_refused() {
    watchdog(|| {
        replay("state", |path, input| {
            bodies::state::check(path, input);
        })
    });
}

#[test]
fn kept_pipelines_are_their_models() {
    watchdog(|| replay("pipeline", |_, input| bodies::pipeline::check(input)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_pipelines_are_their_models(input in vec(any::<u8>(), 0..120)) {
        bodies::pipeline::check(&input);
    }

    #[test]
    fn random_descriptions_of_raw_files_give_the_rows_described_or_an_error(input in vec(any::<u8>(), 0..150)) {
        let dir = tempfile::tempdir().unwrap();
        bodies::raw::check(&dir.path().join("input"), &input);
    }
}
