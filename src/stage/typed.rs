//! `typed`: batches as tuples of tensors.

use crate::data::{Batch, Typed};
use crate::error::Result;
use crate::outline::short_name;
use crate::stream::Stream;

impl Stream<Batch> {
    /// Batches taken apart into tensors of these element types, one for each column, in order. Checked once, here, where the
    /// columns are known before reading; otherwise on every batch. Copies nothing.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Spec`](crate::Error::Spec) naming the first column that differs, and what to add.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let rows = Dataset::from_slices((vec![0.5f32, 1.5], vec![3i64, 4]))?;
    /// for batch in rows.batch(2).typed::<(f32, i64)>()?.iter()? {
    ///     let (x, y) = batch?;
    ///     assert_eq!((x.as_slice(), y.as_slice()), (&[0.5, 1.5][..], &[3, 4][..]));
    /// }
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn typed<T: Typed>(self) -> Result<Stream<T::Tensors>> {
        if let Some(spec) = self.spec()? {
            T::check(&spec)?;
        }
        let call = format!("typed::<{}>()", short_name::<T>());
        Ok(self.mapped_same("typed", call, |batch, _| T::tensors(batch)))
    }
}
