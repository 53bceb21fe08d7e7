use gristmill::Shuffle;

use super::*;

#[test]
fn every_epoch_is_another_permutation() {
    for n in [0, 1, 2, 15, 16, 17, 160, 1000, 1001, 100_003] {
        for (block, group) in [(1, 1), (1, 7), (1, 10_000), (16, 1), (16, 3), (16, 1000), (5000, 2)] {
            let shuffled = rows(n).shuffle(Shuffle::blocks_of(block, group, 3));
            for k in 0..3 {
                assert!(
                    is_permutation(epoch(&shuffled, k), n),
                    "{n} rows, {block} to a block, {group} to a group"
                );
            }
            let differs = epoch(&shuffled, 0) != epoch(&shuffled, 1);
            assert!(n < 100 || block > n || differs);
        }
    }
}

#[test]
fn a_group_holds_whole_blocks_and_no_others() {
    let (block, group) = (10, 4);
    let order = epoch(&rows(1000).shuffle(Shuffle::blocks_of(block, group, 9)), 1);
    for group_rows in order.chunks((block * group) as usize) {
        let mut blocks: Vec<u64> = group_rows.iter().map(|row| row / block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len() as u64, group);
    }
}

#[test]
fn the_short_last_block_moves_about() {
    // 10 blocks of 10 and one of 5, a block to a group: the short one stands at different places in different epochs.
    let shuffled = rows(105).shuffle(Shuffle::blocks_of(10, 1, 3));
    let place = |k| epoch(&shuffled, k).iter().position(|row| *row >= 100).unwrap();
    let places: std::collections::BTreeSet<usize> = (0..40).map(place).collect();
    assert!(places.len() > 6 && places.iter().all(|p| p % 10 == 0), "{places:?}");
}

#[test]
fn it_reads_the_same_in_any_way() {
    for (n, block, group) in [(1000, 10, 7), (1003, 10, 7), (100_003, 64, 2000)] {
        reads_the_same_in_any_way(&rows(n).shuffle(Shuffle::blocks_of(block, group, 5)));
    }
}

#[test]
fn on_a_class_sorted_file_batches_are_as_mixed_as_those_of_a_full_shuffle() {
    let n = 1_000_000;
    let distance = |shuffle: Shuffle| label_distance(&epoch(&rows(n).shuffle(shuffle), 0), 256);
    let full = distance(Shuffle::full(1));
    let blocks = distance(Shuffle::blocks_of(100, 1024, 1));
    let buffer = distance(Shuffle::buffer(100_000, 1));
    assert!(blocks < 2.0 * full, "blocks {blocks}, full {full}");
    assert!(buffer > 5.0 * full, "buffer {buffer}, full {full}");
}

#[test]
fn rows_beyond_32_bits_are_reached() {
    let n = (1 << 40) + 77;
    let shuffled = rows(n).shuffle(Shuffle::blocks_of(128, 1024, 5));
    let some = shuffled.order(2, n - 1000, 2000).unwrap();
    assert_eq!(some.len(), 1000);
    assert!(some.iter().all(|row| *row < n) && some.iter().any(|row| *row > n / 2));
}
