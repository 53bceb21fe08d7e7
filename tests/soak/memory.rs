//! Rows larger than most memory, and more data than there is memory for.

use gristmill::{DType, Dataset, Error, Raw, Shuffle, Threads};

use crate::common::*;

/// Three rows of 1.5 GiB, of which a few bytes are on the disk: one at a time fits, two are an error before any is read.
#[test]
#[ignore = "1.5 GiB of memory: make soak"]
fn a_row_of_1_5_gibibytes_fits_alone_and_two_are_an_error() {
    // What a process holds of its own; maps of files are not counted.
    alone_after("ulimit -c 0; ulimit -d 2097152;", 300, || {
        const ROW: u64 = 3 << 29;
        let dir = Dir::roomy();
        let marks: Vec<(u64, &[u8])> =
            vec![(0, &[1]), (2 * ROW - 1, &[2]), (2 * ROW, &[3]), (3 * ROW - 1, &[4])];
        let raw = Raw::new(dir.sparse("rows.bin", 3 * ROW, &marks), DType::U8, &[ROW as usize]);
        let rows = Dataset::from_slices(raw).unwrap();
        for (order, threads) in
            [(rows.clone(), Threads::None), (rows.shuffle(Shuffle::full(2)), Threads::None)]
        {
            let places = order.order(0, 0, 3).unwrap();
            for (batch, row) in order.batch(1).threads(threads).iter().unwrap().zip(places) {
                let batch = batch.unwrap();
                let bytes = batch.arrays()[0].bytes();
                assert_eq!(
                    (bytes.len() as u64, bytes[0], bytes[bytes.len() - 1]),
                    [(ROW, 1, 0), (ROW, 0, 2), (ROW, 3, 4)][row as usize]
                );
            }
        }
        for threads in THREADS {
            let error = rows.batch(2).threads(threads).iter().unwrap().next().unwrap().unwrap_err();
            assert!(matches!(error, Error::Memory { .. }), "{error}");
            println!("measured: batch(2) of rows of 1.5 GiB: {error}");
        }
    });
}

/// Every order over a gibibyte that lies on the disk, in 64 MiB.
#[test]
#[ignore = "a gibibyte on the disk: make soak"]
fn a_written_gibibyte_is_shuffled_in_64_mebibytes() {
    let Some(group) = Group::new("memory", &[("memory.limit_in_bytes", 64 << 20)]) else { return };
    alone_after(&group.enter(), 600, || {
        let dir = Dir::roomy();
        let rows: u64 = (1 << 30) / 4096;
        let path = dir.path("x.bin");
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        for row in 0..rows {
            std::io::Write::write_all(&mut file, &row.to_ne_bytes().repeat(512)).unwrap();
        }
        file.into_inner().unwrap().sync_all().unwrap();
        let all = Dataset::from_slices(Raw::new(path, DType::U64, &[512])).unwrap();
        for how in [Shuffle::blocks(5), Shuffle::buffer(1000, 5), Shuffle::full(5)] {
            let start = std::time::Instant::now();
            let mut seen: Vec<u64> = Vec::new();
            for batch in all.shuffle(how).batch(256).prefetch(2).iter().unwrap() {
                let batch = batch.unwrap();
                let numbers = batch.column::<u64>("0").unwrap();
                assert!(numbers.chunks(512).all(|row| row.iter().all(|n| *n == row[0])), "a row is torn");
                seen.extend(numbers.chunks(512).map(|row| row[0]));
            }
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..rows));
            println!("measured: {how}: {rows} rows of 4 KiB in {:.1?}", start.elapsed());
        }
    });
}
