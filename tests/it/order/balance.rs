use std::collections::BTreeMap;

use gristmill::{Balance, Shuffle};
use proptest::prelude::*;

use super::*;
use crate::common::{alone, brittle, everywhere, lets_go, reopens};

/// Rows numbered from 0, with these labels.
fn labelled(labels: &[i64]) -> Dataset {
    let ids: Vec<u64> = (0..labels.len() as u64).collect();
    Dataset::from_slices((("id", ids), ("y", labels.to_vec()))).unwrap()
}

/// Class `c` of `sizes` that many times, mixed.
fn sized(sizes: &[usize]) -> Vec<i64> {
    let sorted: Vec<i64> = sizes.iter().enumerate().flat_map(|(c, n)| vec![c as i64 * 10; *n]).collect();
    if sorted.is_empty() {
        return sorted;
    }
    epoch(&rows(sorted.len() as u64).shuffle(Shuffle::full(9)), 0)
        .iter()
        .map(|i| sorted[*i as usize])
        .collect()
}

fn counts(items: impl IntoIterator<Item = u64>) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    items.into_iter().for_each(|item| *counts.entry(item).or_default() += 1);
    counts
}

/// Checks one epoch against what is promised.
fn check(labels: &[i64], how: Balance, under: bool, k: u64) {
    let order = epoch(&labelled(labels).balance("y", how).unwrap(), k);
    let classes = counts(labels.iter().map(|y| *y as u64));
    let each = if under { classes.values().min() } else { classes.values().max() }.copied().unwrap_or(0);
    assert_eq!(order.len(), each * classes.len(), "{how}");
    for round in order.chunks(classes.len().max(1)) {
        assert_eq!(
            counts(round.iter().map(|row| labels[*row as usize] as u64)).len(),
            classes.len(),
            "{how}"
        );
    }
    // Every row of a class as often as the others of it, to within one.
    let seen = counts(order.iter().copied());
    for (row, label) in labels.iter().enumerate() {
        let (times, size) = (seen.get(&(row as u64)).copied().unwrap_or(0), classes[&(*label as u64)]);
        assert!((each / size..=each.div_ceil(size)).contains(&times), "{how}: row {row} {times} times");
    }
    let balanced = labelled(labels).balance("y", how).unwrap();
    assert_eq!(epoch(&balanced, k), order);
    reads_the_same_in_any_way(&balanced);
}

#[test]
fn every_class_comes_equally_often() {
    for sizes in [vec![5, 5], vec![90, 9, 1], vec![1, 2, 3, 4, 5, 6], vec![40], vec![700, 300]] {
        for k in 0..3 {
            check(&sized(&sizes), Balance::over(7), false, k);
            check(&sized(&sizes), Balance::under(7), true, k);
        }
    }
}

#[test]
fn epochs_differ_and_are_fixed_by_the_seed() {
    let rows = labelled(&sized(&[100, 20]));
    for how in [Balance::over, Balance::under] {
        let balanced = rows.balance("y", how(1)).unwrap();
        assert_ne!(epoch(&balanced, 0), epoch(&balanced, 1));
        assert_ne!(epoch(&balanced, 0), epoch(&rows.balance("y", how(2)).unwrap(), 0));
    }
    let mut shown: Vec<u64> =
        (0..40).flat_map(|k| epoch(&rows.balance("y", Balance::under(1)).unwrap(), k)).collect();
    shown.sort();
    shown.dedup();
    assert_eq!(shown.len(), 120, "frequent classes show other rows in each epoch");
}

#[test]
fn of_nothing_comes_nothing() {
    for how in [Balance::over(1), Balance::under(1)] {
        assert!(epoch(&labelled(&[]).balance("y", how).unwrap(), 0).is_empty());
        assert_eq!(everywhere(&labelled(&[]).balance("y", how).unwrap().batch(3)), []);
    }
}

#[test]
fn one_row_and_one_class() {
    assert_eq!(epoch(&labelled(&[5]).balance("y", Balance::over(1)).unwrap(), 2), [0]);
    assert!(is_permutation(epoch(&labelled(&[5; 40]).balance("y", Balance::under(1)).unwrap(), 2), 40));
    assert!(is_permutation(epoch(&rows(500).balance("0", Balance::over(1)).unwrap(), 1), 500));
}

#[test]
fn any_type_of_label_will_do() {
    let text = vec![*b"cat", *b"dog", *b"cat", *b"cow", *b"cat"];
    let rows = Dataset::from_slices((("y", ndarray::arr2(&text)),)).unwrap();
    assert_eq!(rows.balance("y", Balance::over(1)).unwrap().len(), 9);
    assert_eq!(
        format!("{:?}", rows.balance("y", Balance::under(1)).unwrap()),
        "from_slices(\"y\": [u8[3]; 5]).balance(\"y\", under(1))"
    );
}

#[test]
fn draws_are_pinned() {
    let rows = labelled(&sized(&[30, 5, 9]));
    // Both draw alike: the rarest class is used up after 15 rows, where one of them ends.
    assert_eq!(rows.balance("y", Balance::over(42)).unwrap().order(1, 12, 8).unwrap(), PINNED);
    assert_eq!(rows.balance("y", Balance::under(42)).unwrap().order(1, 12, 8).unwrap(), PINNED[..3]);
}

const PINNED: [u64; 8] = [22, 43, 38, 17, 0, 16, 42, 28];

#[test]
fn an_upstream_error_comes_out_and_keeps_its_batch() {
    for fatal in [false, true] {
        let refused = brittle(50_000, 33_333, fatal).balance("0", Balance::over(1)).unwrap_err().to_string();
        assert!(refused.contains("33333"), "{refused}");
    }
    assert!(rows(5).balance("z", Balance::over(1)).unwrap_err().to_string().contains("\"z\""));
    let refused = rows(5).shuffle(Shuffle::full(1)).balance("0", Balance::over(1)).unwrap_err().to_string();
    assert!(refused.contains("balance first, shuffle after"), "{refused}");
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    let balanced = || labelled(&sized(&[900, 100])).balance("y", Balance::over(1)).unwrap();
    alone(move || lets_go(&balanced().batch(3).workers(2), 3));
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&labelled(&sized(&[20, 7])).balance("y", Balance::over(1)).unwrap().batch(4));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_classes_are_balanced(sizes in prop::collection::vec(1..60usize, 1..7), seed in 0..9u64, k in 0..3u64) {
        check(&sized(&sizes), Balance::over(seed), false, k);
        check(&sized(&sizes), Balance::under(seed), true, k);
    }
}
