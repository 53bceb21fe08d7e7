//! Files that are cut short while rows are gathered from them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use gristmill::{Batch, Dataset, Error, Npy, RandomStream, Shuffle};

use crate::common::*;

pub(crate) const ROWS: u64 = 20_000;
/// Rows of 512 bytes, each of them its number, and never a zero.
pub(crate) const WIDTH: usize = 128;

pub(crate) fn table(dir: &Dir, name: &str) -> PathBuf {
    let payload: Vec<u8> = (1..=ROWS as u32).flat_map(|row| row.to_le_bytes().repeat(WIDTH)).collect();
    dir.put(name, &npy("'<u4'", false, &format!("({ROWS}, {WIDTH})"), &payload))
}

pub(crate) fn open(path: &Path) -> Dataset {
    Dataset::from_slices((("x", Npy::open(path).unwrap()),)).unwrap()
}

pub(crate) fn cut(path: &Path, bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// Whether every row of the batch is one of the file's.
pub(crate) fn whole(batch: &Batch) -> bool {
    let rows = batch.column::<u32>("x").unwrap();
    rows.chunks(WIDTH).all(|row| row[0] != 0 && row.iter().all(|value| *value == row[0]))
}

/// Cuts a file under a saturated gather `rounds` times: no wrong row, and one error that names the file. To be called
/// [`alone`](crate::common::alone).
pub(crate) fn cuts(rounds: u64) {
    let dir = Dir::new();
    let other = open(&table(&dir, "other.npy")).shuffle(Shuffle::full(9)).batch(100).repeat(1000);
    let mut other = other.iter().unwrap();
    let mut random = RandomStream::new(1, "cuts", 0, 0);
    for round in 0..rounds {
        let path = table(&dir, "x.npy");
        let rows = open(&path);
        let rows = if round % 2 == 0 { rows.shuffle(Shuffle::full(round)) } else { rows };
        let stream = rows.batch(64).repeat(1000).workers(1 + round as usize % 3).prefetch(8);
        let mut iter = stream.iter().unwrap();
        let before = random.below(300);
        assert!(iter.by_ref().take(before as usize).all(|batch| whole(&batch.unwrap())), "round {round}");
        // To nothing, to whole pages, into a page, by one byte.
        let length = fs::metadata(&path).unwrap().len();
        let rest = random.below(length);
        cut(&path, [0, rest / 4096 * 4096, rest, length - 1][round as usize % 4]);
        let mut left = 0;
        let error = loop {
            match iter.next().expect("a file that is lost is not the end of the data") {
                Ok(batch) => assert!(whole(&batch), "round {round}"),
                Err(error) => break error,
            }
            left += 1;
            assert!(left < 100, "round {round}: the loss goes unnoticed");
        };
        let text = error.to_string();
        assert!(matches!(error, Error::Changed { .. }) && text.contains("x.npy"), "round {round}: {text}");
        assert!(iter.next().is_none());
        assert!(whole(&other.next().unwrap().unwrap()), "another pipeline is harmed");
    }
}
