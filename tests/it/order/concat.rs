use gristmill::Shuffle;

use super::*;

fn contents(dataset: &Dataset, k: u64) -> Vec<u64> {
    let batches = dataset.batch(7).epoch(k).unwrap();
    batches.flat_map(|b| b.unwrap().column::<u64>("0").unwrap().to_vec()).collect()
}

#[test]
fn one_comes_after_the_other_in_every_epoch() {
    let joined = rows(5).reverse().concat(&rows(3)).unwrap();
    assert_eq!(contents(&joined, 0), [4, 3, 2, 1, 0, 0, 1, 2]);
    assert_eq!(contents(&joined, 4), contents(&joined, 0));
    assert_eq!(contents(&rows(0).concat(&rows(2)).unwrap(), 0), [0, 1]);
}

#[test]
fn each_part_keeps_its_own_shuffle() {
    let (a, b) = (rows(20).shuffle(Shuffle::full(1)), rows(30).shuffle(Shuffle::buffer(5, 2)));
    let joined = a.concat(&b).unwrap();
    for k in 0..3 {
        assert_eq!(contents(&joined, k), [contents(&a, k), contents(&b, k)].concat());
    }
    reads_the_same_in_any_way(&joined);
}

#[test]
fn the_halves_of_one_source_share_it() {
    let (a, b) = rows(100).split(0.5, 1).unwrap();
    let joined = a.concat(&b).unwrap().shuffle(Shuffle::full(3));
    assert!(is_permutation(contents(&joined, 0), 100));
    assert!(is_permutation(epoch(&joined, 0), 100));
}

#[test]
fn different_columns_are_refused() {
    let other = Dataset::from_slices(vec![1f32]).unwrap();
    let refused = rows(5).concat(&other).unwrap_err().to_string();
    assert!(refused.contains("u64") && refused.contains("f32"), "{refused}");
}

#[test]
fn more_rows_than_can_be_numbered_are_refused() {
    let half = rows(u64::MAX / 2 + 1);
    assert!(half.concat(&half.clone()).is_err());
}
