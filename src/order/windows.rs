//! `windows`: overlapping runs of rows as rows, straight out of the file.
//!
//! A window is a row number like any other, so everything above works as on plain rows: shuffles, splits, shards, jumps.
//! Where a column's rows stand side by side in one file or block, a window is copied in one piece; elsewhere row by row.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::data::{ColumnSpec, Projection, Slot, Spec};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::Source;

/// Row numbers written out at a time.
const LISTED: usize = 4096;

impl Dataset {
    /// Windows of `context` neighbouring rows as rows, one every `stride` rows: window `i` starts at row `i * stride`. Each
    /// column's shape gets one more axis in front, `[context]`. Rows at the end that fill no window are left out.
    ///
    /// The language-model case: a file of tokens, one number a row, is cut into overlapping blocks without being copied.
    /// A `stride` equal to `context` cuts it into blocks side by side; a file of `n` rows has
    /// `(n - context) / stride + 1` windows. Split and shuffle the windows, not the rows; to hold back a part of the file
    /// without overlap, [`take`](Dataset::take) and [`skip`](Dataset::skip) come before.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] when `context` or `stride` is 0, or when the rows are not in the order of their source;
    /// [`Error::Spec`] when a window has more bytes than memory can number.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Shuffle};
    ///
    /// let tokens = Dataset::from_slices((("tokens", vec![10u16, 11, 12, 13, 14, 15]),))?;
    /// let windows = tokens.windows(3, 2)?;
    /// assert_eq!(windows.spec().to_string(), "(tokens: u16[3])");
    /// let batch = windows.batch(2).iter()?.next().expect("a batch")?;
    /// assert_eq!(batch.column::<u16>("tokens")?, [10, 11, 12, 12, 13, 14]);
    /// assert_eq!(windows.shuffle(Shuffle::full(7)).len(), 2);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn windows(&self, context: usize, stride: u64) -> Result<Dataset> {
        let refused = |expected: &str, found: String| Err(Error::argument("windows", expected, found));
        if context == 0 || stride == 0 {
            return refused(
                "windows of at least one row, at least one row apart",
                format!("({context}, {stride})"),
            );
        }
        let first = match self.inner().first_of_run() {
            Some(first) => first,
            None if self.is_empty() => 0,
            None => {
                return refused(
                    "rows in the order of their source (shuffle the windows)",
                    format!("{self:?}"),
                );
            }
        };
        let rows = self.len().checked_sub(context as u64).map_or(0, |last| last / stride + 1);
        let call = format!("{self:?}.windows({context}, {stride})");
        let spec = windowed(self.source().spec(), context)?;
        let whole = if rows > 0 { self.source().windows(first, context, stride) } else { None };
        let cut = match whole {
            Some(windows) => Cut::Whole(windows),
            None => Cut::Rows { source: self.source().clone(), first, context, stride },
        };
        Ok(Dataset::whole(Arc::new(WindowsSource { spec, rows, call: call.into(), cut })))
    }
}

/// `spec` with one more axis in front of every column.
fn windowed(spec: &Spec, context: usize) -> Result<Arc<Spec>> {
    let column = |column: &ColumnSpec| {
        let mut shape = vec![context];
        shape.extend_from_slice(&column.shape);
        ColumnSpec { shape, ..column.clone() }
    };
    Spec::new(spec.columns.iter().map(column).collect())
}

struct WindowsSource {
    spec: Arc<Spec>,
    rows: u64,
    /// As the user wrote it, whatever was projected since.
    call: Arc<str>,
    cut: Cut,
}

/// Where windows come from.
enum Cut {
    /// A source of windows, perhaps with more of them at its end.
    Whole(Arc<dyn Source>),
    /// A source of rows.
    Rows { source: Arc<dyn Source>, first: u64, context: usize, stride: u64 },
}

impl WindowsSource {
    /// The same windows over a source made from the present one.
    fn over(
        &self,
        spec: Arc<Spec>,
        make: impl Fn(&Arc<dyn Source>) -> Option<Arc<dyn Source>>,
    ) -> Option<WindowsSource> {
        let cut = match &self.cut {
            Cut::Whole(windows) => Cut::Whole(make(windows)?),
            Cut::Rows { source, first, context, stride } => {
                let (first, context, stride) = (*first, *context, *stride);
                Cut::Rows { source: make(source)?, first, context, stride }
            }
        };
        Some(WindowsSource { spec, rows: self.rows, call: self.call.clone(), cut })
    }
}

impl Source for WindowsSource {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        let (source, first, context, stride) = match &self.cut {
            Cut::Whole(windows) => return windows.gather(rows, into),
            Cut::Rows { source, first, context, stride } => (source, *first, *context, *stride),
        };
        let columns = &source.spec().columns;
        let mut list = Vec::with_capacity(LISTED.min(context.saturating_mul(rows.len())));
        let mut done = 0;
        let mut numbers = rows.iter().flat_map(|window| {
            let from = first + window * stride;
            from..from + context as u64
        });
        loop {
            list.clear();
            list.extend(numbers.by_ref().take(LISTED));
            if list.is_empty() {
                return Ok(());
            }
            let mut slots = Vec::with_capacity(columns.len());
            for (slot, column) in into.iter_mut().zip(columns) {
                let row = column.row_bytes();
                let bytes = &mut slot.bytes()[done * row..(done + list.len()) * row];
                slots.push(Slot::new(column, bytes));
            }
            source.gather(&list, &mut slots)?;
            done += list.len();
        }
    }

    fn confirm(&self) -> Result<()> {
        match &self.cut {
            Cut::Whole(source) | Cut::Rows { source, .. } => source.confirm(),
        }
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.call)
    }

    fn scattered(&self) -> Option<Arc<dyn Source>> {
        Some(Arc::new(self.over(self.spec.clone(), |source| source.scattered())?))
    }

    fn ahead(&self, windows: Range<u64>) {
        match &self.cut {
            Cut::Whole(source) => source.ahead(windows),
            Cut::Rows { source, first, context, stride } if !windows.is_empty() => {
                let last = first + (windows.end.min(self.rows).max(1) - 1) * stride;
                source.ahead(first + windows.start * stride..last + *context as u64);
            }
            Cut::Rows { .. } => {}
        }
    }

    fn project(&self, change: &Projection) -> Option<Arc<dyn Source>> {
        let spec = change.spec(&self.spec).ok()?;
        Some(Arc::new(self.over(spec, |source| source.project(change))?))
    }

    fn stamps(&self) -> Vec<String> {
        match &self.cut {
            Cut::Whole(source) | Cut::Rows { source, .. } => source.stamps(),
        }
    }

    fn notes(&self) -> Vec<String> {
        match &self.cut {
            Cut::Whole(source) | Cut::Rows { source, .. } => source.notes(),
        }
    }
}
