//! Choosing between datasets.

use super::*;

#[test]
fn c54_choose_takes_rows_by_a_list_until_one_is_not_there() {
    // Three datasets that differ in their values; the first has two rows.
    let constant = |value: u8, n: usize| Dataset::from_slices(vec![value; n]).unwrap();
    let parts = |first| [constant(b'f', first), constant(b'b', 3), constant(b'z', 3)];
    let chosen = |first: usize, list: &[u32]| Dataset::choose(&parts(first), list);
    let text = |dataset: &Dataset| {
        let values: Vec<u8> = column(&dataset.batch(4), "0").concat();
        String::from_utf8(values).unwrap()
    };
    let list = [0, 0, 0, 1, 1, 1, 2, 2, 2];
    assert_eq!(text(&chosen(3, &list).unwrap()), "fffbbbzzz");
    assert_eq!(text(&chosen(2, &list).unwrap()), "ff");
    // Lengths are known before the run, so the rule "skip what is used up" is a shorter list.
    assert_eq!(text(&chosen(2, &[0, 0, 1, 1, 1, 2, 2, 2]).unwrap()), "ffbbbzzz");
    assert!(chosen(2, &[0, 3]).unwrap_err().to_string().contains("part numbers below 3, found 3 at place 1"));
    assert_eq!(text(&chosen(2, &[]).unwrap()), "");
}
