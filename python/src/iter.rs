//! What a loop of Python holds: one epoch, pulled by a thread of its own so that waiting answers signals.
//!
//! The thread pulls an item when one is asked for, and nothing ahead of it. Small batches of streams that call no function of Python are
//! taken without it, once the first has come: they are there at once, and a change of threads would cost more than they do. One that
//! is not there at once, as of a slow disk, brings the thread back.

use std::mem;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, unbounded};
use gristmill::plumbing::Stop;
use gristmill::{Error, Result, State, Stream};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array;
use crate::errors::{self, OrRaise};
use crate::value::{self, Value};
use crate::wait;

/// Batches up to this many bytes are taken without the thread, as long as none takes longer than this.
const SMALL: usize = 1 << 20;
const AT_ONCE: Duration = Duration::from_millis(20);

/// How long an iterator that was interrupted is waited for when it is left.
const PATIENCE: Duration = Duration::from_millis(100);

type Values = Box<dyn Iterator<Item = Result<Value>> + Send>;

/// Where an iterator starts.
pub(crate) enum Start {
    Epoch(u64),
    State(Box<State>),
}

/// An epoch that was opened and not started.
pub(crate) struct Opened {
    items: Values,
    stop: Stop,
    state: State,
    length: Option<u64>,
}

/// Opens an epoch of `stream`.
pub(crate) fn open<T: Into<Value> + Send + 'static>(stream: &Stream<T>, start: &Start) -> Result<Opened> {
    let iter = match start {
        Start::Epoch(epoch) => stream.epoch(*epoch)?,
        Start::State(state) => stream.resume(state)?,
    };
    let stop = iter.stop_flag();
    let (state, length) = (iter.state(), stream.length()?.exact());
    Ok(Opened { items: Box::new(iter.map(|item| item.map(Into::into))), stop, state, length })
}

/// An iterator over one epoch of a stream. Any number of threads may take items from it; each item comes once.
///
/// Leaving it, `close()` and `with` stop and join its threads.
#[pyclass(frozen, weakref, module = "gristmill")]
pub(crate) struct Iter {
    process: u32,
    state: State,
    length: Option<u64>,
    stop: Stop,
    answers: Receiver<Answer>,
    /// Closes when the thread has ended.
    ended: Receiver<()>,
    hand: Mutex<Hand>,
    /// The thread's side while there is no thread.
    direct: Mutex<Option<Puller>>,
    /// The last of the items was delivered; silence is the end and no accident.
    last: Arc<AtomicBool>,
}

type Answer = Option<Result<Value>>;

/// What the consumers share.
struct Hand {
    phase: Phase,
    /// Items asked for and not answered yet, and consumers that wait for an answer.
    open: usize,
    waiting: usize,
    item: u64,
    waited: Duration,
    /// Items have come that are better taken without the thread; never again after one did not come at once.
    small: bool,
    slow: bool,
    /// A signal ended a wait: what the thread is busy with may last.
    interrupted: bool,
}

enum Phase {
    Waiting(Puller),
    Moving { asks: Sender<Ask>, thread: JoinHandle<()> },
    Direct,
    Ended,
    Closed,
}

enum Ask {
    Item,
    Return(Sender<Puller>),
}

/// How the next item is come by.
enum Turn {
    Wait,
    Direct,
    End,
    Closed,
    /// With what is to be let go of.
    Failed(Error, Option<Puller>),
}

/// The thread's side.
struct Puller {
    items: Values,
    answers: Sender<Answer>,
    last: Arc<AtomicBool>,
    _ended: Sender<()>,
}

fn is_last(answer: &Answer) -> bool {
    answer.as_ref().is_none_or(|item| item.as_ref().is_err_and(Error::is_fatal))
}

impl Puller {
    fn run(mut self, asks: &Receiver<Ask>) {
        while let Ok(ask) = asks.recv() {
            if let Ask::Return(to) = ask {
                // A consumer that has gone meanwhile needs nothing any more.
                let _ = to.send(self);
                return;
            }
            let answer = self.items.next();
            let last = is_last(&answer);
            self.last.fetch_or(last, Ordering::Release);
            if self.answers.send(answer).is_err() || last {
                return;
            }
        }
    }
}

impl Iter {
    pub(crate) fn new(opened: Opened, python: bool) -> Iter {
        let (sender, answers) = unbounded();
        let (end, ended) = bounded(0);
        let last = Arc::new(AtomicBool::new(false));
        let puller = Puller { items: opened.items, answers: sender, last: last.clone(), _ended: end };
        let hand = Hand {
            phase: Phase::Waiting(puller),
            open: 0,
            waiting: 0,
            item: opened.state.position().item,
            waited: Duration::ZERO,
            small: false,
            slow: python,
            interrupted: false,
        };
        Iter {
            process: process::id(),
            state: opened.state,
            length: opened.length,
            stop: opened.stop,
            answers,
            ended,
            hand: Mutex::new(hand),
            direct: Mutex::new(None),
            last,
        }
    }

    /// Asks for one more item. Calls nothing of Python, and waits for nothing that may: a consumer that holds the interpreter may be
    /// waiting for the lock.
    fn ask(&self) -> Turn {
        let mut hand = locked(&self.hand);
        if let Phase::Waiting(_) = hand.phase
            && let Phase::Waiting(puller) = mem::replace(&mut hand.phase, Phase::Ended)
        {
            let (asks, asked) = unbounded();
            let given = Arc::new(Mutex::new(Some(puller)));
            let taken = given.clone();
            let run = move || {
                let puller = locked(&taken).take();
                if let Some(puller) = puller {
                    puller.run(&asked);
                }
            };
            match thread::Builder::new().name("grist-python".into()).spawn(run) {
                Ok(thread) => hand.phase = Phase::Moving { asks, thread },
                Err(source) => {
                    return Turn::Failed(Error::Spawn { stage: "python", source }, locked(&given).take());
                }
            }
        }
        let hand = &mut *hand;
        match &hand.phase {
            Phase::Moving { asks, .. } if hand.small && hand.open == 0 && hand.waiting == 0 => {
                let (sender, returned) = bounded(1);
                // The thread waits to be asked, and answers at once.
                let _ = asks.send(Ask::Return(sender));
                let Ok(puller) = returned.recv() else {
                    hand.phase = Phase::Ended;
                    return Turn::Failed(Error::Lost { stage: "python" }, None);
                };
                *locked(&self.direct) = Some(puller);
                hand.phase = Phase::Direct;
                Turn::Direct
            }
            Phase::Moving { asks, .. } => {
                hand.waiting += 1;
                if hand.open < hand.waiting {
                    hand.open += 1;
                    // A thread that has ended needs none.
                    let _ = asks.send(Ask::Item);
                }
                Turn::Wait
            }
            Phase::Direct => Turn::Direct,
            Phase::Closed => Turn::Closed,
            Phase::Ended | Phase::Waiting(_) => Turn::End,
        }
    }

    /// What the thread answers.
    fn waited(&self, py: Python<'_>) -> PyResult<Answer> {
        let answer = match self.answers.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(TryRecvError::Disconnected) => Ok(None),
            Err(TryRecvError::Empty) => wait::for_answer(py, &self.answers),
        };
        let mut hand = locked(&self.hand);
        hand.waiting -= 1;
        hand.interrupted |= answer.is_err();
        let Some(answer) = answer? else {
            return Ok((!self.last.load(Ordering::Acquire)).then_some(Err(Error::Lost { stage: "python" })));
        };
        hand.open -= 1;
        if let Some(Ok(Value::Batch(batch))) = &answer {
            hand.small = !hand.slow && batch.bytes() <= SMALL;
        }
        Ok(answer)
    }

    /// The next item, pulled here; `None` if another thread has ended or closed the iterator, or brought the thread back.
    fn pulled(&self, py: Python<'_>) -> Option<Answer> {
        py.detach(|| {
            let mut direct = locked(&self.direct);
            let since = Instant::now();
            let answer = direct.as_mut()?.items.next();
            let mut hand = locked(&self.hand);
            if is_last(&answer) {
                self.last.store(true, Ordering::Release);
                *direct = None;
                hand.phase = Phase::Ended;
            } else if since.elapsed() > AT_ONCE
                && let Some(puller) = direct.take()
            {
                (hand.small, hand.slow) = (false, true);
                hand.phase = Phase::Waiting(puller);
            }
            Some(answer)
        })
    }

    /// Waits for the end of the thread that has delivered the last item.
    fn reap(&self, py: Python<'_>) {
        let mut hand = locked(&self.hand);
        if let Phase::Moving { .. } = hand.phase
            && let Phase::Moving { thread, .. } = mem::replace(&mut hand.phase, Phase::Ended)
        {
            drop(hand);
            py.detach(|| drop(thread.join()));
        }
    }

    /// Refuses what was made before a fork: its threads, and whatever locks they held, stayed with the parent.
    fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        match process::id() {
            here if here == self.process => Ok(()),
            here => {
                Err(Error::Forked { what: "an iterator", made_in: self.process, used_in: here }).or_raise(py)
            }
        }
    }

    /// Stops the threads and waits for their end.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.stop.stop();
        let phase = mem::replace(&mut locked(&self.hand).phase, Phase::Closed);
        // Another thread may be pulling.
        py.detach(|| drop(locked(&self.direct).take()));
        match phase {
            Phase::Moving { asks, thread } => {
                drop(asks);
                wait::for_answer(py, &self.ended)?;
                py.detach(|| drop(thread.join()));
            }
            // Threads of its stages may wait for the interpreter, in functions that it passes over.
            other => py.detach(|| drop(other)),
        }
        Ok(())
    }
}

#[pymethods]
impl Iter {
    #[allow(clippy::self_named_constructors)]
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.check_process(py)?;
        let since = Instant::now();
        let answer = loop {
            match self.ask() {
                Turn::End => return Ok(None),
                Turn::Closed => return Err(errors::named(py, "ClosedError", "the iterator was closed")),
                Turn::Failed(error, puller) => {
                    py.detach(|| drop(puller));
                    return Err(error).or_raise(py);
                }
                Turn::Wait => break self.waited(py)?,
                Turn::Direct => {
                    if let Some(answer) = self.pulled(py) {
                        break answer;
                    }
                }
            }
        };
        let last = is_last(&answer);
        if last {
            self.reap(py);
        }
        let mut hand = locked(&self.hand);
        hand.waited += since.elapsed();
        hand.item += u64::from(!last);
        drop(hand);
        match answer {
            Some(item) => value::to_python(py, item.or_raise(py)?, array::owned).map(Some),
            None => Ok(None),
        }
    }

    /// Where the next item stands, and of which stream it is one: a dict of plain values, which `stream.resume(state)` goes on from.
    /// What was delivered counts, not what was read ahead.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let text =
            serde_json::to_string(&self.state).map_err(|e| errors::named(py, "Error", &e.to_string()))?;
        let state = py.import("json")?.call_method1("loads", (text,))?.cast_into::<PyDict>()?;
        state.set_item("item", locked(&self.hand).item)?;
        Ok(state)
    }

    /// Epoch, items delivered, and seconds that the loop waited for them.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = PyDict::new(py);
        let (item, waited) = {
            let hand = locked(&self.hand);
            (hand.item, hand.waited)
        };
        stats.set_item("epoch", self.state.position().epoch)?;
        stats.set_item("items", item)?;
        stats.set_item("length", self.length)?;
        stats.set_item("waited_seconds", waited.as_secs_f64())?;
        Ok(stats)
    }

    /// Stops the threads and waits for their end. Taking an item then raises `ClosedError`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.check_process(py)?;
        self.finish(py)
    }

    /// Lets go of the iterator as dropping it does. A signal that comes meanwhile is raised in the main thread, and the threads are
    /// left to end by themselves; so are those of an iterator that was interrupted, after a moment.
    fn leave(&self, py: Python<'_>) {
        if self.process != process::id() {
            // The threads are the parent's, and so are the locks they may hold: nothing is stopped, waited for, or let go.
            if let (Ok(mut hand), Ok(mut direct)) = (self.hand.try_lock(), self.direct.try_lock()) {
                mem::forget((mem::replace(&mut hand.phase, Phase::Closed), direct.take()));
            }
            mem::forget((self.answers.clone(), self.ended.clone()));
            return;
        }
        if thread::current().name().is_some_and(|name| name.starts_with("grist-")) {
            // The collector of cycles runs anywhere, also on a thread of this very iterator: that one cannot be waited for here.
            self.stop.stop();
            let phase = mem::replace(&mut locked(&self.hand).phase, Phase::Closed);
            let direct = locked(&self.direct).take();
            let _ = thread::Builder::new().name("grist-left".into()).spawn(move || drop((phase, direct)));
            return;
        }
        if locked(&self.hand).interrupted {
            self.stop.stop();
            locked(&self.hand).phase = Phase::Closed;
            let _ = py.detach(|| self.ended.recv_timeout(PATIENCE));
            return;
        }
        if let Err(error) = self.finish(py)
            && py.import("_thread").and_then(|module| module.call_method0("interrupt_main")).is_err()
        {
            error.write_unraisable(py, None);
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    /// How many items are still to come, where that is known.
    fn __length_hint__(&self) -> usize {
        let left = self.length.map_or(0, |length| length.saturating_sub(locked(&self.hand).item));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        let length = self.length.map_or("unknown".into(), |n| n.to_string());
        format!(
            "Iter(epoch={}, item={}, length={length})",
            self.state.position().epoch,
            locked(&self.hand).item
        )
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        Python::try_attach(|py| self.leave(py));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
