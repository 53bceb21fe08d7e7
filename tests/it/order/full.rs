use gristmill::Shuffle;

use super::*;

#[test]
fn every_epoch_is_another_permutation() {
    for n in [0, 1, 2, 17, 1000, 65_535, 65_536, 70_001] {
        let shuffled = rows(n).shuffle(Shuffle::full(3));
        let (first, second) = (epoch(&shuffled, 0), epoch(&shuffled, 1));
        assert!(n < 17 || first != second, "{n}");
        assert!(is_permutation(first, n) && is_permutation(second, n), "{n}");
    }
}

#[test]
fn the_same_seed_gives_the_same_order_and_another_seed_another() {
    let order = |seed| epoch(&rows(500).shuffle(Shuffle::full(seed)), 2);
    assert_eq!(order(0), order(0));
    assert_ne!(order(0), order(1));
}

#[test]
fn a_fixed_shuffle_has_one_order_for_all_epochs() {
    let fixed = rows(500).shuffle(Shuffle::full(1).fixed());
    assert_eq!(epoch(&fixed, 0), epoch(&fixed, 9));
    assert_eq!(epoch(&fixed, 0), epoch(&rows(500).shuffle(Shuffle::full(1)), 0));
}

#[test]
fn it_reads_the_same_in_any_way() {
    reads_the_same_in_any_way(&rows(1000).shuffle(Shuffle::full(5)));
    reads_the_same_in_any_way(&rows(100_000).shuffle(Shuffle::full(5)));
}

#[test]
fn rows_beyond_32_bits_are_reached() {
    let n = 1 << 40;
    let shuffled = rows(n).shuffle(Shuffle::full(5));
    let some = shuffled.order(3, n - 1000, 2000).unwrap();
    assert_eq!(some.len(), 1000);
    assert!(some.iter().all(|row| *row < n) && some.iter().any(|row| *row > n / 2));
}

#[test]
fn a_class_sorted_file_looks_shuffled_in_every_batch() {
    let order = epoch(&rows(100_000).shuffle(Shuffle::full(5)), 0);
    let distance = label_distance(&order, 256);
    // 0.076 for a random order of many rows.
    assert!((0.06..0.09).contains(&distance), "{distance}");
}

#[test]
fn a_shuffle_of_a_repeated_shuffle_keeps_every_row_twice() {
    let twice = rows(300).shuffle(Shuffle::full(1)).repeat(2).shuffle(Shuffle::full(2));
    let mut seen = epoch(&twice, 0);
    seen.sort_unstable();
    assert_eq!(seen, (0..600).map(|i| i / 2).collect::<Vec<u64>>());
}
