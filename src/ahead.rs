//! What is read before it is wanted: exact read-ahead for rows that come in no file order.
//!
//! The order is known in advance, so the rows of coming batches can be asked for while earlier ones are copied. That costs a
//! system call for each row or block, which would slow a file that is in memory already; so it is done only while gathering has
//! lately had to wait for the disk, and on a thread of its own, since a request takes longer than copying the rows does. Nothing
//! but speed depends on it.

use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::exec::Aside;
use crate::plumbing::{Pull, Run, Running, Source, Threads};
use crate::sys::disk_waits;

/// Most bytes of rows that are asked for before they are gathered: the default group of a block shuffle, so that the next
/// group is being read while the present one is used.
const AHEAD_BYTES: u64 = 64 << 20;

/// Most row numbers that are kept for it: 2 MiB of them.
const AHEAD_ROWS: u64 = 256 << 10;

/// Bytes that the disk reads for a row at least.
const PAGE: u64 = 4096;

/// Batches for which reading ahead goes on after one had to wait. Then one batch finds out whether it is still needed.
const COLD_BATCHES: u32 = 1024;

/// Requests that may wait for their turn.
const REQUESTS: usize = 4096;

/// Blocks that are remembered as asked for: those of several groups.
const REMEMBERED: usize = 4096;

/// A gather that is done in less has not waited for a disk; asking the system whether it has costs as much as copying a few KiB.
const QUICK: Duration = Duration::from_micros(50);

thread_local! {
    /// The waits of this thread when it last asked.
    static WAITS: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Whether the file is cold; shared by those who gather and the one who reads ahead.
#[derive(Clone, Default)]
pub(crate) struct Cold {
    batches: Arc<AtomicU32>,
}

impl Cold {
    /// Gathers, and notices whether that had to wait for the disk.
    pub(crate) fn watch<T>(&self, gather: impl FnOnce() -> T) -> T {
        self.watch_by(disk_waits, gather)
    }

    fn watch_by<T>(&self, waits: impl Fn() -> i64, gather: impl FnOnce() -> T) -> T {
        let before = WAITS.get().unwrap_or_else(&waits);
        let start = Instant::now();
        let gathered = gather();
        let now = if start.elapsed() < QUICK { before } else { waits() };
        WAITS.set(Some(now));
        if now != before {
            // Relaxed: a hint about speed; it orders nothing.
            self.batches.store(COLD_BATCHES, Ordering::Relaxed);
        }
        gathered
    }

    /// Whether gathering has lately had to wait.
    pub(crate) fn is_cold(&self) -> bool {
        self.batches.load(Ordering::Relaxed) > 0
    }

    fn next(&self) -> bool {
        let left = self.batches.load(Ordering::Relaxed);
        if left > 0 {
            self.batches.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }
}

/// Passes row numbers on, and asks the source for those of coming batches.
pub(crate) struct Ahead {
    jobs: Running<Vec<u64>>,
    requests: Aside<Range<u64>>,
    /// Neighbouring rows that are wanted about the same time.
    near: u64,
    most: u64,
    cold: Cold,
    queue: VecDeque<Vec<u64>>,
    queued: u64,
    broken: Option<Error>,
    asked: HashSet<u64>,
    ages: VecDeque<u64>,
}

impl Ahead {
    pub(crate) fn new(
        jobs: Running<Vec<u64>>,
        source: Arc<dyn Source>,
        near: u64,
        cold: Cold,
        run: &Run,
    ) -> Ahead {
        let row_bytes = source.spec().row_bytes() as u64;
        let read = if near > 1 { row_bytes } else { row_bytes.max(PAGE) };
        let most = (AHEAD_BYTES / read.max(1)).clamp(1, AHEAD_ROWS);
        let (queue, asked, ages) = Default::default();
        let depth = if run.settings.threads == Threads::None { 0 } else { REQUESTS };
        let requests = Aside::new("ahead", depth, &run.stop, move |rows| source.ahead(rows));
        Ahead { jobs, requests, near, most, cold, queue, queued: 0, broken: None, asked, ages }
    }

    fn ask(&mut self, rows: &[u64]) {
        if self.near <= 1 {
            return rows.iter().for_each(|row| self.requests.tell(*row..row + 1));
        }
        for row in rows {
            let block = row / self.near;
            if !self.asked.insert(block) {
                continue;
            }
            if self.ages.len() == REMEMBERED
                && let Some(oldest) = self.ages.pop_front()
            {
                self.asked.remove(&oldest);
            }
            self.ages.push_back(block);
            self.requests.tell(block * self.near..(block + 1).saturating_mul(self.near));
        }
    }
}

impl Pull for Ahead {
    type Item = Vec<u64>;

    fn pull(&mut self) -> Result<Option<Vec<u64>>> {
        if self.cold.next() {
            while self.queued < self.most && self.broken.is_none() {
                let rows = match self.jobs.pull() {
                    Ok(Some(rows)) => rows,
                    Ok(None) => break,
                    // It comes after the batches before it.
                    Err(error) => {
                        self.broken = Some(error);
                        break;
                    }
                };
                self.ask(&rows);
                self.queued += rows.len() as u64;
                self.queue.push_back(rows);
            }
        }
        match self.queue.pop_front() {
            Some(rows) => {
                self.queued -= rows.len() as u64;
                Ok(Some(rows))
            }
            None => match self.broken.take() {
                Some(error) => Err(error),
                None => self.jobs.pull(),
            },
        }
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let mut passed = 0;
        while passed < n
            && let Some(rows) = self.queue.pop_front()
        {
            self.queued -= rows.len() as u64;
            passed += 1;
        }
        match self.broken.take() {
            Some(error) if passed < n => Err(error),
            kept => {
                self.broken = kept;
                Ok(passed + self.jobs.skip(n - passed)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::Mutex;

    use super::*;
    use crate::data::{ColumnSpec, DType, Slot, Spec};
    use crate::plumbing::Settings;

    /// A source of 1 KiB rows that writes down what it is asked to read ahead.
    struct Asked(Arc<Spec>, Mutex<Vec<Range<u64>>>);

    impl Source for Asked {
        fn spec(&self) -> &Arc<Spec> {
            &self.0
        }

        fn rows(&self) -> u64 {
            1 << 40
        }

        fn gather(&self, _rows: &[u64], _into: &mut [Slot<'_>]) -> Result<()> {
            Ok(())
        }

        fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("asked")
        }

        fn ahead(&self, rows: Range<u64>) {
            self.1.lock().unwrap_or_else(|e| e.into_inner()).push(rows);
        }
    }

    /// Lists of ten rows, seven apart from one another, and an error after the last list.
    struct Lists(u64, u64);

    impl Pull for Lists {
        type Item = Vec<u64>;

        fn pull(&mut self) -> Result<Option<Vec<u64>>> {
            self.0 += 1;
            match self.0 <= self.1 {
                true => Ok(Some((0..10).map(|i| (self.0 * 10 + i) * 7).collect())),
                false => Err(Error::Lost { stage: "lists" }),
            }
        }
    }

    fn ahead(near: u64, lists: u64, cold: &Cold) -> (Ahead, Arc<Asked>) {
        let spec = Spec { columns: vec![ColumnSpec::new("x", DType::U8, &[1024])] };
        let asked = Arc::new(Asked(Arc::new(spec), Mutex::default()));
        let run = Run::new(0, Settings { threads: Threads::None, ..Settings::default() });
        (Ahead::new(Box::new(Lists(0, lists)), asked.clone(), near, cold.clone(), &run), asked)
    }

    fn drain(pull: &mut impl Pull<Item = Vec<u64>>) -> Vec<Result<Vec<u64>, String>> {
        let mut seen = Vec::new();
        loop {
            let item = pull.pull().map_err(|e| e.to_string());
            let ends = item.is_err();
            seen.extend(item.transpose());
            if ends {
                return seen;
            }
        }
    }

    #[test]
    fn a_cold_file_is_asked_ahead_and_the_rows_come_as_they_would() {
        let cold = Cold::default();
        cold.batches.store(1000, Ordering::Relaxed);
        let expected = drain(&mut Lists(0, 50));
        let (mut single, asked) = ahead(1, 50, &cold);
        assert_eq!(drain(&mut single), expected);
        let rows: Vec<u64> = expected.iter().flatten().flatten().copied().collect();
        assert_eq!(*asked.1.lock().unwrap(), rows.iter().map(|row| *row..row + 1).collect::<Vec<_>>());

        let (mut blocks, asked) = ahead(100, 50, &cold);
        assert_eq!(drain(&mut blocks), expected);
        let asked = asked.1.lock().unwrap();
        assert!(asked.iter().all(|range| range.start % 100 == 0 && range.end == range.start + 100));
        assert!(asked.is_sorted_by_key(|range| range.start) && asked.len() == 35 + 1, "{}", asked.len());
    }

    #[test]
    fn a_wait_is_noticed_after_quick_gathers_and_slow_ones() {
        let (cold, waits) = (Cold::default(), Cell::new(7));
        let gather = |slow: bool, waited: i64| {
            cold.batches.store(0, Ordering::Relaxed);
            cold.watch_by(
                || waits.get(),
                || {
                    let start = Instant::now();
                    waits.set(waits.get() + waited);
                    while slow && start.elapsed() < QUICK * 2 {}
                },
            );
            cold.is_cold()
        };
        WAITS.set(None);
        for before in [false, true] {
            assert!(gather(true, 1), "the wait of a slow gather");
            assert!(!gather(before, 0));
            assert!(!gather(true, 0), "the wait before is not this one's");
            assert!(!gather(before, 0));
        }
        assert!(gather(true, 2));
        WAITS.set(None);
    }

    #[test]
    fn a_warm_file_is_not_asked() {
        let (mut warm, asked) = ahead(1, 5, &Cold::default());
        assert_eq!(drain(&mut warm), drain(&mut Lists(0, 5)));
        assert!(asked.1.lock().unwrap().is_empty());
    }

    #[test]
    fn passing_over_lists_is_pulling_them() {
        for n in [0, 1, 7, 49, 50] {
            let cold = Cold::default();
            cold.batches.store(1000, Ordering::Relaxed);
            let (mut pulled, _) = ahead(1, 50, &cold);
            pulled.pull().unwrap();
            let mut expected = drain(&mut Lists(0, 50)).split_off(1);
            expected.drain(..(n as usize).min(49));
            if n < 50 {
                assert_eq!(pulled.skip(n).unwrap(), n);
                assert_eq!(drain(&mut pulled), expected);
            } else {
                assert!(pulled.skip(n).is_err());
            }
        }
    }
}
