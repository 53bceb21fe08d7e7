use gristmill::Shuffle;

use super::*;

#[test]
fn take_skip_shard_and_reverse_pick_what_they_say() {
    let ten = rows(10);
    assert_eq!(epoch(&ten.take(3), 0), [0, 1, 2]);
    assert_eq!(epoch(&ten.take(100), 1), (0..10).collect::<Vec<u64>>());
    assert_eq!(epoch(&ten.skip(7), 2), [7, 8, 9]);
    assert!(epoch(&ten.skip(u64::MAX), 0).is_empty());
    assert_eq!(epoch(&ten.shard(3, 0).unwrap(), 0), [0, 3, 6, 9]);
    assert_eq!(epoch(&ten.shard(20, 5).unwrap(), 0), [5]);
    assert!(epoch(&ten.shard(20, 15).unwrap(), 0).is_empty());
    assert_eq!(epoch(&ten.reverse().take(2), 0), [9, 8]);
    assert!(epoch(&rows(0).reverse(), 0).is_empty());
}

#[test]
fn shards_share_a_shuffle_out() {
    let shuffled = rows(101).shuffle(Shuffle::full(1));
    for count in [1, 2, 7, 200] {
        let shards = (0..count).map(|i| epoch(&shuffled.shard(count, i).unwrap(), 3));
        assert!(is_permutation(shards.flatten().collect(), 101));
    }
}

#[test]
fn a_shard_that_there_is_not_is_refused() {
    for (count, index) in [(0, 0), (3, 3), (3, 9)] {
        let error = rows(10).shard(count, index).unwrap_err().to_string();
        assert!(error.contains(&format!("shard({count}, {index})")), "{error}");
    }
}

#[test]
fn each_epoch_of_a_cut_shuffle_is_cut_from_its_own_epoch() {
    let shuffled = rows(50).shuffle(Shuffle::full(1));
    for k in 0..4 {
        assert_eq!(epoch(&shuffled.take(7), k), epoch(&shuffled, k)[..7]);
        assert_eq!(epoch(&shuffled.skip(7), k), epoch(&shuffled, k)[7..]);
    }
}
