//! Bytes that mean harm and sizes that mean nothing: data or an error, never a panic, an abort, or memory without bound.

use gristmill::{Batch, Dataset, Error, Npy, Result, Shuffle, Stream, Threads};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::bodies::{self, clean};
use crate::common::*;
use crate::npy::{Dir, bytes, fixtures, hex, npy};

/// Runs `test`, the closure of a test function, in a process of its own that may have 1 GiB of addresses.
pub(crate) fn small<F: FnOnce() + Send + 'static>(test: F) {
    alone_after("ulimit -c 0; ulimit -v 1048576;", 30, test);
}

fn cases(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() })
}

#[test]
fn random_bytes_are_data_or_an_error() {
    watchdog(|| {
        let dir = Dir::new();
        let text = "[\\[\\](){}'\",:0-9a-z<>|=\\\\ \n#-]{0,60}";
        let file = (any::<bool>(), 1u8..4, vec(any::<u8>(), 0..40), text, vec(any::<u8>(), 0..200));
        let run = cases(400).run(&file, |(magic, version, noise, text, payload)| {
            let mut file = noise;
            if magic {
                let length = (text.len() as u32).to_le_bytes();
                let digits = if version == 1 { 2 } else { 4 };
                file = [b"\x93NUMPY", &[version, 0][..], &length[..digits], text.as_bytes()].concat();
            }
            bodies::npy::check(&dir.path("random.npy"), &[file, payload].concat());
            Ok(())
        });
        run.unwrap();
    });
}

#[test]
fn files_with_a_few_wrong_bytes_are_data_or_an_error() {
    watchdog(|| {
        let dir = Dir::new();
        let files: Vec<Vec<u8>> = fixtures().iter().map(|row| hex(row["file"].as_str().unwrap())).collect();
        let files: Vec<Vec<u8>> = files.into_iter().filter(|file| (1..1000).contains(&file.len())).collect();
        let place = any::<prop::sample::Index>;
        let change = (0..5u8, place(), any::<u8>(), place(), place());
        let counted = std::cell::Cell::new(0);
        let run = cases(600).run(&(place(), vec(change, 0..5)), |(which, changes)| {
            let mut file = which.get(&files).clone();
            for (kind, at, byte, other, from) in changes {
                let at = at.index(file.len());
                match kind {
                    0 => file[at] = byte,
                    1 if file.len() > 1 => drop(file.remove(at)),
                    2 => file.insert(at, file[other.index(file.len())]),
                    3 => file[at] ^= 1 << (byte % 8),
                    _ => {
                        let donor = other.get(&files);
                        let from = from.index(donor.len());
                        file.splice(at..at, donor[from..].iter().take(30).copied());
                    }
                }
            }
            counted.set(counted.get() + u32::from(bodies::npy::check(&dir.path("mutated.npy"), &file)));
            Ok(())
        });
        run.unwrap();
        let data = counted.get();
        assert!((50..600).contains(&data), "{data} of 600 gave data: the mutations test nothing");
    });
}

#[test]
fn a_header_that_claims_gigabytes_costs_no_memory() {
    small(|| {
        let dir = Dir::new();
        for version in [2, 3] {
            let path =
                dir.put("huge.npy", &[b"\x93NUMPY", &[version, 0, 0xf0, 0xff, 0xff, 0xff][..]].concat());
            let text = Npy::open(&path).unwrap_err().to_string();
            assert!(text.contains("huge.npy: header, byte 8") && text.contains("4294967280"), "{text}");
        }
        // The bytes are there, but a header of more than a mebibyte is not read.
        let path = dir.sparse("long.npy", 1 << 33, &[(0, b"\x93NUMPY\x03\0\xf0\xff\xff\xff")]);
        assert!(Npy::open(&path).unwrap_err().to_string().contains("at most 1048576"));
        for shape in
            ["(4611686018427387904, 4)", "(4294967296, 4294967296)", "(1073741824,)", "(9999999999, 2)"]
        {
            let path = dir.put("shape.npy", &npy("'<f8'", false, shape, &[0; 8]));
            let text = Npy::open(&path).unwrap_err().to_string();
            assert!(text.contains("shape.npy"), "{text}");
        }
        for row in fixtures().iter().filter(|row| row["ours"] == "refused") {
            let (path, file) = (dir.path("refused.npy"), hex(row["file"].as_str().unwrap()));
            bodies::npy::check(&path, &file);
            assert!(Npy::open(path).and_then(Dataset::from_slices).is_err(), "{}", row["name"]);
        }
        let file = npy("'|V2147483647'", false, "(0,)", &[]);
        assert!(bodies::npy::check(&dir.path("item.npy"), &file), "no rows of 2 GiB are no bytes");
    });
}

#[test]
fn five_thousand_parentheses_fit_a_stack_of_64_kib() {
    alone(|| {
        let dir = Dir::new();
        let shape = "(".repeat(5000) + "1" + &")".repeat(5000);
        for (descr, shape) in
            [("'<i4'", shape.as_str()), (&"[".repeat(5000), "(1,)"), (&"{1:".repeat(5000), "(1,)")]
        {
            let path = dir.put("deep.npy", &npy(descr, false, shape, &[0; 4]));
            let thread = std::thread::Builder::new().stack_size(64 << 10);
            let text =
                thread.spawn(move || Npy::open(path).unwrap_err().to_string()).unwrap().join().unwrap();
            assert!(text.contains("deep.npy: header") && text.contains("levels of brackets"), "{text}");
        }
    });
}

const SIZES: [u64; 9] = [0, 1, 2, 1 << 31, 1 << 32, 1 << 40, 1 << 63, u64::MAX - 1, u64::MAX];

fn five() -> Dataset {
    Dataset::from_slices(vec![0u8, 1, 2, 3, 4]).unwrap()
}

/// The bytes of all batches, or the text of an error; a caught panic fails the test.
fn all(stream: &Stream<Batch>) -> Result<Vec<u8>, String> {
    let told = |error: Error| {
        let text = error.to_string();
        clean::<()>(Err(error));
        text
    };
    let mut seen = Vec::new();
    for batch in stream.iter().map_err(told)? {
        seen.extend_from_slice(batch.map_err(told)?.arrays()[0].bytes());
    }
    Ok(seen)
}

#[test]
fn batches_of_any_size_are_data_or_an_error() {
    small(|| {
        for size in SIZES {
            let rows = size as usize;
            let items = || Dataset::from_generator(|_| 0..5u8);
            let wanted = if size == 0 { Err(()) } else { Ok(vec![0, 1, 2, 3, 4]) };
            for stream in [five().batch(rows), items().batch(rows), five().batch(2).unbatch().batch(rows)] {
                assert_eq!(all(&stream).map_err(drop), wanted, "{size}");
            }
            let exact = if size > 5 { Ok(vec![]) } else { wanted.map(|all| all[..5 - 5 % rows].to_vec()) };
            for stream in [five().batch_exact(rows), items().batch_exact(rows)] {
                assert_eq!(all(&stream).map_err(drop), exact, "{size}");
            }
            for stream in [five().batch_masked(rows), items().batch_masked(rows)] {
                let seen = all(&stream);
                assert_eq!(seen.is_ok(), (1..3).contains(&size), "{size}: {:?}", seen.map(|all| all.len()));
            }
        }
    });
}

#[test]
fn links_of_any_depth_are_data_or_an_error() {
    small(|| {
        for size in SIZES {
            let depth = size as usize;
            for stream in [
                five().batch(2).prefetch(depth),
                five().batch(2).prefetch(depth).prefetch(depth),
                five().batch(2).prefetch_bytes(size),
                five().batch(2).prefetch_auto().budget(1 << 20),
                five().batch(2).shuffle_buffer(depth.max(1), 1).map(|batch| batch),
            ] {
                let mut seen = all(&stream).unwrap_or_else(|text| panic!("{size}: {text}"));
                seen.sort();
                assert_eq!(seen, [0, 1, 2, 3, 4], "{size}");
            }
        }
        assert!(five().batch(2).shuffle_buffer(0, 1).iter().is_err());
    });
}

#[test]
fn workers_of_any_number_are_data_or_an_error() {
    alone(|| {
        for workers in [0, 1, 2, 1 << 40, 1 << 63, usize::MAX - 1, usize::MAX] {
            for stream in [
                five().batch(2).workers(workers),
                five().batch(2).par_map(workers, |batch| batch),
                five().batch(2).par_map(0, |batch| batch).workers(workers),
            ] {
                match all(&stream) {
                    Ok(seen) => assert_eq!(seen, [0, 1, 2, 3, 4], "{workers}"),
                    Err(text) => assert!(workers > 2, "{text}"),
                }
            }
        }
    });
}

#[test]
fn orders_of_any_size_are_data_or_an_error() {
    small(|| {
        let sorted = |rows: &Dataset| {
            let mut seen = all(&rows.batch(2)).unwrap();
            seen.sort();
            seen
        };
        for size in SIZES {
            for rows in [
                five().shuffle(Shuffle::buffer(size, 1)),
                five().shuffle(Shuffle::blocks_of(size, 1, 1)),
                five().shuffle(Shuffle::blocks_of(1, size, 1)),
                five().shuffle(Shuffle::blocks_of(size, size, 1)),
            ] {
                match size {
                    0 => assert!(rows.batch(2).iter().is_err() && rows.order(0, 0, 1).is_err()),
                    _ => assert_eq!(sorted(&rows), [0, 1, 2, 3, 4], "{rows:?}"),
                }
            }
            for seed in [five().shuffle(Shuffle::full(size)), five().shuffle(Shuffle::blocks(size))] {
                assert_eq!(sorted(&seed), [0, 1, 2, 3, 4]);
            }
            let least = size.min(5) as u8;
            assert_eq!(sorted(&five().take(size)), (0..least).collect::<Vec<u8>>());
            assert_eq!(sorted(&five().skip(size)), (least..5).collect::<Vec<u8>>());
            assert_eq!(all(&five().batch(1).take(size)), Ok((0..least).collect()));
            assert_eq!(all(&five().batch(1).skip(size)), Ok((least..5).collect()));
            for index in SIZES {
                match clean(five().shard(size, index)) {
                    None => assert!(index >= size),
                    Some(part) => {
                        let wanted = (0..5u64).filter(|row| row % size == index).map(|row| row as u8);
                        assert_eq!(sorted(&part), wanted.collect::<Vec<u8>>(), "{part:?}");
                    }
                }
                assert_eq!(five().select([index]).is_ok(), index < 5);
                clean(five().order(size, index, 3));
                clean(five().repeat(size).order(index, index, 3));
            }
            let repeated = five().repeat(size).take(7).batch(3);
            match all(&repeated) {
                Ok(seen) => assert_eq!(seen.len() as u64, 7.min(size.saturating_mul(5))),
                Err(text) => assert!(size > 1 << 32 && text.contains("epoch"), "{size}: {text}"),
            }
            clean(five().batch(2).epoch(size));
            clean(five().batch(2).seek(gristmill::Position { epoch: 0, item: size }));
        }
        assert_eq!(bytes(&five().shard(u64::MAX, 4).unwrap().batch(9)), [4]);
    });
}

#[test]
fn row_numbers_that_fit_no_memory_are_an_error() {
    small(|| {
        assert_eq!(five().order(0, 0, usize::MAX).unwrap().len(), 5);
        let many = Dataset::range(u64::MAX).unwrap();
        for n in [1 << 31, 1 << 40, usize::MAX] {
            assert!(
                many.batch(n).threads(Threads::None).iter().map_or(true, |mut it| it.any(|b| b.is_err())),
                "{n}"
            );
            assert!(many.order(0, 0, n).is_err(), "{n}");
        }
    });
}
