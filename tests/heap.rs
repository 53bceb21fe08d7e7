//! Memory does not grow with the file or with time: measured by a counting allocator, so in a program of its own.
#![allow(unsafe_code, clippy::unwrap_used, missing_docs, unreachable_pub)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gristmill::{DType, Dataset, Npy, Raw, Shuffle};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only sizes are added up beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Tests of this program take turns: they share the counters.
static TURN: Mutex<()> = Mutex::new(());

/// The most heap that `work` holds at a time, beyond what was held before.
fn peak(work: impl FnOnce()) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    work();
    PEAK.load(Ordering::Relaxed) - before
}

/// A .npy file of `rows` rows of 1024 f32, all holes: it takes a few blocks of disk at any size.
fn sparse_npy(path: &Path, rows: u64) {
    let mut text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 1024), }}");
    let padded = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.push_str(&" ".repeat(padded - text.len() - 1));
    text.push('\n');
    let mut file = File::create(path).unwrap();
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&(text.len() as u16).to_le_bytes()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_len(10 + text.len() as u64 + rows * 4096).unwrap();
}

#[test]
fn the_heap_is_the_same_for_one_gibibyte_and_for_256() {
    let _turn = TURN.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let run = |rows: u64, shuffle: Shuffle| {
        let path = dir.path().join("x.npy");
        sparse_npy(&path, rows);
        peak(|| {
            let batches = Dataset::from_slices(Npy::open(&path).unwrap())
                .unwrap()
                .shuffle(shuffle)
                .batch(64)
                .prefetch(4);
            for epoch in 0..2 {
                batches
                    .epoch(epoch)
                    .unwrap()
                    .take(20)
                    .for_each(|batch| assert_eq!(batch.unwrap().rows(), 64));
            }
        })
    };
    for shuffle in [Shuffle::full(1), Shuffle::blocks(1), Shuffle::buffer(10_000, 1)] {
        let peaks = [1u64, 16, 256].map(|gib| run(gib << 18, shuffle));
        let (least, most) = (peaks.iter().min().unwrap(), peaks.iter().max().unwrap());
        assert!(most - least < 1 << 20, "{shuffle}: {peaks:?}");
        assert!(*most < 16 << 20, "{shuffle}: {peaks:?}");
    }
}

#[test]
fn the_heap_does_not_grow_over_epochs() {
    let _turn = TURN.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.bin");
    File::create(&path).unwrap().set_len(256 << 20).unwrap();
    let rows = Dataset::from_slices(Raw::new(&path, DType::F32, &[4096])).unwrap();
    let batches = rows.shuffle(Shuffle::full(3)).batch(32).prefetch(4);
    let epoch = |k| peak(|| batches.epoch(k).unwrap().for_each(|batch| drop(batch.unwrap())));
    epoch(0);
    let held = NOW.load(Ordering::Relaxed);
    let peaks: Vec<usize> = (1..6).map(epoch).collect();
    assert!(
        NOW.load(Ordering::Relaxed) <= held + 4096,
        "{} bytes are left behind",
        NOW.load(Ordering::Relaxed) - held
    );
    // Six batches of 512 KiB, as the plan says, and row numbers.
    let planned = batches.plan().unwrap().peak_bytes() as usize;
    assert!(peaks.iter().all(|peak| *peak < planned + (2 << 20)), "{peaks:?}, planned {planned}");
}

/// The order of five million rows is computed; a buffer of all of them holds their numbers, 8 bytes each, and gives them back.
#[test]
fn a_shuffle_holds_what_it_says_and_no_more_over_epochs() {
    let _turn = TURN.lock().unwrap();
    let rows = Dataset::range(5_000_000).unwrap();
    for (shuffle, most) in [
        (Shuffle::full(1), 4 << 20),
        (Shuffle::blocks(1), 4 << 20),
        (Shuffle::buffer(5_000_000, 1), 54 << 20),
    ] {
        let batches = rows.shuffle(shuffle).batch(8192);
        let held = NOW.load(Ordering::Relaxed);
        let epoch = |k| peak(|| batches.epoch(k).unwrap().for_each(|batch| drop(batch.unwrap())));
        let peaks = [0, 1, 2].map(epoch);
        assert!(peaks.iter().all(|peak| *peak < most), "{shuffle}: {peaks:?}");
        drop(batches);
        assert!(NOW.load(Ordering::Relaxed) <= held + 4096, "{shuffle} leaves something behind");
    }
}

#[test]
fn opening_a_file_allocates_no_more_than_its_header_asks_for() {
    let _turn = TURN.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("claims.npy");
    let claims: [&[u8]; 3] = [
        b"\x93NUMPY\x02\x00\xf0\xff\xff\xff",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952,), }",
    ];
    for claim in claims {
        let mut bytes = claim.to_vec();
        if bytes.len() > 12 {
            bytes.resize(10 + 0x75, b' ');
            bytes.push(b'\n');
        }
        std::fs::write(&path, &bytes).unwrap();
        let used = peak(|| assert!(Npy::open(&path).is_err()));
        assert!(used < 64 << 10, "{used} bytes for {claim:?}");
    }
}

#[test]
fn saving_holds_a_batch_and_small_buffers_whatever_is_saved() {
    let _turn = TURN.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npy");
    sparse_npy(&path, 16 << 10);
    let batches = Dataset::from_slices(Npy::open(&path).unwrap()).unwrap().batch(64).workers(1);
    let run = |rows: u64, name: &str| {
        let some = batches.clone().take(rows / 64);
        peak(|| assert_eq!(some.save(dir.path().join(name)).unwrap().len(), rows))
    };
    // 4 MiB and 64 MiB, in batches of 256 KiB.
    let peaks = [run(1 << 10, "few"), run(16 << 10, "many")];
    assert!(peaks.iter().all(|peak| *peak < 3 << 20), "{peaks:?}");
    let cached = batches.cache_file(dir.path().join("cache"));
    let fill = |k| peak(|| cached.epoch(k).unwrap().for_each(|batch| drop(batch.unwrap())));
    let peaks = [fill(0), fill(1)];
    assert!(peaks.iter().all(|peak| *peak < 3 << 20), "{peaks:?}");
}
