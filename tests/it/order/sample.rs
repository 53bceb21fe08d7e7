use gristmill::{RandomStream, Shuffle};
use proptest::prelude::*;

use super::*;
use crate::common::{alone, brittle, everywhere, lets_go, reopens};

fn weighted(weights: &[f64], drawn: u64, seed: u64) -> Dataset {
    rows(weights.len() as u64).sample_weighted(drawn, weights, seed).unwrap()
}

fn counts(order: &[u64], n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n];
    order.iter().for_each(|row| counts[*row as usize] += 1.0);
    counts
}

#[test]
fn rows_are_drawn_with_equal_chance() {
    let drawn = rows(10).sample(100_000, 7).unwrap();
    for k in 0..2 {
        let counts = counts(&epoch(&drawn, k), 10);
        assert!(counts.iter().all(|n| (9_600.0..10_400.0).contains(n)), "{counts:?}");
    }
    assert_ne!(epoch(&drawn, 0), epoch(&drawn, 1));
    assert_ne!(epoch(&drawn, 0), epoch(&rows(10).sample(100_000, 8).unwrap(), 0));
    reads_the_same_in_any_way(&rows(100).sample(777, 3).unwrap());
}

#[test]
fn rows_are_drawn_by_weight() {
    let weights = [1.0, 0.0, 5.0, 0.5, 0.0, 3.5, 0.0];
    let counts = counts(&epoch(&weighted(&weights, 100_000, 7), 0), 7);
    for (count, weight) in counts.iter().zip(weights) {
        assert!((count - weight * 10_000.0).abs() < 500.0, "{counts:?}");
        assert_eq!(*count == 0.0, weight == 0.0, "{counts:?}");
    }
    reads_the_same_in_any_way(&weighted(&weights, 777, 3));
}

#[test]
fn of_nothing_comes_nothing() {
    assert!(epoch(&rows(0).sample(0, 1).unwrap(), 0).is_empty());
    assert!(epoch(&weighted(&[], 0, 1), 0).is_empty());
    assert_eq!(everywhere(&rows(5).sample(0, 1).unwrap().batch(3)), []);
    assert!(rows(0).sample(1, 1).unwrap_err().to_string().contains("with rows"));
    assert!(rows(0).sample_weighted(1, [], 1).is_err());
}

#[test]
fn one_row_and_many() {
    assert_eq!(epoch(&rows(1).sample(3, 1).unwrap(), 0), [0, 0, 0]);
    for n in [1, 31, 32, 33, 64] {
        assert_eq!(
            epoch(&rows(9).sample(n, 1).unwrap(), 0),
            epoch(&rows(9).sample(100, 1).unwrap(), 0)[..n as usize]
        );
    }
    let far = rows(10_000_000_000).sample(10_000_000_000, 1).unwrap();
    assert_eq!(far.order(3, 9_999_999_990, 99).unwrap().len(), 10);
    assert!(far.order(0, 0, 1000).unwrap().iter().any(|row| *row > u64::from(u32::MAX)));
    assert_eq!(epoch(&weighted(&[0.0, 1e-300, 0.0], 9, 1), 0), [1; 9]);
    assert_eq!(
        counts(&epoch(&weighted(&[1e300, 1e300], 1000, 1), 0), 2).iter().filter(|n| **n > 400.0).count(),
        2
    );
}

#[test]
fn weights_that_say_nothing_are_refused() {
    let refused = |weights: &[f64]| rows(2).sample_weighted(5, weights, 1).unwrap_err().to_string();
    assert!(refused(&[1.0]).contains("each of 2 rows, found 1 weights"), "{}", refused(&[1.0]));
    assert!(
        refused(&[1.0, -0.5]).contains("-0.5 for row 1")
            && refused(&[f64::NAN, 1.0]).contains("NaN for row 0")
    );
    assert!(refused(&[f64::INFINITY, 1.0]).contains("inf for row 0"));
    assert!(refused(&[0.0, 0.0]).contains("above 0") && refused(&[f64::MAX, f64::MAX]).contains("finite"));
}

#[test]
fn a_shuffle_below_goes_on_but_takes_no_weights() {
    let shuffled = rows(50).shuffle(Shuffle::full(1));
    let drawn = shuffled.sample(20, 2).unwrap();
    for k in 0..3 {
        let (places, order) = (epoch(&rows(50).sample(20, 2).unwrap(), k), epoch(&shuffled, k));
        assert_eq!(epoch(&drawn, k), places.iter().map(|p| order[*p as usize]).collect::<Vec<_>>());
    }
    let refused = shuffled.sample_weighted(5, vec![1.0; 50], 1).unwrap_err().to_string();
    assert!(refused.contains("sample_weighted first, shuffle after"), "{refused}");
    let fixed = rows(50).shuffle(Shuffle::full(1).fixed());
    assert!(fixed.sample_weighted(5, vec![1.0; 50], 1).is_ok());
    assert!(drawn.sample_weighted(5, vec![1.0; 20], 1).is_err());
}

#[test]
fn draws_are_pinned() {
    assert_eq!(rows(1000).sample(6, 42).unwrap().order(1, 0, 6).unwrap(), PINNED[0]);
    let weights: Vec<f64> = (0..1000).map(f64::from).collect();
    assert_eq!(weighted(&weights, 6, 42).order(1, 0, 6).unwrap(), PINNED[1]);
}

const PINNED: [[u64; 6]; 2] = [[985, 181, 435, 996, 284, 621], [976, 970, 759, 527, 669, 715]];

#[test]
fn an_error_of_the_source_keeps_its_batch() {
    let drawn = brittle(10, 3, false).sample(40, 1).unwrap();
    let good: Vec<bool> = everywhere(&drawn.batch(4)).iter().map(Result::is_ok).collect();
    let expected: Vec<bool> = epoch(&drawn, 0).chunks(4).map(|rows| !rows.contains(&3)).collect();
    assert_eq!(good, expected);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| lets_go(&rows(10).sample(10_000, 1).unwrap().batch(3).workers(2), 3));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&rows(10).sample(50, 1).unwrap().batch(4));
    reopens(&weighted(&[1.0, 2.0, 3.0], 50, 1).batch(4));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn draws_are_those_of_the_book(weights in prop::collection::vec(0..4u32, 1..20), drawn in 0..100u64, k in 0..4u64) {
        let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        let n = weights.len() as u64;
        let mut plain = Vec::new();
        let mut heavy = Vec::new();
        let total: f64 = weights.iter().sum();
        prop_assume!(total > 0.0);
        for chunk in 0..drawn.div_ceil(32) {
            let mut random = RandomStream::new(9, "sample", k, chunk);
            plain.extend((0..32).map(|_| random.below(n)));
            let mut random = RandomStream::new(9, "sample_weighted", k, chunk);
            heavy.extend((0..32).map(|_| {
                let mut left = random.uniform() * total;
                weights.iter().position(|w| { left -= w; left < 0.0 }).unwrap() as u64
            }));
        }
        prop_assert_eq!(&epoch(&rows(n).sample(drawn, 9).unwrap(), k), &plain[..drawn as usize]);
        prop_assert_eq!(&epoch(&weighted(&weights, drawn, 9), k), &heavy[..drawn as usize]);
    }
}
