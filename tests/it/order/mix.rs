use gristmill::Shuffle;
use proptest::prelude::*;

use super::*;
use crate::common::{alone, brittle, everywhere, lets_go, reopens};

/// Parts whose rows can be told apart: part `i` holds the numbers from `1000 * i` on.
fn parts(lens: &[u64]) -> Vec<Dataset> {
    let part = |(i, len): (usize, &u64)| rows(1000 * i as u64 + len).skip(1000 * i as u64);
    lens.iter().enumerate().map(part).collect()
}

fn mix(parts: &[Dataset], weights: &[u64]) -> Dataset {
    Dataset::mix(parts.iter().zip(weights.iter().copied())).unwrap()
}

fn contents(dataset: &Dataset, k: u64) -> Vec<u64> {
    let batches = dataset.batch(7).epoch(k).unwrap();
    batches.flat_map(|b| b.unwrap().column::<u64>("0").unwrap().to_vec()).collect()
}

/// Rows that come in turn by part numbers, until a part has no more.
fn model(turns: impl IntoIterator<Item = usize>, mut parts: Vec<Vec<u64>>) -> Vec<u64> {
    parts.iter_mut().for_each(|part| part.reverse());
    turns.into_iter().map_while(|part| parts[part].pop()).collect()
}

#[test]
fn rows_come_in_turn_by_weight() {
    let mixed = mix(&parts(&[6, 3]), &[2, 1]);
    assert_eq!(contents(&mixed, 0), [0, 1000, 1, 2, 1001, 3, 4, 1002, 5]);
    assert_eq!(mixed.len(), 9);
    assert_eq!(contents(&mixed, 3), contents(&mixed, 0));
    assert_eq!(
        contents(&mix(&parts(&[6, 3]), &[2_000_000_000_000, 1_000_000_000_000]), 0),
        contents(&mixed, 0)
    );
    let text = "mix([(range(2), 2), (range(5), 1)])";
    assert_eq!(format!("{:?}", mix(&[rows(2), rows(5)], &[2, 1])), text);
}

#[test]
fn of_nothing_comes_nothing() {
    assert!(contents(&mix(&parts(&[0, 0]), &[1, 1]), 0).is_empty());
    assert!(contents(&Dataset::choose(&parts(&[5]), []).unwrap(), 0).is_empty());
    assert_eq!(everywhere(&mix(&parts(&[0, 3]), &[5, 1]).batch(4)), []);
}

#[test]
fn an_epoch_ends_before_the_first_row_that_is_not_there() {
    assert_eq!(contents(&mix(&parts(&[1, 9]), &[1, 1]), 0), [0, 1000]);
    assert_eq!(contents(&mix(&parts(&[9, 1]), &[1, 1]), 0), [0, 1000, 1]);
    assert_eq!(contents(&mix(&parts(&[4]), &[7]), 0), [0, 1, 2, 3]);
    // A part of weight 0 ends nothing.
    assert_eq!(contents(&mix(&parts(&[2, 0, 3]), &[1, 0, 1]), 0), [0, 2000, 1, 2001]);
    assert_eq!(
        contents(&Dataset::choose(&parts(&[2, 9]), [1, 0, 0, 1, 0, 1]).unwrap(), 0),
        [1000, 0, 1, 1001]
    );
}

#[test]
fn shares_are_exact_to_within_a_row() {
    let all =
        [vec![1, 1], vec![3, 1], vec![50, 7], vec![1, 2, 3], vec![5, 1, 1, 1], vec![90, 5, 3, 2], vec![7; 9]];
    for weights in all {
        let (sum, parts) = (weights.iter().sum::<u64>(), parts(&vec![999; weights.len()]));
        let seen = contents(&mix(&parts, &weights), 0);
        for (part, weight) in weights.iter().enumerate() {
            let share = *weight as f64 / sum as f64;
            // How far ahead of its share the part is after each row.
            let mut ahead = vec![0.0];
            for (n, row) in seen.iter().enumerate() {
                let mine = if *row / 1000 == part as u64 { 1.0 } else { 0.0 };
                ahead.push(ahead[n] + mine - share);
            }
            let (least, most) = ahead.iter().fold((0f64, 0f64), |(a, b), x| (a.min(*x), b.max(*x)));
            assert!(most < 1.0 && least > -1.0, "{weights:?}: {least} to {most}");
            let window = if weights.len() == 2 { 1.0 } else { 2.0 };
            assert!(most - least <= window + 1e-9, "{weights:?}: {least} to {most}");
        }
    }
}

#[test]
fn a_part_s_own_shuffle_goes_on() {
    let both = [rows(30).shuffle(Shuffle::full(1)), rows(40).shuffle(Shuffle::buffer(5, 2))];
    let mixed = mix(&both, &[1, 1]);
    for k in 0..3 {
        let seen = contents(&mixed, k);
        let of = |part: usize| seen.iter().skip(part).step_by(2).copied().collect::<Vec<_>>();
        assert_eq!(of(0), epoch(&both[0], k));
        assert_eq!(of(1), epoch(&both[1], k)[..30]);
    }
    reads_the_same_in_any_way(&mixed);
    let shuffled = mixed.shuffle(Shuffle::full(3));
    assert_ne!(contents(&shuffled, 0), contents(&shuffled, 1));
}

#[test]
fn parts_of_one_source_share_it() {
    let (a, b) = rows(100).split(0.5, 1).unwrap();
    assert!(is_permutation(epoch(&mix(&[a, b], &[1, 1]), 0), 100));
}

#[test]
fn billions_of_rows_cost_nothing() {
    let mixed = mix(&[rows(4_000_000_000_000), rows(2_000_000_000_000)], &[2, 1]);
    assert_eq!(mixed.len(), 6_000_000_000_000);
    let offset = 4_000_000_000_000;
    let last = [3_999_999_999_998, offset + 1_999_999_999_999, 3_999_999_999_999];
    assert_eq!(mixed.order(0, mixed.len() - 3, 9).unwrap(), last);
}

#[test]
fn what_cannot_be_mixed_is_refused() {
    let refused = |weights: &[u64]| {
        Dataset::mix(parts(&[3, 3]).iter().zip(weights.iter().copied())).unwrap_err().to_string()
    };
    assert!(refused(&[0, 0]).contains("a weight above 0"), "{}", refused(&[0, 0]));
    assert!(refused(&[]).contains("at least one part"), "{}", refused(&[]));
    assert!(refused(&[u64::MAX, 1]).contains("in lowest terms"), "{}", refused(&[u64::MAX, 1]));
    let other = Dataset::from_slices(vec![1f32]).unwrap();
    assert!(Dataset::mix([(&rows(3), 1), (&other, 1)]).is_err());
    let none = Dataset::choose(&parts(&[3, 3]), [0, 2, 1]).unwrap_err().to_string();
    assert!(none.contains("below 2") && none.contains("2 at place 1"), "{none}");
    let long = rows(u64::MAX / 2);
    assert!(Dataset::mix([(&long, 1), (&long, 1), (&long, 1)]).is_err());
}

#[test]
fn rows_that_never_come_are_warned_about() {
    let warnings = |parts: &[Dataset]| mix(parts, &[1, 1]).batch(2).plan().unwrap().warnings;
    let short = warnings(&[rows(10), rows(100)]);
    assert!(
        short[0].contains("ends with part 0") && short[0].contains("10 of the 100 rows of part 1"),
        "{short:?}"
    );
    assert!(warnings(&[rows(10), rows(100).shuffle(Shuffle::full(1))]).is_empty());
    assert!(warnings(&[rows(10).repeat(10), rows(100)]).is_empty());
}

#[test]
fn an_error_of_a_part_keeps_its_batch() {
    let mixed = mix(&[brittle(20, 7, false), rows(20)], &[1, 1]);
    let good: Vec<bool> = everywhere(&mixed.batch(10)).iter().map(Result::is_ok).collect();
    assert_eq!(good, [true, false, true, true]);
    let mixed = mix(&[brittle(20, 7, true), rows(20)], &[1, 1]);
    let seen = everywhere(&mixed.batch(10));
    assert_eq!(seen.len(), 2);
    assert!(seen[1].as_ref().unwrap_err().starts_with("brittle"), "{seen:?}");
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| lets_go(&mix(&parts(&[900, 900]), &[2, 1]).batch(3).workers(2), 3));
}

#[test]
fn reopened_it_gives_the_same() {
    let shuffled = [rows(9).shuffle(Shuffle::full(1)), rows(20).shuffle(Shuffle::full(2))];
    reopens(&mix(&shuffled, &[2, 3]).batch(4));
    reopens(&Dataset::choose(&shuffled, [0, 1, 1, 0, 1]).unwrap().batch(2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_mix_is_its_model(all in prop::collection::vec((0..40u64, 0..7u64), 1..5), k in 0..3u64) {
        let (lens, weights): (Vec<u64>, Vec<u64>) = all.into_iter().unzip();
        prop_assume!(weights.iter().any(|w| *w > 0));
        // Whose turn it is, seen on parts that are long enough.
        let mut long = parts(&vec![900; lens.len()]);
        let turns = contents(&mix(&long, &weights), 0).into_iter().map(|row| (row / 1000) as usize);
        let turns: Vec<usize> = turns.collect();
        long = parts(&lens).iter().map(|part| part.shuffle(Shuffle::full(5))).collect();
        let expected = model(turns.iter().copied(), long.iter().map(|part| contents(part, k)).collect());
        let mixed = mix(&long, &weights);
        prop_assert_eq!(mixed.len(), expected.len() as u64);
        prop_assert_eq!(contents(&mixed, k), expected);
        let list: Vec<u32> = turns.iter().map(|part| *part as u32).collect();
        prop_assert_eq!(contents(&Dataset::choose(&long, list).unwrap(), k), contents(&mixed, k));
    }
}
