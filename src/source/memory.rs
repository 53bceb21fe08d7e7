//! Columns in memory: kept as they are, not copied.

use std::sync::Arc;

use ndarray::{ArrayBase, ArrayRef, Dimension, OwnedArcRepr, OwnedRepr, RemoveAxis};

use super::cells::{Block, Form, Memory, One, Store};
use super::column::{Column, IntoColumn, IntoColumns};
use crate::data::Element;
use crate::error::{Error, Result};
use crate::sys::Grid;

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
    let bytes = form.row_bytes();
    let stride = strides.first().copied().unwrap_or(bytes);
    let grid =
        Grid { base: 0, stride, bytes: if strides.is_empty() { bytes } else { T::DTYPE.bytes() }, rows };
    let expression = match shape.is_empty() {
        true => format!("[{}; {rows}]", T::DTYPE),
        false => format!("[{}{shape:?}; {rows}]", T::DTYPE),
    };
    let block = Block { store: Store::Memory(Arc::new(memory)), grid, form: Arc::new(form) };
    Ok(Column::new(One { block, expression, notes: Vec::new() }))
}
