//! Files that are read by calls instead of through a map: the same rows, and failing calls that are errors in their place.
#![allow(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use gristmill::{Batch, DType, Dataset, Error, Npy, Raw, Shuffle, Stream, Threads};

use crate::common::*;
use crate::npy::{fixtures, hex};

const ROWS: u64 = 5000;
/// Rows of 512 bytes, each of them its number.
const WIDTH: usize = 128;

fn table(dir: &Dir) -> PathBuf {
    let payload: Vec<u8> = (0..ROWS as u32).flat_map(|row| row.to_le_bytes().repeat(WIDTH)).collect();
    dir.put("x.npy", &npy("'<u4'", false, &format!("({ROWS}, {WIDTH})"), &payload))
}

fn unmapped(path: &Path) -> Dataset {
    Dataset::from_slices((("x", Npy::open(path).unwrap().unmapped()),)).unwrap()
}

fn mapped(path: &Path) -> Dataset {
    Dataset::from_slices((("x", Npy::open(path).unwrap()),)).unwrap()
}

/// Ways to use rows that gather them by runs, one by one, in pieces and in bursts.
fn ways(rows: &Dataset) -> [Stream<Batch>; 6] {
    let shuffled = rows.shuffle(Shuffle::full(3));
    [
        rows.batch(64),
        rows.batch(3).threads(Threads::None),
        shuffled.batch(64).workers(3),
        shuffled.batch(3).prefetch(9),
        rows.shuffle(Shuffle::blocks_of(5, 40, 3)).batch(64).cast::<f64>("x"),
        rows.reverse().batch(1000),
    ]
}

fn same(read: &Dataset, through_map: &Dataset, what: &str) {
    for (read, through_map) in ways(read).iter().zip(ways(through_map)) {
        // Text cannot be cast, which is an argument that is refused.
        match through_map.epoch(1) {
            Ok(wanted) => {
                let (wanted, found): (Vec<_>, Vec<_>) = (
                    wanted.map(|batch| batch.unwrap()).collect(),
                    read.epoch(1).unwrap().map(|batch| batch.unwrap()).collect(),
                );
                assert!(wanted == found, "{what}: {read:?}");
            }
            Err(refused) => assert_eq!(read.epoch(1).unwrap_err().to_string(), refused.to_string(), "{what}"),
        }
    }
}

#[test]
fn every_element_type_and_layout_comes_as_through_a_map() {
    let dir = Dir::new();
    let mut compared = 0;
    for case in fixtures() {
        let path = dir.put("case.npy", &hex(case["file"].as_str().unwrap()));
        let Ok(Ok(through_map)) = Npy::open(&path).map(|file| Dataset::from_slices((("x", file),))) else {
            continue;
        };
        same(&unmapped(&path), &through_map, case["name"].as_str().unwrap());
        compared += 1;
    }
    assert!(compared > 50, "{compared} fixtures");
}

#[test]
fn many_files_fields_and_wide_rows_come_as_through_a_map() {
    let dir = Dir::new();
    let bytes: Vec<u8> = (0..120_000u32).map(|i| (i * 7 / 3) as u8).collect();
    let (one, two) = (dir.put("1.bin", &bytes), dir.put("2.bin", &bytes[..60_000]));
    for (dtype, shape) in
        [(DType::U8, vec![]), (DType::F32, vec![2500]), (DType::U16, vec![3]), (DType::F32, vec![5000])]
    {
        for big in [false, true] {
            let raw = || {
                let raw = Raw::many([&one, &two], dtype, &shape);
                if big { raw.big_endian() } else { raw }
            };
            let of = |raw: Raw| Dataset::from_slices((("x", raw),)).unwrap();
            same(&of(raw().unmapped()), &of(raw()), &format!("{dtype} {shape:?}"));
        }
    }
    let record = npy("[('a', '<u2'), ('b', '>f4', (2,))]", false, "(1000,)", &bytes[..10_000]);
    let path = dir.put("record.npy", &record);
    for field in ["a", "b"] {
        let open = || Npy::open(&path).unwrap().field(field).unwrap();
        let of = |npy: Npy| Dataset::from_slices((("x", npy),)).unwrap();
        same(&of(open().unmapped()), &of(open()), field);
    }
}

#[test]
fn a_state_holds_for_both_ways_of_reading_and_the_plan_says_which() {
    let dir = Dir::new();
    let path = table(&dir);
    let streams = [mapped(&path), unmapped(&path)].map(|rows| rows.shuffle(Shuffle::full(1)).batch(7));
    for (first, second) in [(0, 1), (1, 0)] {
        let mut iter = streams[first].epoch(2).unwrap();
        iter.by_ref().take(100).for_each(|batch| assert!(batch.is_ok()));
        let rest = streams[second].resume(&iter.state()).unwrap();
        assert!(rest.map(|batch| batch.unwrap()).eq(iter.map(|batch| batch.unwrap())));
    }
    let [through_map, read] = streams.map(|stream| stream.plan().unwrap().to_string());
    assert!(
        read.contains("is not mapped but read by calls") && !through_map.contains("not mapped"),
        "{read}"
    );
}

#[test]
fn no_map_is_made_or_left() {
    alone(|| {
        let dir = Dir::new();
        let path = table(&dir);
        let rows = unmapped(&path);
        let name = path.to_str().unwrap();
        let mut iter = rows.shuffle(Shuffle::full(1)).batch(10).iter().unwrap();
        iter.next().unwrap().unwrap();
        assert!(!std::fs::read_to_string("/proc/self/maps").unwrap().contains(name));
        drop((iter, rows));
        let open = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
        assert!(open.into_iter().all(|file| file != path));
    });
}

/// Stands before the system's `pread64`: every `every`-th call fails with `error`, or reads a single byte if that is 0.
const INTERPOSER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>
static long calls, every, error;
void pread_fault(long e, long n) { error = e; calls = 0; __atomic_store_n(&every, n, __ATOMIC_SEQ_CST); }
ssize_t pread64(int file, void *into, size_t bytes, off_t at) {
    ssize_t (*real)(int, void *, size_t, off_t) = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
    long n = __atomic_load_n(&every, __ATOMIC_SEQ_CST);
    if (n > 0 && __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) % n == 0) {
        if (error) { errno = error; return -1; }
        bytes = bytes > 1 ? 1 : bytes;
    }
    return real(file, into, bytes, at);
}
"#;

/// Makes every `every`-th read fail with the system's `error`; with 0, come short.
fn fault(error: i32, every: usize) {
    // SAFETY: the name ends in a zero.
    let set = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"pread_fault".as_ptr()) };
    assert!(!set.is_null(), "the interposer is not loaded");
    // SAFETY: the function has this signature in the text above.
    let set: extern "C" fn(libc::c_long, libc::c_long) = unsafe { std::mem::transmute(set) };
    set(error.into(), every as libc::c_long);
}

/// Runs `test`, the closure of a test function, in a process whose reads can be made to fail.
fn with_faults<F: FnOnce() + Send + 'static>(test: F) {
    let dir = Dir::new();
    let library = dir.path("faults.so");
    if child().is_none() {
        let source = dir.put("faults.c", INTERPOSER.as_bytes());
        let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
        let built =
            compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).arg("-ldl").status();
        assert!(built.unwrap().success(), "the C compiler that links Rust programs");
    }
    alone_after(&format!("export LD_PRELOAD={};", library.display()), 60, test);
}

#[test]
fn interrupted_and_short_reads_change_nothing() {
    with_faults(|| {
        let dir = Dir::new();
        let path = table(&dir);
        let rows = unmapped(&path);
        let wanted = ways(&mapped(&path)).map(|stream| values(&stream));
        for (error, every) in [(libc::EINTR, 2), (libc::EINTR, 3), (libc::EINTR, 17), (0, 2), (0, 3), (0, 50)]
        {
            fault(error, every);
            for (stream, wanted) in ways(&rows).iter().zip(&wanted) {
                assert!(values(stream) == *wanted, "error {error} at every {every}: {stream:?}");
            }
        }
    });
}

#[test]
fn a_failing_read_is_one_error_that_names_file_and_byte_after_the_good_batches() {
    with_faults(|| {
        let dir = Dir::new();
        let path = table(&dir);
        let rows = unmapped(&path);
        for nth in 1..=200 {
            // A call a batch, since its rows are neighbours.
            for stream in [rows.batch(20).threads(Threads::None), rows.batch(20).workers(3).prefetch(4)] {
                fault(libc::EIO, nth);
                let mut iter = stream.iter().unwrap();
                let seen: Vec<_> = iter.by_ref().collect();
                fault(0, 0);
                let (last, good) = seen.split_last().unwrap();
                for (i, batch) in good.iter().enumerate() {
                    let batch = batch.as_ref().unwrap().column::<u32>("x").unwrap();
                    assert_eq!((batch[0], batch.len()), (20 * i as u32, 20 * WIDTH));
                }
                let error = last.as_ref().unwrap_err();
                let text = error.to_string();
                let byte = 128 + good.len() * 20 * WIDTH * 4;
                assert!(matches!(error, Error::Io { path: named, .. } if *named == path), "{text}");
                assert!(
                    text.contains("cannot read") && text.contains("at byte") && text.contains("os error 5"),
                    "{text}"
                );
                if stream.plan().unwrap().threads() == 0 {
                    assert_eq!(good.len(), nth - 1);
                    assert!(text.contains(&format!("at byte {byte}:")), "{text}");
                }
                assert!(iter.next().is_none());
            }
        }
        fault(libc::ESTALE, 3);
        let error = rows.batch(20).iter().unwrap().find_map(|batch| batch.err()).unwrap();
        assert!(
            matches!(error, Error::Changed { .. }) && error.to_string().contains("its server"),
            "{error}"
        );
    });
}

/// The files of `/sys` have a length, a content that is shorter, and no maps.
#[test]
fn a_file_that_cannot_be_mapped_is_read_unasked_and_one_that_ends_early_is_an_error() {
    let path = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
    let Ok(content) = std::fs::read(path) else { return println!("skipped: no {}", path.display()) };
    let rows = Dataset::from_slices(Raw::new(path, DType::U8, &[])).unwrap();
    let stream = rows.batch(content.len()).threads(Threads::None);
    assert!(stream.plan().unwrap().to_string().contains("is not mapped but read by calls"));
    let mut iter = stream.iter().unwrap();
    assert_eq!(iter.next().unwrap().unwrap().column::<u8>("0").unwrap(), content);
    let error = iter.next().unwrap().unwrap_err();
    let told = format!("cannot read {}: at byte {}: ", path.display(), content.len());
    assert!(matches!(error, Error::Io { .. }) && error.to_string().starts_with(&told), "{error}");
}
