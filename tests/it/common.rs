//! What the tests share: streams that misbehave on request, a watchdog, and ways to read a stream to its end.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use gristmill::plumbing::Source;
use gristmill::{
    Batch, ColumnSpec, DType, Dataset, Element, Error, Iter, Result, Slot, Spec, Stream, Threads,
};

/// Every choice of threads.
pub const THREADS: [Threads; 3] = [Threads::None, Threads::Auto, Threads::EachStage];

/// The values of one epoch; panics at the first error.
pub(crate) fn values<T: Send + 'static>(stream: &Stream<T>) -> Vec<T> {
    epoch(stream, 0)
}

/// The values of epoch `k`; panics at the first error.
pub(crate) fn epoch<T: Send + 'static>(stream: &Stream<T>, k: u64) -> Vec<T> {
    stream.epoch(k).unwrap().map(|item| item.unwrap()).collect()
}

/// Every outcome of one epoch, errors as their texts; checks that the end is final.
pub(crate) fn outcomes<T: Send + 'static>(stream: &Stream<T>) -> Vec<Result<T, String>> {
    let mut iter = stream.iter().unwrap();
    let seen = drain(&mut iter);
    assert!(iter.next().is_none() && iter.next().is_none(), "an ended iterator goes on");
    seen
}

/// What is left of an iterator, errors as their texts.
pub(crate) fn drain<T>(iter: &mut Iter<T>) -> Vec<Result<T, String>> {
    iter.map(|item| item.map_err(|e| e.to_string())).collect()
}

/// One column of every batch of epoch 0.
pub(crate) fn column<T: Element>(stream: &Stream<Batch>, name: &str) -> Vec<Vec<T>> {
    values(stream).iter().map(|batch| batch.column::<T>(name).unwrap().to_vec()).collect()
}

/// The numbers `0..n` from a generator.
pub(crate) fn numbers(n: u64) -> Stream<u64> {
    Dataset::from_generator(move |_| 0..n)
}

/// The numbers `0..n`, but an error that belongs to one item stands in place of number `bad`.
pub(crate) fn with_error(n: u64, bad: u64) -> Stream<u64> {
    Dataset::try_from_generator(move |_| {
        (0..n).map(move |i| if i == bad { Err(format!("bad item {i}")) } else { Ok(i) })
    })
}

/// The numbers below `bad`, and then a panic.
pub(crate) fn with_panic(bad: u64) -> Stream<u64> {
    Dataset::from_generator(move |_| (0..).inspect(move |i| assert!(*i != bad, "panic at {i}")))
}

/// Runs `test` on a thread of its own and panics if it takes longer than 30 seconds.
pub(crate) fn watchdog(test: impl FnOnce() + Send + 'static) {
    within(30, test);
}

/// As [`watchdog`], with other patience.
pub(crate) fn within(seconds: u64, test: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        test();
        drop(done);
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(Duration::from_secs(seconds)) {
        panic!("the test hangs");
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The threads of this process whose names this library gives.
pub(crate) fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with("grist-")).collect()
}

/// What the error of [`with_error`] says.
pub(crate) fn bad(item: u64) -> String {
    format!("generator, item {item}: bad item {item}")
}

/// What the error of [`with_panic`] says.
pub(crate) fn panicked(item: u64) -> String {
    format!("generator panicked at item {item}: panic at {item}")
}

/// Every outcome of one epoch, which must be the same for every choice of threads.
pub(crate) fn everywhere<T: Debug + PartialEq + Send + 'static>(
    stream: &Stream<T>,
) -> Vec<Result<T, String>> {
    let [none, auto, each] = THREADS.map(|threads| outcomes(&stream.clone().threads(threads)));
    assert_eq!(none, auto, "{stream:?} without threads and with them");
    assert_eq!(none, each, "{stream:?} without threads and with one for each stage");
    none
}

/// Reads two epochs twice, then leaves each after every item and seeks to where it stood.
pub(crate) fn reopens<T: Debug + PartialEq + Send + 'static>(stream: &Stream<T>) {
    for k in 0..2 {
        let whole = drain(&mut stream.epoch(k).unwrap());
        assert_eq!(drain(&mut stream.epoch(k).unwrap()), whole, "{stream:?}, epoch {k} again");
        for left in 0..=whole.len() {
            let mut first = stream.epoch(k).unwrap();
            first.by_ref().take(left).for_each(drop);
            let rest = drain(&mut stream.seek(first.position()).unwrap());
            assert_eq!(rest, whole[left..], "{stream:?}, epoch {k} from item {left}");
        }
    }
}

/// Takes `n` items under every choice of threads, drops the iterator, and waits until no thread is left.
/// To be called [`alone`].
pub(crate) fn lets_go<T: Send + 'static>(stream: &Stream<T>, n: usize) {
    for threads in THREADS {
        let mut iter = stream.clone().threads(threads).iter().unwrap();
        assert_eq!(iter.by_ref().take(n).filter(Result::is_ok).count(), n);
        drop(iter);
        no_thread_is_left();
    }
}

/// Drops `verb` midway, over a stream without end, and behind a prefetch that is lost in a search without end.
pub(crate) fn drops<T: Send + 'static>(verb: impl Fn(Stream<u64>) -> Stream<T> + Send + 'static) {
    lets_go(&verb(endless()), 3);
    for threads in [Threads::Auto, Threads::EachStage] {
        let lost = Arc::new(AtomicBool::new(false));
        let seen = lost.clone();
        let search = endless().filter(move |n| {
            seen.fetch_or(*n > 1000, Ordering::SeqCst);
            *n < 4
        });
        let mut iter = verb(search).prefetch(8).threads(threads).iter().unwrap();
        iter.next().unwrap().unwrap();
        until(|| lost.load(Ordering::SeqCst));
        drop(iter);
        no_thread_is_left();
    }
}

/// The numbers from 0 without end.
pub(crate) fn endless() -> Stream<u64> {
    Dataset::from_generator(|_| 0..)
}

/// Waits for `condition`; the watchdog ends a wait in vain.
pub(crate) fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}

/// A thread that was joined stays listed for a moment.
pub(crate) fn no_thread_is_left() {
    until(|| threads().is_empty());
}

/// Runs `test`, the closure of a test function, in a process of its own and under the watchdog: the threads and
/// descriptors counted are its own, and an abort is a failed test.
pub(crate) fn alone<F: FnOnce() + Send + 'static>(test: F) {
    alone_after("", 30, test);
}

/// As [`alone`], after a shell has made the process ready by `setup` (limits, groups), and with other patience.
pub(crate) fn alone_after<F: FnOnce() + Send + 'static>(setup: &str, seconds: u64, test: F) {
    if child().is_some() {
        return within(seconds, test);
    }
    if setup.contains("ulimit -v") && std::env::var_os("GRISTMILL_UNLIMITED").is_some() {
        return eprintln!("skipped: a sanitizer needs more memory than `{setup}` gives");
    }
    let name = std::any::type_name::<F>().split_once("::").unwrap().1.trim_end_matches("::{{closure}}");
    let output = process(setup, name, "alone").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{}\n{told}", output.status);
    // Behind the name of the test, perhaps.
    let noted = |line: &str| {
        ["measured: ", "skipped: "].iter().find_map(|word| Some(line[line.find(word)?..].to_owned()))
    };
    told.lines().filter_map(noted).for_each(|line| println!("{line}"));
}

const CHILD: &str = "GRISTMILL_TEST_CHILD";

/// What this process was given to work on, if it was made by [`process`]: often a folder.
pub(crate) fn child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// A process that runs the test `name` of this program, ignored or not, as a child that is given `work`, after `setup` in a shell.
pub(crate) fn process(setup: &str, name: &str, work: impl AsRef<OsStr>) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{setup} exec \"$0\" \"$@\"")).arg(std::env::current_exe().unwrap());
    shell.args([name, "--exact", "--nocapture", "--include-ignored", "--test-threads=1"]).env(CHILD, work);
    shell
}

/// A control group of this process's own, by its kind (version 1), and gone when dropped: limits that take root to set.
pub(crate) struct Group(PathBuf);

impl Group {
    /// The group with these limits; says so and gives none where there can be none.
    pub(crate) fn new(kind: &str, limits: &[(&str, u64)]) -> Option<Group> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("/sys/fs/cgroup/{kind}/gristmill-{}-{number}", std::process::id());
        let group = std::fs::create_dir(&name).ok().map(|()| Group(name.into()));
        let group = group.filter(|group| limits.iter().all(|(file, limit)| group.set(file, *limit)));
        if group.is_none() {
            eprintln!("skipped: it takes root and control groups of version 1 to limit {kind}");
        }
        group
    }

    fn set(&self, file: &str, limit: u64) -> bool {
        std::fs::write(self.0.join(file), limit.to_string()).is_ok()
    }

    /// What a shell does to be in the group.
    pub(crate) fn enter(&self) -> String {
        format!("echo $$ > {}/cgroup.procs;", self.0.display())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A folder that is gone after the test.
pub(crate) struct Dir(tempfile::TempDir);

impl Dir {
    pub(crate) fn new() -> Dir {
        Dir(tempfile::tempdir().unwrap())
    }

    /// One on the disk that is built on, for files that are too large for memory.
    pub(crate) fn roomy() -> Dir {
        Dir(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// A file of `len` bytes of which only `parts` take room on the disk.
    pub(crate) fn sparse(&self, name: &str, len: u64, parts: &[(u64, &[u8])]) -> PathBuf {
        let file = File::create(self.path(name)).unwrap();
        file.set_len(len).unwrap();
        parts.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap());
        self.path(name)
    }
}

/// A file of format version 1; `descr` and `shape` are Python's spelling.
pub(crate) fn npy(descr: &str, fortran: bool, shape: &str, payload: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let text = format!("{text:<width$}\n", width = length - 1);
    [b"\x93NUMPY\x01\0".as_slice(), &(length as u16).to_le_bytes(), text.as_bytes(), payload].concat()
}

/// One number for a list, the same on every machine: FNV-1a over the bytes of its numbers.
pub(crate) fn digest(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = numbers.into_iter().flat_map(u64::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The rows of a batch of numbers.
pub(crate) fn ids(batch: &Batch) -> Vec<u64> {
    batch.column::<u64>("0").unwrap().to_vec()
}

/// The names in a folder, hidden ones too.
pub(crate) fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Entries of a folder: of /proc/self/fd, the open descriptors and one more.
pub(crate) fn entries(folder: impl AsRef<Path>) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// The maps of this process.
pub(crate) fn maps() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// The maps of this process that name `path` or what lies in it.
pub(crate) fn maps_of(path: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains(path.to_str().unwrap())).count()
}

/// The numbers `0..n` as a column, but whoever gathers row `bad` gets an error, which ends the stream if `fatal`.
pub(crate) fn brittle(n: u64, bad: u64, fatal: bool) -> Dataset {
    let spec = Spec::new(vec![ColumnSpec::new("0", DType::U64, &[])]).unwrap();
    Dataset::from_source(Brittle { spec, rows: n, bad, fatal })
}

struct Brittle {
    spec: Arc<Spec>,
    rows: u64,
    bad: u64,
    fatal: bool,
}

impl Source for Brittle {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        match rows.contains(&self.bad) {
            true if self.fatal => return Err(Error::argument("brittle", "another row", self.bad)),
            true => {
                return Err(Error::User { stage: "brittle", position: self.bad, source: "bad row".into() });
            }
            false => into[0].elements::<u64>()?.copy_from_slice(rows),
        }
        Ok(())
    }

    fn describe(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "brittle({}, {})", self.rows, self.bad)
    }
}
