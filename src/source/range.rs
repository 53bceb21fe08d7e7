//! `range`: row numbers as rows.

use std::fmt;

use super::cells::Cells;
use super::column::Column;
use crate::data::{Convert, DType};
use crate::dataset::Dataset;
use crate::error::Result;

impl Dataset {
    /// The numbers `0..rows` as one `u64` column: computed, so any length costs nothing.
    ///
    /// # Errors
    /// None today; the `Result` is that of [`from_slices`](Dataset::from_slices).
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let batch = Dataset::range(5)?.batch(3).iter()?.next().expect("a batch")?;
    /// assert_eq!(batch.column::<u64>("0")?, [0, 1, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn range(rows: u64) -> Result<Dataset> {
        let numbers = Numbers { start: 0, step: 1, rows, text: format!("range({rows})") };
        Dataset::table(vec![Column::new(numbers)], "")
    }

    /// The numbers from `start` towards `stop` by `step` as one `i64` column, as Python's `range`: empty when the step
    /// leads the wrong way.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a step of 0.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let batch = Dataset::range_by(5, 1, -2)?.batch(3).iter()?.next().expect("a batch")?;
    /// assert_eq!(batch.column::<i64>("0")?, [5, 3]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn range_by(start: i64, stop: i64, step: i64) -> Result<Dataset> {
        let text = format!("range_by({start}, {stop}, {step})");
        let distance = (i128::from(stop) - i128::from(start)) * i128::from(step.signum());
        let rows = match step {
            0 => return Err(crate::Error::argument("range_by", "a step other than 0", 0)),
            _ => (distance.max(0) as u64).div_ceil(step.unsigned_abs()),
        };
        let numbers = Numbers { start: start as u64, step: step as u64, rows, text };
        Dataset::table(vec![Column::new(Signed(numbers))], "")
    }
}

/// An arithmetic sequence, in wrapping arithmetic.
struct Numbers {
    start: u64,
    step: u64,
    rows: u64,
    text: String,
}

impl Cells for Numbers {
    fn dtype(&self) -> DType {
        DType::U64
    }

    fn shape(&self) -> &[usize] {
        &[]
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [u8], convert: &Convert) -> Result<()> {
        for (row, into) in rows.iter().zip(into.chunks_mut(convert.ratio().1)) {
            let number = self.start.wrapping_add(row.wrapping_mul(self.step));
            convert.run(bytemuck::bytes_of_mut(&mut { number }), into);
        }
        Ok(())
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// The same numbers, seen as signed.
struct Signed(Numbers);

impl Cells for Signed {
    fn dtype(&self) -> DType {
        DType::I64
    }

    fn shape(&self) -> &[usize] {
        &[]
    }

    fn rows(&self) -> u64 {
        self.0.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [u8], convert: &Convert) -> Result<()> {
        self.0.gather(rows, into, convert)
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe(out)
    }
}
