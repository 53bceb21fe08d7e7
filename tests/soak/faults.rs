//! Files that are cut by the hundred.

use crate::common::*;
use crate::rounds;
use crate::trials::cuts::cuts;

#[test]
#[ignore = "300 files cut: make soak"]
fn files_cut_under_a_saturated_gather_are_errors_and_no_wrong_rows() {
    alone_after("", 300, || {
        cuts(rounds(300));
        println!("measured: {} files cut: one error each, no wrong row", rounds(300));
    });
}
