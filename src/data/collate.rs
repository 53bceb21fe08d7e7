//! From single items to batches: which Rust values can be stacked, and how.

use super::{Array, DType, Element, Row, Spec, Tensor};
use crate::error::{Error, Result};

/// One column of one item: what [`Collate`] shows of a value.
#[derive(Debug, Clone, Copy)]
pub struct CellRef<'a> {
    /// The column's name.
    pub name: &'a str,
    /// The type of the elements.
    pub dtype: DType,
    /// The shape in one row.
    pub shape: &'a [usize],
    /// The elements, in C order and the machine's byte order.
    pub bytes: &'a [u8],
}

impl CellRef<'_> {
    /// Whether this cell is what `spec` says column `at` holds; the error names the difference.
    pub(crate) fn check(&self, spec: &Spec, at: usize) -> Result<()> {
        let found = || format!("{} {}{:?}", self.name, self.dtype, self.shape);
        let Some(column) = spec.columns.get(at) else {
            return Err(Error::spec("item", format!("{} columns", spec.columns.len()), found()));
        };
        let same = column.dtype == self.dtype
            && equal(&column.shape, self.shape)
            && equal(column.name.as_bytes(), self.name.as_bytes());
        if !same {
            let expected = format!("{} {}{:?}", column.name, column.dtype, column.shape);
            return Err(Error::spec("item", expected, found()));
        }
        if self.bytes.len() != column.row_bytes() {
            let expected = format!("{} bytes in column {:?}", column.row_bytes(), column.name);
            return Err(Error::spec("item", expected, self.bytes.len()));
        }
        Ok(())
    }
}

/// Element by element: comparing such short slices as a whole took 75 ns each, three quarters of the cost of an item.
fn equal<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// A value that can be one column of an item: a number, a fixed array, a `Vec`, an [`Array`] or a [`Tensor`].
pub trait Cell: Send + 'static {
    /// Shows dtype, shape and bytes to `visit`.
    fn cell<R>(&self, visit: impl FnOnce(DType, &[usize], &[u8]) -> R) -> R;
}

impl<T: Element> Cell for T {
    fn cell<R>(&self, visit: impl FnOnce(DType, &[usize], &[u8]) -> R) -> R {
        visit(T::DTYPE, &[], bytemuck::bytes_of(self))
    }
}

impl<T: Element, const N: usize> Cell for [T; N] {
    fn cell<R>(&self, visit: impl FnOnce(DType, &[usize], &[u8]) -> R) -> R {
        visit(T::DTYPE, &[N], bytemuck::cast_slice(self))
    }
}

impl<T: Element> Cell for Vec<T> {
    fn cell<R>(&self, visit: impl FnOnce(DType, &[usize], &[u8]) -> R) -> R {
        visit(T::DTYPE, &[self.len()], bytemuck::cast_slice(self))
    }
}

impl Cell for Array {
    fn cell<R>(&self, visit: impl FnOnce(DType, &[usize], &[u8]) -> R) -> R {
        visit(self.dtype(), self.shape(), self.bytes())
    }
}

impl<T: Element> Cell for Tensor<T> {
    fn cell<R>(&self, visit: impl FnOnce(DType, &[usize], &[u8]) -> R) -> R {
        visit(T::DTYPE, self.shape(), bytemuck::cast_slice(self.as_slice()))
    }
}

/// An item that can be stacked into batches: a [`Row`], one [`Cell`], or a tuple of up to twelve
/// (columns `"0"`, `"1"`, …).
///
/// For a type of your own, show its cells in a fixed order:
///
/// ```
/// use gristmill::{Cell, CellRef, Collate, Dataset, Result};
///
/// struct Point { at: [f32; 2], label: i64 }
///
/// impl Collate for Point {
///     fn cells(&self, visit: &mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()> {
///         self.at.cell(|dtype, shape, bytes| visit(CellRef { name: "at", dtype, shape, bytes }))?;
///         self.label.cell(|dtype, shape, bytes| visit(CellRef { name: "label", dtype, shape, bytes }))
///     }
/// }
///
/// let points = Dataset::from_generator(|_epoch| (0..3).map(|i| Point { at: [i as f32, 0.5], label: i }));
/// let batch = points.batch(3).iter()?.next().expect("one batch")?;
/// assert_eq!(batch.column::<f32>("at")?, [0.0, 0.5, 1.0, 0.5, 2.0, 0.5]);
/// # Ok::<(), gristmill::Error>(())
/// ```
pub trait Collate: Send + 'static {
    /// Shows the item's cells, in the same order for every item; stops at the first error.
    ///
    /// # Errors
    /// Those of `visit`.
    fn cells(&self, visit: &mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()>;
}

impl<T: Cell> Collate for T {
    fn cells(&self, visit: &mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()> {
        self.cell(|dtype, shape, bytes| visit(CellRef { name: "0", dtype, shape, bytes }))
    }
}

impl Collate for Row {
    fn cells(&self, visit: &mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()> {
        for (column, array) in self.spec().columns.iter().zip(self.batch().arrays()) {
            visit(CellRef {
                name: &column.name,
                dtype: column.dtype,
                shape: &column.shape,
                bytes: array.bytes(),
            })?;
        }
        Ok(())
    }
}

/// An item whose form can be compared with a declared [`Spec`]: what [`declare`](crate::Stream::declare) takes.
pub trait Conform: Send + 'static {
    /// Compares the item with `spec`.
    ///
    /// # Errors
    /// [`Error::Spec`] naming the first difference.
    fn conform(&self, spec: &Spec) -> Result<()>;
}

impl<T: Collate> Conform for T {
    fn conform(&self, spec: &Spec) -> Result<()> {
        let mut at = 0;
        self.cells(&mut |cell| {
            cell.check(spec, at)?;
            at += 1;
            Ok(())
        })?;
        match at == spec.columns.len() {
            true => Ok(()),
            false => Err(Error::spec("item", format!("{} columns", spec.columns.len()), at)),
        }
    }
}

impl Conform for super::Batch {
    fn conform(&self, spec: &Spec) -> Result<()> {
        match **self.spec() == *spec {
            true => Ok(()),
            false => Err(Error::spec("batch", spec, self.spec())),
        }
    }
}

macro_rules! collate_tuple {
    ($($cell:ident $at:tt $name:literal),*) => {
        impl<$($cell: Cell),*> Collate for ($($cell,)*) {
            fn cells(&self, visit: &mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()> {
                $(self.$at.cell(|dtype, shape, bytes| visit(CellRef { name: $name, dtype, shape, bytes }))?;)*
                Ok(())
            }
        }
    };
}

super::tuples!(collate_tuple);
