use gristmill::Shuffle;

use super::*;

#[test]
fn a_list_gives_its_rows_in_its_order() {
    assert_eq!(epoch(&rows(10).select([7, 1, 1, 9]).unwrap(), 3), [7, 1, 1, 9]);
    assert!(epoch(&rows(10).select([]).unwrap(), 0).is_empty());
}

#[test]
fn places_of_a_shuffle_are_other_rows_in_each_epoch() {
    let shuffled = rows(50).shuffle(Shuffle::full(1));
    let chosen = shuffled.select([3, 4]).unwrap();
    for k in 0..3 {
        assert_eq!(epoch(&chosen, k), epoch(&shuffled, k)[3..5]);
    }
}

#[test]
fn a_row_beyond_the_end_is_refused() {
    let refused = rows(10).select([3, 10]).unwrap_err().to_string();
    assert!(refused.contains("row 10") && refused.contains("10 rows"), "{refused}");
}
