//! Iterators that are left by the thousand.

use crate::common::*;
use crate::rounds;
use crate::trials::drops::drops;

#[test]
#[ignore = "10,000 drops: make soak"]
fn left_ten_thousand_times_they_leave_nothing() {
    alone_after("", 600, || {
        drops(rounds(10_000));
        println!("measured: {} drops; threads, descriptors, files and maps as before", rounds(10_000));
    });
}
