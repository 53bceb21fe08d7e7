//! `select`, `rename` and `cast` on batches: column work.
//!
//! Where it directly follows the batch of a dataset, the source does it while gathering: columns that are not wanted are
//! not read, and numbers are converted on their way into the batch.

use std::fmt;

use crate::data::{Batch, Number, Projection};
use crate::error::Result;
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl Stream<Batch> {
    /// Batches of only these columns, in this order.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// When opened, [`Error::Spec`](crate::Error::Spec) naming the columns there are.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let rows = Dataset::from_slices((("x", vec![1.5f32, 2.5]), ("id", vec![7u64, 8])))?;
    /// let batch = rows.batch(2).select(["id"]).iter()?.next().expect("a batch")?;
    /// assert_eq!(batch.spec().to_string(), "(id: u64)");
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn select<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Stream<Batch> {
        self.project(Projection::Select(names.into_iter().map(Into::into).collect()))
    }

    /// Batches in which the column `from` is called `to`.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// When opened, [`Error::Spec`](crate::Error::Spec) when there is no such column, or the new name is taken.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let stream = Dataset::range(3)?.batch(3).rename("0", "id");
    /// assert_eq!(stream.spec()?.expect("known columns").to_string(), "(id: u64)");
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn rename(self, from: impl Into<String>, to: impl Into<String>) -> Stream<Batch> {
        self.project(Projection::Rename(from.into(), to.into()))
    }

    /// Batches in which the numbers of a column are converted to `T`, as Rust's `as` converts: floats to integers saturate and
    /// NaN gives 0, wider integers wrap into narrower ones; to bool, all but zero is true. f16 and bf16 included.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// When opened, [`Error::Spec`](crate::Error::Spec) when there is no such column, or it does not hold numbers.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let pixels = Dataset::from_slices(vec![0u8, 128, 255])?.batch(3).cast::<f32>("0");
    /// assert_eq!(pixels.iter()?.next().expect("a batch")?.column::<f32>("0")?, [0.0, 128.0, 255.0]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn cast<T: Number>(self, name: impl Into<String>) -> Stream<Batch> {
        self.project(Projection::Cast(name.into(), T::DTYPE))
    }

    /// The change of columns that `change` says: `select`, `rename` and `cast` as a value, for a type that is known at run time only.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// While iterating, as the verb that the change is one of.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{DType, Dataset, Projection};
    ///
    /// let to: DType = DType::F16;
    /// let pixels = Dataset::from_slices(vec![0u8, 128])?.batch(2).project(Projection::Cast("0".into(), to));
    /// assert_eq!(pixels.spec()?.expect("known columns").columns[0].dtype, to);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn project(self, change: Projection) -> Stream<Batch> {
        match self.projected(&change) {
            Some(stream) => stream,
            None => self.then(|upstream| ColumnsStage { upstream, change }),
        }
    }
}

impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Projection::Select(names) => write!(f, "select({names:?})"),
            Projection::Rename(from, to) => write!(f, "rename({from:?}, {to:?})"),
            Projection::Cast(name, dtype) => write!(f, "cast::<{dtype}>({name:?})"),
        }
    }
}

struct ColumnsStage {
    upstream: Upstream<Batch>,
    change: Projection,
}

impl Stage for ColumnsStage {
    type Item = Batch;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let spec = upstream.spec.as_ref().map(|spec| self.change.spec(spec)).transpose()?;
        let bytes = match (&upstream.spec, &spec, upstream.item_bytes) {
            (Some(before), Some(after), Some(bytes)) => {
                let rows = bytes / before.row_bytes().max(1) as u64;
                Some(rows.saturating_mul(after.row_bytes() as u64))
            }
            _ => None,
        };
        Ok(upstream.step(self.change.to_string()).columns(spec).sized(bytes))
    }

    fn open(&self, run: &Run) -> Result<Running<Batch>> {
        Ok(Box::new(ColumnsPull { upstream: self.upstream.open(run)?, change: self.change.clone() }))
    }

    fn label(&self) -> &'static str {
        "columns"
    }
}

struct ColumnsPull {
    upstream: Running<Batch>,
    change: Projection,
}

impl Pull for ColumnsPull {
    type Item = Batch;

    fn pull(&mut self) -> Result<Option<Batch>> {
        self.upstream.pull()?.map(|batch| self.change.batch(&batch)).transpose()
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        self.upstream.skip(n)
    }
}
