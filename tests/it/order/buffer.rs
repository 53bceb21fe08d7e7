use gristmill::{RandomStream, Shuffle};

use super::*;

/// The buffer shuffle as its definition says it, with rows.
fn model(n: u64, buffer: usize, seed: u64, k: u64) -> Vec<u64> {
    let mut random = RandomStream::new(seed, "buffer", k, 0);
    let mut input = 0..n;
    let mut held: Vec<u64> = input.by_ref().take(buffer).collect();
    let mut out = Vec::new();
    while !held.is_empty() {
        let pick = random.below(held.len() as u64) as usize;
        out.push(match input.next() {
            Some(row) => std::mem::replace(&mut held[pick], row),
            None => held.swap_remove(pick),
        });
    }
    out
}

#[test]
fn it_is_the_buffer_shuffle_of_the_book() {
    for (n, buffer) in [(0, 3), (1, 1), (5, 1), (5, 2), (5, 5), (5, 10), (1000, 64)] {
        let shuffled = rows(n).shuffle(Shuffle::buffer(buffer, 7));
        for k in 0..3 {
            let seen = epoch(&shuffled, k);
            assert_eq!(seen, model(n, buffer as usize, 7, k));
            assert!(is_permutation(seen, n));
        }
    }
}

#[test]
fn a_row_never_comes_more_than_a_buffer_early() {
    let order = epoch(&rows(1000).shuffle(Shuffle::buffer(50, 3)), 0);
    assert!(order.iter().enumerate().all(|(place, row)| *row < place as u64 + 50));
}

#[test]
fn it_reads_the_same_in_any_way() {
    reads_the_same_in_any_way(&rows(1000).shuffle(Shuffle::buffer(64, 5)));
}

#[test]
fn orders_on_top_of_it_see_one_and_the_same_shuffle() {
    let shuffled = rows(100).shuffle(Shuffle::buffer(20, 5));
    let shards: Vec<Vec<u64>> = (0..3).map(|i| epoch(&shuffled.shard(3, i).unwrap(), 1)).collect();
    let whole = epoch(&shuffled, 1);
    for (place, row) in whole.iter().enumerate() {
        assert_eq!(shards[place % 3][place / 3], *row);
    }
    let reversed: Vec<u64> = whole.iter().rev().copied().collect();
    assert_eq!(epoch(&shuffled.reverse(), 1), reversed);
}

#[test]
fn a_small_buffer_over_many_rows_is_warned_about() {
    let warnings = |buffer| rows(1000).shuffle(Shuffle::buffer(buffer, 1)).batch(10).plan().unwrap().warnings;
    assert!(warnings(10)[0].contains("Shuffle::blocks(1)"), "{:?}", warnings(10));
    assert!(warnings(1000).is_empty());
}

#[test]
fn a_buffer_larger_than_memory_is_clipped_to_the_rows() {
    let shuffled = rows(10).shuffle(Shuffle::buffer(u64::MAX, 1));
    assert!(is_permutation(epoch(&shuffled, 0), 10));
    let refused = rows(u64::MAX / 2).shuffle(Shuffle::buffer(u64::MAX / 2, 1)).order(0, 0, 1).unwrap_err();
    assert!(refused.to_string().contains("the shuffle buffer needs"), "{refused}");
}
