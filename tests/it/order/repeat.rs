use gristmill::Shuffle;

use super::*;

#[test]
fn a_repeated_shuffle_is_its_epochs_end_to_end() {
    let shuffled = rows(20).shuffle(Shuffle::full(1));
    let twice = shuffled.repeat(2);
    assert_eq!(epoch(&twice, 0), [epoch(&shuffled, 0), epoch(&shuffled, 1)].concat());
    assert_eq!(epoch(&twice, 3), [epoch(&shuffled, 6), epoch(&shuffled, 7)].concat());
    assert_eq!(epoch(&twice.repeat(3), 1), epoch(&shuffled.repeat(6), 1));
}

#[test]
fn no_times_and_no_rows_are_nothing() {
    assert!(epoch(&rows(5).repeat(0), 0).is_empty());
    assert!(epoch(&rows(0).repeat(5), 7).is_empty());
    assert_eq!(rows(0).repeat(u64::MAX).batch(3).iter().unwrap().count(), 0);
}

#[test]
fn practically_endless_is_fine() {
    let endless = rows(7).repeat(1 << 50);
    assert_eq!(endless.order(0, 7 * (1 << 49), 3).unwrap(), [0, 1, 2]);
}

#[test]
fn an_epoch_beyond_64_bits_is_refused() {
    let refused = rows(1 << 40).repeat(1 << 20).order(1 << 10, 0, 1).unwrap_err();
    assert!(refused.to_string().contains("an epoch below"), "{refused}");
}
