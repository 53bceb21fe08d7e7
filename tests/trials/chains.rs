//! Any source, order and stages that keep all rows: every row comes once, with the very bits that its file holds.

use std::path::Path;

use gristmill::{
    Array, Batch, Buckets, DType, Dataset, Npy, OnError, Pad, RandomStream, Raw, Row, Shuffle, Stream,
};

use crate::common::*;

/// What floats are lost or changed by: NaNs with payloads, quiet and signalling and negative, -0.0, infinity, the least number.
const BITS: [(DType, usize, [u64; 7]); 3] = [
    (DType::F16, 2, [0x7e2a, 0x7c2a, 0xfd01, 0x8000, 0x7c00, 1, 0x3c00]),
    (DType::F32, 4, [0x7fc1_2345, 0x7f81_2345, 0xffa0_0001, 0x8000_0000, 0x7f80_0000, 1, 0x3f80_0000]),
    (
        DType::F64,
        8,
        [
            0x7ff8 << 48 | 0x1234,
            0x7ff0 << 48 | 0x1234,
            0xfff4 << 48 | 1,
            1 << 63,
            0x7ff0 << 48,
            1,
            0x3ff0 << 48,
        ],
    ),
];

/// Rows of a number and some floats: each a place among [`BITS`] that its number decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    pub rows: usize,
    pub width: usize,
    pub float: usize,
    /// Which kind of file holds the floats.
    pub file: usize,
}

pub(crate) const FILES: usize = 6;

/// A row, by its number and the bytes of its floats.
type Found = (u64, Vec<u8>);

impl Table {
    fn floats(&self, row: usize, swapped: bool) -> Vec<u8> {
        let (_, size, bits) = BITS[self.float];
        let of = |i| {
            let mut bytes = u64::to_le_bytes(bits[(row + 3 * i) % bits.len()])[..size].to_vec();
            if swapped {
                bytes.reverse();
            }
            bytes
        };
        (0..self.width).flat_map(of).collect()
    }

    pub(crate) fn expected(&self) -> Vec<Found> {
        (0..self.rows).map(|row| (row as u64, self.floats(row, false))).collect()
    }

    pub(crate) fn open(&self, folder: &Path) -> Dataset {
        let (dtype, size, _) = BITS[self.float];
        let swapped = self.file % 2 == 1;
        // Fortran order: all rows' first elements, then all second ones.
        let fortran = self.file >= 4;
        let by_row: Vec<u8> = (0..self.rows).flat_map(|row| self.floats(row, swapped)).collect();
        let element = |row: usize, i: usize| by_row[(row * self.width + i) * size..][..size].to_vec();
        let by_column =
            || (0..self.width).flat_map(|i| (0..self.rows).flat_map(move |row| element(row, i))).collect();
        let payload: Vec<u8> = if fortran { by_column() } else { by_row.clone() };
        let path = folder.join("floats");
        let ids: Vec<u64> = (0..self.rows as u64).collect();
        // Rows of nothing have no end in a raw file.
        let opened = if self.file < 2 && self.width > 0 {
            let raw = Raw::new(&path, dtype, &[self.width]).offset(3);
            std::fs::write(&path, [vec![9; 3], payload].concat()).unwrap();
            Dataset::from_slices((("id", ids), ("x", if swapped { raw.big_endian() } else { raw })))
        } else {
            let descr = format!("'{}f{size}'", if swapped { '>' } else { '<' });
            std::fs::write(
                &path,
                npy(&descr, fortran, &format!("({}, {})", self.rows, self.width), &payload),
            )
            .unwrap();
            Dataset::from_slices((("id", ids), ("x", Npy::open(&path).unwrap())))
        };
        opened.unwrap()
    }
}

/// The rows of a batch.
fn found(batch: &Batch) -> Vec<Found> {
    let ids = batch.column::<u64>("id").unwrap();
    let bytes = batch.array("x").unwrap().bytes();
    let width = bytes.len() / ids.len().max(1);
    ids.iter().enumerate().map(|(i, id)| (*id, bytes[i * width..(i + 1) * width].to_vec())).collect()
}

/// A batch without the rows that only fill it up.
fn real(batch: Batch) -> Batch {
    let Ok(mask) = batch.column::<bool>("mask") else { return batch };
    let rows = mask.iter().filter(|real| **real).count();
    assert!(mask[..rows].iter().all(|real| *real));
    let part = batch.slice(0, rows);
    Batch::new(["id", "x"].map(|name| (name, part.array(name).unwrap().clone()))).unwrap()
}

fn id(row: &Row) -> u64 {
    row.value("id").unwrap()
}

fn first(batch: &Batch) -> u64 {
    batch.column::<u64>("id").unwrap()[0]
}

type OrderVerb = fn(Dataset) -> Dataset;
type BatchVerb = fn(&Dataset, usize) -> Stream<Batch>;
type Verb = fn(Stream<Batch>, &Path) -> Stream<Batch>;

pub(crate) const ORDERS: [OrderVerb; 12] = [
    |rows| rows.shuffle(Shuffle::full(3)),
    |rows| rows.shuffle(Shuffle::blocks_of(3, 2, 5)),
    |rows| rows.shuffle(Shuffle::buffer(7, 1)),
    |rows| rows.reverse().take(u64::MAX).skip(0),
    |rows| {
        let (some, others) = rows.split(0.4, 9).unwrap();
        others.concat(&some).unwrap()
    },
    |rows| {
        let [a, b, c] = [0, 1, 2].map(|i| rows.shard(3, i).unwrap());
        c.concat(&a).unwrap().concat(&b).unwrap()
    },
    |rows| Dataset::mix([(&rows.shard(2, 0).unwrap(), 1), (&rows.shard(2, 1).unwrap(), 1)]).unwrap(),
    |rows| {
        let turns: Vec<u32> = (0..rows.len() as u32).map(|i| i % 2).collect();
        Dataset::choose([&rows.shard(2, 0).unwrap(), &rows.shard(2, 1).unwrap()], turns).unwrap()
    },
    |rows| rows.select((0..rows.len()).rev().collect::<Vec<_>>()).unwrap(),
    |rows| rows.repeat(3).take(rows.len()),
    // Refused above an order that changes with the epoch.
    |rows| rows.keep_where(["id"], |_| Ok(true), |_, _| {}).unwrap_or(rows),
    |rows| rows.group_by_length("id", 4, 2).unwrap_or(rows),
];

pub(crate) const BATCHES: [BatchVerb; 9] = [
    |rows, n| rows.batch(n),
    |rows, n| rows.rows().batch(n),
    |rows, n| rows.batch_masked(n).map(real),
    |rows, n| rows.rows().batch_masked(n).map(real),
    |rows, n| {
        let [a, b] = [0, 1].map(|rank| rows.distribute_masked(rank, 2, 2 * n).unwrap());
        a.concat(b).map(real).filter(|b| b.rows() > 0)
    },
    |rows, n| rows.rows().padded_batch(n, Pad::longest()),
    |rows, n| rows.rows().bucket_by_length(Buckets::new([2, 4], [n, n + 1, 1]), |row| id(row) as usize % 6),
    |rows, n| rows.rows().pad_to(rows.len() + 5).batch(n).map(real).filter(|b| b.rows() > 0),
    |rows, n| match rows.is_empty() {
        // There is no batch whose form zeros could take.
        true => rows.batch(n),
        false => rows.batch(n).pad_to(rows.len() + 2).map(real).filter(|b| b.rows() > 0),
    },
];

pub(crate) const STAGES: [Verb; 37] = [
    |s, _| s.map(|b| b),
    |s, _| s.try_map(Ok::<_, String>),
    |s, _| s.map_seeded(1, |b, _| b),
    |s, _| s.par_map(3, |b| b),
    |s, _| s.par_try_map(2, Ok::<_, String>),
    |s, _| s.par_map_seeded(2, 1, |b, _| b),
    |s, _| s.prefetch(3),
    |s, _| s.prefetch_auto(),
    |s, _| s.rebatch(3),
    |s, _| s.rebatch([5, 1, 2]),
    |s, _| s.unbatch().batch(4),
    |s, _| s.unbatch().shuffle_buffer(7, 1).batch(3),
    |s, _| s.shuffle_buffer(3, 2),
    |s, _| s.cache(),
    |s, _| s.cache_bytes(1 << 20),
    |s, dir| s.cache_file(dir),
    |s, dir| match s.save(dir).unwrap() {
        // Of no batches the columns are not known.
        saved if saved.is_empty() => s,
        saved => saved.batch(5),
    },
    |s, _| s.select(["x", "id"]),
    |s, _| s.rename("x", "y").rename("y", "x"),
    |s, _| s.unbatch().padded_batch(4, Pad::longest()),
    |s, _| s.unbatch().bucket_by_length(Buckets::new([1], [3, 2]), |row| id(row) as usize % 2),
    |s, _| s.unbatch().group_by_window(3, |row| id(row) % 4).flat_map(|group| group).batch(6),
    |s, _| {
        s.unbatch().group_by_window_sized(|row| id(row) % 2, |key| 2 + *key as usize).flat_map(|g| g).batch(1)
    },
    |s, _| s.window(2, 2, 1).flat_map(|window| window),
    |s, _| s.enumerate().map(|(_, b)| b),
    |s, _| s.zip(endless()).map(|(b, _)| b),
    |s, _| s.filter(|_| true).take_while(|_| true).inspect(|_| {}),
    |s, _| s.clone().take(2).concat(s.skip(2)),
    |s, _| Stream::mix_to_end([(s.clone().take(1), 1), (s.skip(1), 2)]),
    |s, _| Stream::choose_to_end([s.clone().take(2), s.skip(2)], [0, 1].repeat(200)),
    |s, _| s.flat_map(|b| [b]),
    |s, _| s.flat_map_stream(|b| Dataset::from_generator(move |_| [b.clone()])),
    |s, _| s.interleave(2, 1, |b| Dataset::from_generator(move |_| [b.clone()])),
    |s, _| s.par_interleave(2, 1, |b| Dataset::from_generator(move |_| [b.clone()])),
    |s, _| s.par_interleave_unordered(2, |b| Dataset::from_generator(move |_| [b.clone()])),
    |s, _| s.on_error(OnError::skip(0)).scan(|_| (), |(), b| b),
    |s, _| s.filter(|b| b.rows() > 0).unique_by(first),
];

/// Checks that epoch `k` has every row of the table once, with its bits.
pub(crate) fn complete(table: &Table, stream: &Stream<Batch>, k: u64) {
    let mut seen: Vec<Found> = epoch(stream, k).iter().flat_map(found).collect();
    seen.sort();
    assert_eq!(seen, table.expected(), "{stream:?}, epoch {k}, {table:?}");
}

/// Puts parts together by chance, `rounds` times.
pub(crate) fn chains(rounds: u64) {
    let dir = Dir::roomy();
    let mut random = RandomStream::new(7, "chains", 0, 0);
    for round in 0..rounds {
        let folder = dir.path(&round.to_string());
        std::fs::create_dir(&folder).unwrap();
        let mut chosen = |n: usize| random.below(n as u64) as usize;
        // Often none or one.
        let rows = chosen(41).saturating_sub(2);
        let table = Table { rows, width: chosen(4), float: chosen(BITS.len()), file: chosen(FILES) };
        let mut rows = table.open(&folder);
        for _ in 0..chosen(4) {
            rows = ORDERS[chosen(ORDERS.len())](rows);
        }
        // Also more than there are.
        let mut stream = BATCHES[chosen(BATCHES.len())](&rows, 1 + chosen(60));
        for at in 0..chosen(5) {
            stream = STAGES[chosen(STAGES.len())](stream, &folder.join(at.to_string()));
        }
        let stream = stream.threads(THREADS[chosen(3)]).workers(1 + chosen(8));
        complete(&table, &stream, chosen(4) as u64);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// Bits of lists of floats, for verbs whose items are no batches.
pub(crate) fn lists() -> (Stream<Vec<f32>>, Vec<u32>) {
    let bits: Vec<u32> = BITS[1].2.iter().map(|bits| *bits as u32).collect();
    let list = bits.clone();
    let stream = Dataset::from_generator(move |_| {
        let list = list.clone();
        (0..4).map(move |_| list.iter().map(|bits| f32::from_bits(*bits)).collect())
    });
    (stream, bits.repeat(4))
}

/// The bits of an array of floats.
pub(crate) fn bits(array: &Array) -> Vec<u32> {
    array.elements::<f32>().unwrap().iter().map(|x| x.to_bits()).collect()
}
