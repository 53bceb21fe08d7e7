//! `window` and `window_exact`: runs of neighbouring items, which may overlap.
//!
//! Window `k` starts at item `k · shift`, whatever the items are: an upstream error keeps its place among them, and every window it
//! lies in is that error, so windows never close up over a gap. Passing over windows passes over items. Items that later windows
//! want too are cloned; the others are moved.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{Error, Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Clone + Send + 'static> Stream<T> {
    /// Windows of `size` items, each starting `shift` items after the one before, with every `stride`-th item in them. The
    /// last windows of an epoch have what remains.
    ///
    /// A window is an error if one of its items is.
    ///
    /// **Order:** kept · **Holds:** the items that a window spans · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] for a size, shift or stride of 0.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let windows = |size, shift, stride| Dataset::from_generator(|_| 0..7).window(size, shift, stride);
    /// let all = |windows: gristmill::Stream<Vec<i32>>| windows.iter()?.collect::<Result<Vec<_>, _>>();
    /// assert_eq!(all(windows(3, 3, 1))?, [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    /// assert_eq!(all(windows(3, 2, 2))?, [vec![0, 2, 4], vec![2, 4, 6], vec![4, 6], vec![6]]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn window(self, size: usize, shift: usize, stride: usize) -> Stream<Vec<T>> {
        self.windowed("window", Form { size, shift, stride, exact: false })
    }

    /// As [`window`](Stream::window), without the windows at the end of an epoch that have fewer than `size` items.
    ///
    /// **Order:** kept · **Holds:** the items that a window spans · **Threads:** none
    ///
    /// # Errors
    /// As [`window`](Stream::window).
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let pairs = Dataset::from_generator(|_| 0..4).window_exact(2, 1, 1);
    /// assert_eq!(pairs.iter()?.collect::<Result<Vec<_>, _>>()?, [[0, 1], [1, 2], [2, 3]]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn window_exact(self, size: usize, shift: usize, stride: usize) -> Stream<Vec<T>> {
        self.windowed("window_exact", Form { size, shift, stride, exact: true })
    }

    fn windowed(self, label: &'static str, form: Form) -> Stream<Vec<T>> {
        self.then(|upstream| WindowStage { upstream, label, form })
    }
}

#[derive(Clone, Copy)]
struct Form {
    size: usize,
    shift: usize,
    stride: usize,
    exact: bool,
}

impl Form {
    /// Items from a window's first to its last, both counted.
    fn span(self) -> usize {
        self.size.saturating_sub(1).saturating_mul(self.stride).saturating_add(1)
    }

    /// Windows that `items` items have.
    fn windows(self, items: u64) -> u64 {
        let (span, shift) = (self.span() as u64, (self.shift as u64).max(1));
        match self.exact {
            true if items < span => 0,
            true => (items - span) / shift + 1,
            false => items.div_ceil(shift),
        }
    }
}

struct WindowStage<T> {
    upstream: Upstream<T>,
    label: &'static str,
    form: Form,
}

impl<T: Clone + Send + 'static> Stage for WindowStage<T> {
    type Item = Vec<T>;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let Form { size, shift, stride, .. } = self.form;
        if size == 0 || shift == 0 || stride == 0 {
            let found = format!("{size}, {shift} and {stride}");
            return Err(Error::argument(self.label, "a size, a shift and a stride of at least 1", found));
        }
        let upstream = self.upstream.outline(run)?;
        let length = upstream.length.map(|items| self.form.windows(items));
        let most = |items: usize| upstream.length.exact().unwrap_or(u64::MAX).min(items as u64).max(1);
        let bytes = upstream.item_bytes.map(|item| item.saturating_mul(most(size)));
        // Of the items that are held, as many as make a window count as one.
        let holds = most(self.form.span()).div_ceil(most(size));
        let call = format!("{}({size}, {shift}, {stride})", self.label);
        Ok(upstream.step(call).length(length).columns(None).sized(bytes).holds(holds))
    }

    fn open(&self, run: &Run) -> Result<Running<Vec<T>>> {
        Ok(Box::new(WindowPull {
            upstream: Some(self.upstream.open(run)?),
            label: self.label,
            form: self.form,
            held: VecDeque::new(),
            ahead: 0,
            position: 0,
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        self.label
    }
}

struct WindowPull<T> {
    /// Gone when it has ended.
    upstream: Option<Running<T>>,
    label: &'static str,
    form: Form,
    /// Items from the next window's first on; errors are shared by the windows they lie in.
    held: VecDeque<Result<T, Arc<Error>>>,
    /// Items to be passed over before the next window's first.
    ahead: u64,
    /// The number of the next window.
    position: u64,
    broken: Option<Error>,
}

impl<T: Clone + Send> WindowPull<T> {
    /// Makes the items of the next window ready, as many as there are.
    fn fill(&mut self) -> Result<()> {
        let span = self.form.span();
        while self.held.len() < span
            && let Some(upstream) = &mut self.upstream
        {
            if self.ahead > 0 {
                match upstream.skip(self.ahead) {
                    Ok(passed) if passed == self.ahead => self.ahead = 0,
                    Ok(_) => self.upstream = None,
                    Err(error) => self.end(error),
                }
                continue;
            }
            let item = match upstream.pull() {
                Ok(Some(item)) => Ok(item),
                Ok(None) => {
                    self.upstream = None;
                    break;
                }
                Err(error) if error.is_fatal() => {
                    self.end(error);
                    break;
                }
                Err(error) => Err(Arc::new(error)),
            };
            let bytes = (2 * self.held.len() * size_of::<T>()) as u64;
            self.held.try_reserve(1).map_err(|_| Error::no_memory("a window", bytes))?;
            self.held.push_back(item);
        }
        Ok(())
    }

    fn end(&mut self, error: Error) {
        self.upstream = None;
        self.broken = Some(error);
    }

    /// Passes over up to `items` items from the next window's first on, and says how many there were.
    fn advance(&mut self, items: u64) -> Result<u64> {
        let from_held = self.held.len().min(usize::try_from(items).unwrap_or(usize::MAX));
        self.held.drain(..from_held);
        let from_held = from_held as u64;
        let (Some(upstream), true) = (&mut self.upstream, from_held < items) else { return Ok(from_held) };
        let ahead = std::mem::take(&mut self.ahead);
        let wanted = ahead.saturating_add(items - from_held);
        let passed = upstream.skip(wanted)?;
        if passed < wanted {
            self.upstream = None;
        }
        Ok(from_held + passed.saturating_sub(ahead))
    }

    /// The items of the window that is ready; those that no later window wants are taken out.
    fn take(&mut self) -> Result<Vec<T>> {
        let Form { size, shift, stride, .. } = self.form;
        let (label, position) = (self.label, self.position);
        self.position += 1;
        let places = (0..self.held.len()).step_by(stride).take(size);
        let (count, leaving) = (places.len(), shift.min(self.held.len()));
        let failed = places.clone().find_map(|place| self.held[place].as_ref().err().cloned());
        let mut window = Vec::new();
        let bytes = (count * size_of::<T>()) as u64;
        window.try_reserve_exact(count).map_err(|_| Error::no_memory("a window", bytes))?;
        let moved = self.held.drain(..leaving).step_by(stride).take(size);
        window.extend(moved.filter_map(Result::ok));
        self.ahead = (shift - leaving) as u64;
        if let Some(error) = failed {
            return Err(Error::User { stage: label, position, source: Box::new(error) });
        }
        let shared = places.skip(window.len()).filter_map(|place| self.held[place - leaving].as_ref().ok());
        caught(label, position, || {
            window.extend(shared.cloned());
            Ok(window)
        })
    }
}

impl<T: Clone + Send> Pull for WindowPull<T> {
    type Item = Vec<T>;

    fn pull(&mut self) -> Result<Option<Vec<T>>> {
        self.fill()?;
        let short = self.held.len() < self.form.span();
        if self.held.is_empty() || short && self.form.exact {
            return self.broken.take().map_or(Ok(None), Err);
        }
        self.take().map(Some)
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        // All windows but the last are passed over by their items alone; the last is pulled, to see whether it is there.
        let before = n.saturating_sub(1);
        let items = before.saturating_mul(self.form.shift as u64);
        let mut there = self.advance(items)?;
        if n > 0 && there == items {
            self.position += before;
            self.fill()?;
            there += self.held.len() as u64;
            match self.pull() {
                Ok(None) => {}
                Err(error) if error.is_fatal() => return Err(error),
                _ => return Ok(n),
            }
        }
        self.broken.take().map_or(Ok(self.form.windows(there)), Err)
    }
}
