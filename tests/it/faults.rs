//! Files that are lost while they are mapped: an error and no wrong row, in a process that lives on.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use gristmill::{DType, Dataset, Error, Raw, Shuffle, Threads};

use crate::common::*;
use crate::trials::cuts::*;

#[test]
fn a_file_cut_under_a_saturated_gather_is_one_error_and_no_wrong_row() {
    alone(|| cuts(60));
}

#[test]
fn a_file_that_is_cut_and_grows_back_is_an_error() {
    alone(|| {
        let dir = Dir::new();
        let path = table(&dir, "x.npy");
        let length = fs::metadata(&path).unwrap().len();
        let mut iter = open(&path).batch(64).iter().unwrap();
        assert!(whole(&iter.next().unwrap().unwrap()));
        cut(&path, 5000);
        cut(&path, length);
        let rest: Vec<_> = iter.collect();
        let (last, before) = rest.split_last().unwrap();
        assert!(matches!(last, Err(Error::Changed { .. })), "{last:?}");
        assert!(before.iter().all(|batch| whole(batch.as_ref().unwrap())));
    });
}

/// Runs this binary's test `name` as a child that may die; inside it, gives none.
fn child(name: &str) -> Option<Output> {
    const INSIDE: &str = "GRISTMILL_TEST_CHILD";
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let mut program = Command::new(std::env::current_exe().unwrap());
    Some(
        program
            .args([&format!("faults::{name}"), "--exact", "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap(),
    )
}

/// A map of our own, outside the library, of a file that is lost.
fn lost_page(dir: &Dir) -> *const u8 {
    let path = dir.put("lost", &[7; 8192]);
    let file = File::open(&path).unwrap();
    // SAFETY: a new map of an open file.
    let map = unsafe {
        libc::mmap(std::ptr::null_mut(), 8192, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    assert_ne!(map, libc::MAP_FAILED);
    cut(&path, 0);
    map.cast()
}

/// Reads through a map that may raise a signal.
fn touch(page: *const u8) -> u8 {
    // SAFETY: the page is mapped; what comes of reading it is what the tests are about.
    unsafe { page.read_volatile() }
}

/// Loses a mapped file of the library, and asks that it is an error.
fn lose_a_file(dir: &Dir) {
    let path = table(dir, "x.npy");
    let rows = open(&path);
    cut(&path, 4096);
    let error = rows.shuffle(Shuffle::full(1)).batch(64).iter().unwrap().next().unwrap().unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
}

#[test]
fn a_fault_outside_our_maps_ends_the_process_as_ever() {
    if let Some(output) = child("a_fault_outside_our_maps_ends_the_process_as_ever") {
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{text}");
        assert!(text.contains("ours is an error"));
        return;
    }
    let dir = Dir::new();
    lose_a_file(&dir);
    println!("ours is an error");
    touch(lost_page(&dir));
}

#[test]
fn a_stack_overflow_is_told_as_ever() {
    if let Some(output) = child("a_stack_overflow_is_told_as_ever") {
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("overflowed its stack"), "{text}");
        return;
    }
    lose_a_file(&Dir::new());
    fn deeper(n: u64) -> u64 {
        let room = std::hint::black_box([n; 64]);
        if n == u64::MAX { 0 } else { deeper(n + 1) + room[n as usize % 64] }
    }
    std::hint::black_box(deeper(0));
}

/// Faults that a host's own handler was asked to answer.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// The handler before the host's.
static BEFORE: AtomicUsize = AtomicUsize::new(0);
/// The page that the host knows to be lost.
static KNOWN: AtomicUsize = AtomicUsize::new(0);

/// A host's handler: answers faults in the page it knows, and passes on all others.
extern "C" fn host(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: as in any handler with SA_SIGINFO; the page is one of the test's own.
    unsafe {
        let (page, before) = (KNOWN.load(Ordering::SeqCst), BEFORE.load(Ordering::SeqCst));
        if (*info).si_addr() as usize & !4095 == page {
            ASKED.fetch_add(1, Ordering::SeqCst);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            libc::mmap(page as *mut _, 4096, libc::PROT_READ, flags, -1, 0);
        } else if before > 1 {
            type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            std::mem::transmute::<usize, Handler>(before)(signal, info, context);
        }
    }
}

/// Installs [`host`]; what was there before is kept for it if `chained`.
fn install(chained: bool) {
    // SAFETY: as in any program that installs a handler.
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
        new.sa_sigaction = host as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGBUS, &new, &mut old), 0);
        BEFORE.store(if chained { old.sa_sigaction } else { 0 }, Ordering::SeqCst);
    }
}

/// Asks that the host answers the fault in its page, and the guard the one in a file of the library.
fn each_answers_its_own(dir: &Dir) {
    let page = lost_page(dir);
    KNOWN.store(page as usize, Ordering::SeqCst);
    assert_eq!((touch(page), ASKED.load(Ordering::SeqCst)), (0, 1));
    lose_a_file(dir);
    assert_eq!(ASKED.load(Ordering::SeqCst), 1);
}

fn handler() -> usize {
    // SAFETY: only asks.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut now);
        now.sa_sigaction
    }
}

#[test]
fn a_handler_that_was_there_before_keeps_its_faults() {
    alone(|| {
        let dir = Dir::new();
        install(false);
        lose_a_file(&dir);
        assert_ne!(handler(), host as *const () as usize, "the guard is not installed");
        each_answers_its_own(&dir);
    });
}

#[test]
fn a_handler_that_comes_later_and_passes_on_leaves_us_ours() {
    alone(|| {
        let dir = Dir::new();
        lose_a_file(&dir);
        install(true);
        each_answers_its_own(&dir);
    });
}

#[test]
fn switched_off_it_installs_nothing() {
    alone(|| {
        let before = handler();
        gristmill::switch_off_fault_guard();
        let dir = Dir::new();
        assert!(open(&table(&dir, "x.npy")).batch(9).iter().unwrap().all(|batch| whole(&batch.unwrap())));
        assert_eq!(handler(), before);
    });
}

#[test]
fn maps_come_and_go_beside_faults() {
    alone(|| {
        let dir = Dir::new();
        let paths: Vec<_> = (0..3).map(|i| table(&dir, &format!("{i}.npy"))).collect();
        std::thread::scope(|scope| {
            for path in &paths {
                scope.spawn(move || {
                    for _ in 0..200 {
                        assert!(
                            open(path).batch(512).iter().unwrap().take(3).all(|batch| whole(&batch.unwrap()))
                        );
                    }
                });
            }
            for _ in 0..20 {
                lose_a_file(&dir);
            }
        });
    });
}

fn ran(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// A disk that fails: a file system on a loop device whose backing file is cut. Needs root.
#[test]
fn a_page_that_the_disk_cannot_read_is_an_error_that_names_the_file() {
    alone(|| {
        let dir = Dir::new();
        let (image, mount) = (dir.path("image"), dir.path("mount"));
        let [image_text, mount_text] = [&image, &mount].map(|path| path.to_str().unwrap());
        fs::create_dir(&mount).unwrap();
        File::create(&image).unwrap().set_len(96 << 20).unwrap();
        if !ran("mkfs.ext4", &["-q", "-F", image_text])
            || !ran("mount", &["-o", "loop", image_text, mount_text])
        {
            println!("skipped: no loop device can be mounted here");
            return;
        }
        let payload: Vec<u8> =
            (1..=8 * ROWS as u32).flat_map(|row| row.to_le_bytes().repeat(WIDTH)).collect();
        let path = mount.join("x.npy");
        fs::write(&path, npy("'<u4'", false, &format!("({}, {WIDTH})", 8 * ROWS), &payload[..])).unwrap();
        assert!(ran("sync", &[]));
        let rows = open(&path);
        // The file system's tables are near the start, most of the file's data behind them.
        cut(&image, 40 << 20);
        fs::write("/proc/sys/vm/drop_caches", "3").unwrap();
        let outcomes: Vec<_> = rows.batch(64).iter().unwrap().collect();
        drop(rows);
        let unmounted = ran("umount", &["-l", mount_text]);
        let error = outcomes.last().unwrap().as_ref().unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, Error::Io { .. }) && text.contains("x.npy") && text.contains("could not be read"),
            "{text}"
        );
        assert!(outcomes[..outcomes.len() - 1].iter().all(|batch| whole(batch.as_ref().unwrap())));
        assert!(unmounted);
    });
}

#[test]
fn bytes_lost_inside_the_last_page_are_not_zeros() {
    let dir = Dir::new();
    let path = dir.path("raw");
    File::create(&path).unwrap().write_all_at(&[0xff; 4096 * 3 + 100], 0).unwrap();
    let raw = Raw::new(&path, DType::U8, &[]);
    let mut iter = Dataset::from_slices(raw).unwrap().batch(64).threads(Threads::None).iter().unwrap();
    iter.by_ref()
        .take(100)
        .for_each(|batch| assert!(!batch.unwrap().column::<u8>("0").unwrap().contains(&0)));
    cut(&path, 4096 * 3 + 50);
    let rest: Vec<_> = iter.collect();
    let good = rest.iter().flatten().all(|batch| !batch.column::<u8>("0").unwrap().contains(&0));
    assert!(good && rest.last().unwrap().is_err());
}
