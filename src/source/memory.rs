//! Columns in memory: kept as they are, not copied.

use std::sync::Arc;

use ndarray::{ArrayBase, ArrayRef, Dimension, OwnedArcRepr, OwnedRepr, RemoveAxis};

use super::cells::{Block, Form, Memory, One, Store};
use super::column::{Column, IntoColumn, IntoColumns};
use crate::data::{DType, Element};
use crate::error::{Error, Result};
use crate::sys::Grid;

/// How the elements of a column lie in memory: what [`Column::from_memory`] asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The type of the elements.
    pub dtype: DType,
    /// All axes, rows first.
    pub shape: Vec<usize>,
    /// Bytes from one element to the next along each axis of `shape`.
    pub strides: Vec<usize>,
    /// Whether the elements are in the other byte order than the machine's.
    pub swapped: bool,
}

impl Column {
    /// A column of `owner`'s bytes, kept and not copied, in any layout of steps forward: rows or axes may lie apart, in any order,
    /// or on one another. The bytes must stay where and what they are for as long as the column, or what is made of it, lives.
    ///
    /// # Errors
    /// [`Error::Spec`] when the shape has no axis of rows, or not as many axes as there are strides, or elements beyond the bytes.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Column, DType, Dataset, Layout};
    ///
    /// // Every other column of a table of two rows and four columns.
    /// let layout = Layout { dtype: DType::U8, shape: vec![2, 2], strides: vec![4, 2], swapped: false };
    /// let rows = Dataset::from_slices(Column::from_memory(vec![0u8, 1, 2, 3, 4, 5, 6, 7], layout)?)?;
    /// assert_eq!(rows.batch(2).iter()?.next().expect("a batch")?.column::<u8>("0")?, [0, 2, 4, 6]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn from_memory(owner: impl AsRef<[u8]> + Send + Sync + 'static, layout: Layout) -> Result<Column> {
        let Layout { dtype, shape, strides, swapped } = layout;
        let (Some((rows, row)), true) = (shape.split_first(), shape.len() == strides.len()) else {
            return Err(Error::spec(
                "array",
                "an axis of rows, and a stride for every axis",
                format!("{shape:?}"),
            ));
        };
        let last = |(n, stride): (&usize, &usize)| n.saturating_sub(1).checked_mul(*stride);
        let end = shape.iter().zip(&strides).map(last).try_fold(dtype.bytes(), |sum, n| sum.checked_add(n?));
        let bytes = owner.as_ref().len();
        if !shape.contains(&0) && end.is_none_or(|end| end > bytes) {
            return Err(Error::spec("array", format!("elements inside {bytes} bytes"), format!("{shape:?}")));
        }
        let mut side_by_side = dtype.bytes();
        let dense = row.iter().zip(&strides[1..]).rev().all(|(n, stride)| {
            let fits = *n == 1 || *stride == side_by_side;
            side_by_side = side_by_side.saturating_mul(*n);
            fits
        });
        let inner = if dense { Vec::new() } else { strides[1..].to_vec() };
        let form = Form { dtype, swap: swapped, shape: row.to_vec(), strides: inner };
        // Rows of no bytes are nowhere.
        let stride = if row.contains(&0) { 0 } else { strides[0] };
        Ok(kept(Owned(owner), *rows as u64, stride, form))
    }
}

/// An owner of bytes.
struct Owned<O>(O);

impl<O: AsRef<[u8]> + Send + Sync> Memory for Owned<O> {
    fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// An owner of elements that stay where and what they are.
struct Held<O>(O);

macro_rules! slices {
    ($($owner:ty),*) => { $(
        impl<T: Element> Memory for Held<$owner> {
            fn bytes(&self) -> &[u8] {
                bytemuck::cast_slice(&self.0)
            }
        }

        impl<T: Element> IntoColumn for $owner {
            fn into_column(self) -> Result<Column> {
                let rows = self.len() as u64;
                column::<T>(Held(self), rows, &[], Vec::new())
            }
        }

        impl<T: Element> IntoColumns for $owner {
            fn into_columns(self) -> Result<Vec<Column>> {
                Ok(vec![self.into_column()?])
            }
        }
    )* };
}

slices!(Vec<T>, Box<[T]>, Arc<[T]>, &'static [T]);

impl<T: Element, const N: usize> IntoColumn for &'static [T; N] {
    fn into_column(self) -> Result<Column> {
        self.as_slice().into_column()
    }
}

impl<T: Element, const N: usize> IntoColumns for &'static [T; N] {
    fn into_columns(self) -> Result<Vec<Column>> {
        Ok(vec![self.into_column()?])
    }
}

impl<T: Element, D: Dimension> Memory for Held<ArrayBase<OwnedRepr<T>, D>> {
    fn bytes(&self) -> &[u8] {
        self.0.as_slice_memory_order().map_or(&[], bytemuck::cast_slice)
    }
}

impl<T: Element, D: Dimension> Memory for Held<ArrayBase<OwnedArcRepr<T>, D>> {
    fn bytes(&self) -> &[u8] {
        self.0.as_slice_memory_order().map_or(&[], bytemuck::cast_slice)
    }
}

impl<T: Element, D: RemoveAxis + 'static> IntoColumn for ArrayBase<OwnedRepr<T>, D> {
    /// The array's first axis counts rows. Arrays whose elements fill their memory, in any axis order, are kept; others (cut
    /// ones) are copied once.
    fn into_column(self) -> Result<Column> {
        let array = if keepable(&self) { self } else { self.as_standard_layout().into_owned() };
        let (rows, shape, strides) = layout(&array)?;
        column::<T>(Held(array), rows, &shape, strides)
    }
}

impl<T: Element, D: RemoveAxis + 'static> IntoColumn for ArrayBase<OwnedArcRepr<T>, D> {
    /// As for owned arrays; the memory stays shared.
    fn into_column(self) -> Result<Column> {
        if !keepable(&self) {
            return self.as_standard_layout().into_owned().into_column();
        }
        let (rows, shape, strides) = layout(&self)?;
        column::<T>(Held(self), rows, &shape, strides)
    }
}

impl<T: Element, D: RemoveAxis + 'static> IntoColumns for ArrayBase<OwnedRepr<T>, D> {
    fn into_columns(self) -> Result<Vec<Column>> {
        Ok(vec![self.into_column()?])
    }
}

impl<T: Element, D: RemoveAxis + 'static> IntoColumns for ArrayBase<OwnedArcRepr<T>, D> {
    fn into_columns(self) -> Result<Vec<Column>> {
        Ok(vec![self.into_column()?])
    }
}

fn keepable<T, D: Dimension>(array: &ArrayRef<T, D>) -> bool {
    array.as_slice_memory_order().is_some() && array.strides().iter().all(|s| *s >= 0)
}

/// Rows, row shape, and all strides in bytes (the first axis's first), or no strides when in C order.
fn layout<T: Element, D: Dimension>(array: &ArrayRef<T, D>) -> Result<(u64, Vec<usize>, Vec<usize>)> {
    let Some((rows, shape)) = array.shape().split_first() else {
        return Err(Error::spec("array", "an axis of rows", "a single element"));
    };
    let strides = match array.is_standard_layout() {
        true => Vec::new(),
        false => array.strides().iter().map(|s| s.unsigned_abs() * size_of::<T>()).collect(),
    };
    Ok((*rows as u64, shape.to_vec(), strides))
}

fn column<T: Element>(
    memory: impl Memory + 'static,
    rows: u64,
    shape: &[usize],
    strides: Vec<usize>,
) -> Result<Column> {
    let form = Form {
        dtype: T::DTYPE,
        swap: false,
        shape: shape.to_vec(),
        strides: strides.iter().skip(1).copied().collect(),
    };
    let stride = strides.first().copied().unwrap_or(form.row_bytes());
    Ok(kept(memory, rows, stride, form))
}

/// `rows` rows of `form`, each `stride` bytes after the one before it.
fn kept(memory: impl Memory + 'static, rows: u64, stride: usize, form: Form) -> Column {
    let bytes = if form.strides.is_empty() { form.row_bytes() } else { form.dtype.bytes() };
    let grid = Grid { base: 0, stride, bytes, rows };
    let (dtype, shape) = (form.dtype, &form.shape);
    let expression = match shape.is_empty() {
        true => format!("[{dtype}; {rows}]"),
        false => format!("[{dtype}{shape:?}; {rows}]"),
    };
    let block = Block { store: Store::Memory(Arc::new(memory)), grid, form: Arc::new(form) };
    Column::new(One { block, expression, notes: Vec::new() })
}
