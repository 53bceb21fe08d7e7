use gristmill::Shuffle;

use super::*;

#[test]
fn the_parts_share_all_rows_out_in_file_order() {
    for n in [0, 1, 2, 63, 64, 65, 127, 128, 129, 1000, 1797] {
        for ratio in [0.0, 0.001, 0.1, 0.33, 0.5, 0.9, 0.999, 1.0] {
            let (first, second) = rows(n).split(ratio, 7).unwrap();
            assert_eq!(first.len(), (n as f64 * ratio).round() as u64);
            let parts = [epoch(&first, 0), epoch(&second, 0)];
            assert!(parts.iter().all(|p| p.is_sorted()), "{n} {ratio}");
            assert!(is_permutation(parts.concat(), n), "{n} rows, ratio {ratio}: {parts:?}");
        }
    }
}

#[test]
fn the_parts_are_the_same_in_every_epoch_and_other_ones_for_another_seed() {
    let part = |seed, k| epoch(&rows(500).split(0.8, seed).unwrap().1, k);
    assert_eq!(part(1, 0), part(1, 5));
    assert_ne!(part(1, 0), part(2, 0));
}

#[test]
fn a_file_sorted_by_class_is_shared_out_class_by_class() {
    let (_, valid) = rows(10_000).split(0.9, 3).unwrap();
    let mut counts = [0; 10];
    epoch(&valid, 0).iter().for_each(|row| counts[(row / 1000) as usize] += 1);
    assert!(counts.iter().all(|n| (98..=102).contains(n)), "{counts:?}");
}

#[test]
fn every_row_is_as_likely_as_any_other_to_be_picked() {
    let n = 640;
    let mut counts = vec![0u32; n];
    for seed in 0..400 {
        let (_, valid) = rows(n as u64).split(0.75, seed).unwrap();
        epoch(&valid, 0).iter().for_each(|row| counts[*row as usize] += 1);
    }
    // 100 of 400 expected; the standard deviation is under 9.
    assert!(counts.iter().all(|c| (58..=142).contains(c)), "{counts:?}");
}

#[test]
fn what_is_shuffled_later_stays_in_its_part() {
    let (train, valid) = rows(1000).split(0.7, 1).unwrap();
    let (train, valid) = (train.shuffle(Shuffle::full(1)), valid.shuffle(Shuffle::blocks_of(8, 4, 1)));
    for k in 0..3 {
        assert!(is_permutation([epoch(&train, k), epoch(&valid, k)].concat(), 1000));
    }
    reads_the_same_in_any_way(&train);
    reads_the_same_in_any_way(&valid);
}

#[test]
fn a_ratio_that_is_none_is_refused() {
    for ratio in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(rows(10).split(ratio, 1).unwrap_err().to_string().contains("from 0 to 1"));
    }
}

#[test]
fn any_number_of_rows_can_be_split() {
    let n = (1 << 50) + 13;
    let (train, valid) = rows(n).split(0.9, 7).unwrap();
    assert_eq!(train.len() + valid.len(), n);
    let last = |part: &Dataset| part.order(0, part.len() - 100, 200).unwrap();
    let (a, b) = (last(&train), last(&valid));
    assert_eq!((a.len(), b.len()), (100, 100));
    assert_eq!(a[99].max(b[99]), n - 1);
    assert!(a.iter().all(|row| !b.contains(row)));
}
