//! Columns in memory: slices and arrays of every layout, alone, in tuples and in lists.

use std::sync::Arc;

use gristmill::{Batch, Column, DType, Dataset, Error, IntoColumn, IntoColumns, Layout, Shuffle};
use ndarray::{
    ArcArray, Array, Array1, Array2, Array3, Array4, ArrayD, Axis, Dimension, IxDyn, ShapeBuilder, s,
};
use num_complex::Complex;

use crate::common::*;
use crate::npy::mixed;

fn one(columns: impl IntoColumns) -> Dataset {
    Dataset::from_slices(columns).unwrap()
}

/// All rows in order and mixed up are those of the array as ndarray itself iterates over them.
fn check<D: Dimension>(like: &Array<i32, D>, column: impl IntoColumn, label: &str) {
    let rows = one(vec![column.into_column().unwrap()]);
    assert_eq!(rows.len(), like.shape()[0] as u64, "{label}");
    assert_eq!(rows.spec().columns[0].shape, like.shape()[1..], "{label}");
    let wanted: Vec<i32> = like.iter().copied().collect();
    let size = rows.spec().columns[0].row_elements();
    let order = mixed(rows.len());
    let shuffled: Vec<i32> =
        order.iter().flat_map(|row| wanted[*row as usize * size..][..size].to_vec()).collect();
    for (rows, wanted) in [(&rows, wanted), (&rows.select(order).unwrap(), shuffled)] {
        assert_eq!(column_of::<i32>(rows), wanted, "{label}");
        let floats: Vec<f64> = wanted.iter().map(|n| f64::from(*n)).collect();
        let batches = values(&rows.batch(2).cast::<f64>("0"));
        let seen: Vec<f64> = batches.iter().flat_map(|b| b.column::<f64>("0").unwrap().to_vec()).collect();
        assert_eq!(seen, floats, "{label}, cast");
    }
}

fn column_of<T: gristmill::Element>(rows: &Dataset) -> Vec<T> {
    column::<T>(&rows.batch(3), "0").into_iter().flatten().collect()
}

#[test]
fn every_owner_of_a_slice_is_a_column() {
    static NUMBERS: [u16; 4] = [1, 2, 3, 4];
    let vec = NUMBERS.to_vec();
    let shared: Arc<[u16]> = Arc::from(vec.clone());
    for rows in [
        one(vec.clone()),
        one(vec.clone().into_boxed_slice()),
        one(shared.clone()),
        one(&NUMBERS[..]),
        one((&NUMBERS,)),
        one((vec.clone(),)),
        one(vec![vec.clone().into_column().unwrap()]),
        one((vec.into_column().unwrap(),)),
        one((Array1::from(NUMBERS.to_vec()),)),
        one((ArcArray::from(NUMBERS.to_vec()),)),
    ] {
        assert_eq!(
            (rows.spec().to_string().as_str(), column_of::<u16>(&rows)),
            ("(0: u16)", NUMBERS.to_vec())
        );
    }
    assert_eq!(*shared, NUMBERS);
    assert!(one(Vec::<f32>::new()).is_empty());
    assert_eq!(column_of::<bool>(&one(vec![true, false, true])), [true, false, true]);
    let z = vec![Complex::new(1.0, -2.0)];
    assert_eq!(column_of::<Complex<f64>>(&one(z.clone())), z);
}

#[test]
fn arrays_of_every_rank_and_layout_give_their_rows() {
    let ramp = |n: usize| (0..n as i32).collect::<Vec<i32>>();
    let a1 = Array1::from(ramp(7));
    let a2 = Array2::from_shape_vec((5, 3), ramp(15)).unwrap();
    let a3 = Array3::from_shape_vec((4, 3, 2), ramp(24)).unwrap();
    let a4 = Array4::from_shape_vec((3, 2, 2, 5), ramp(60)).unwrap();
    check(&a1, a1.clone(), "rank 1");
    check(&a2, a2.clone(), "rank 2");
    check(&a3, a3.clone(), "rank 3");
    check(&a4, a4.clone(), "rank 4");
    check(&a4.clone().into_dyn(), a4.clone().into_dyn(), "rank 4 at run time");
    for shape in
        [vec![5, 3], vec![4, 3, 2], vec![2, 3, 4, 5], vec![1, 6], vec![6, 1], vec![1, 1], vec![3, 1, 2]]
    {
        let count = shape.iter().product();
        let f = ArrayD::from_shape_vec(IxDyn(&shape).f(), ramp(count)).unwrap();
        check(&f, f.clone(), &format!("Fortran order {shape:?}"));
    }
    for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let turned = a3.clone().permuted_axes(axes);
        check(&turned, turned.clone(), &format!("axes {axes:?}"));
        check(&turned, turned.clone().into_shared(), &format!("shared, axes {axes:?}"));
    }
    let empty = Array3::<i32>::zeros((0, 3, 2));
    check(&empty, empty.clone(), "no rows");
    let nothing = Array2::<i32>::zeros((3, 0));
    check(&nothing, nothing.clone(), "rows of nothing");
    check(&nothing.clone().reversed_axes(), nothing.reversed_axes(), "no rows, turned");
}

#[test]
fn cut_and_turned_arrays_are_copied_right() {
    let ramp = Array2::from_shape_vec((6, 4), (0..24).collect::<Vec<i32>>()).unwrap();
    for (label, cut) in [
        ("first rows", ramp.clone().slice_move(s![..3, ..])),
        ("last rows", ramp.clone().slice_move(s![3.., ..])),
        ("every second row", ramp.clone().slice_move(s![..;2, ..])),
        ("some columns", ramp.clone().slice_move(s![.., 1..3])),
        ("every second column", ramp.clone().slice_move(s![.., ..;2])),
        ("rows back to front", ramp.clone().slice_move(s![..;-1, ..])),
        ("columns back to front", ramp.clone().slice_move(s![.., ..;-1])),
        ("both back to front", ramp.clone().slice_move(s![..;-1, ..;-1])),
        ("cut and turned", ramp.clone().slice_move(s![1..5;2, ..;-2]).reversed_axes()),
        ("turned and cut", ramp.clone().reversed_axes().slice_move(s![1..3, ..])),
        ("one row of the middle", ramp.clone().slice_move(s![2..3, ..])),
        ("one column", ramp.clone().slice_move(s![.., 2..3])),
        ("no rows", ramp.clone().slice_move(s![2..2, ..])),
    ] {
        check(&cut, cut.clone(), label);
        check(&cut, cut.to_shared(), label);
        let shared: ArcArray<i32, _> = cut.clone().into_shared();
        check(&cut, shared, label);
    }
    let mut inverted = Array1::from(vec![1, 2, 3]);
    inverted.invert_axis(Axis(0));
    check(&inverted, inverted.clone(), "inverted");
}

#[test]
fn a_shared_array_may_be_read_and_written_elsewhere() {
    let mut mine: ArcArray<i32, _> = ArcArray::from_shape_vec((2, 2), vec![1, 2, 3, 4]).unwrap();
    let rows = one((mine.clone(),));
    mine[[0, 0]] = 9;
    assert_eq!((column_of::<i32>(&rows), mine[[0, 0]]), (vec![1, 2, 3, 4], 9));
}

#[test]
fn tuples_of_one_to_twelve_columns_are_numbered() {
    fn numbered(columns: impl IntoColumns, n: usize) {
        let rows = one(columns);
        let names: Vec<String> = (0..n).map(|i| i.to_string()).collect();
        assert_eq!(rows.spec().columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>(), names);
        let batch = values(&rows.shuffle(Shuffle::full(1)).batch(2)).remove(0);
        for (i, name) in names.iter().enumerate() {
            let mut column = batch.column::<u8>(name).unwrap().to_vec();
            column.sort();
            assert_eq!(column, [i as u8, i as u8 + 100]);
        }
    }
    let c = |i: u8| vec![i, i + 100];
    numbered((c(0),), 1);
    numbered((c(0), c(1)), 2);
    numbered((c(0), c(1), c(2)), 3);
    numbered((c(0), c(1), c(2), c(3)), 4);
    numbered((c(0), c(1), c(2), c(3), c(4)), 5);
    numbered((c(0), c(1), c(2), c(3), c(4), c(5)), 6);
    numbered((c(0), c(1), c(2), c(3), c(4), c(5), c(6)), 7);
    numbered((c(0), c(1), c(2), c(3), c(4), c(5), c(6), c(7)), 8);
    numbered((c(0), c(1), c(2), c(3), c(4), c(5), c(6), c(7), c(8)), 9);
    numbered((c(0), c(1), c(2), c(3), c(4), c(5), c(6), c(7), c(8), c(9)), 10);
    numbered((c(0), c(1), c(2), c(3), c(4), c(5), c(6), c(7), c(8), c(9), c(10)), 11);
    numbered((c(0), c(1), c(2), c(3), c(4), c(5), c(6), c(7), c(8), c(9), c(10), c(11)), 12);
    let thirteen: Vec<Column> = (0..13).map(|i| c(i).into_column().unwrap()).collect();
    assert!(thirteen.iter().all(|column| column.rows() == 2));
    numbered(thirteen, 13);
}

#[test]
fn columns_may_have_names() {
    let x = Array2::from_shape_vec((2, 2), vec![1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let rows = one((("x", x.clone()), (String::from("y"), vec![7i64, 8]), vec![true, false]));
    assert_eq!(rows.spec().to_string(), "(x: f32[2], y: i64, 2: bool)");
    let batch: Batch = values(&rows.batch(2)).remove(0);
    assert_eq!(batch.column::<f32>("x").unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(batch.column::<i64>("y").unwrap(), [7, 8]);
    assert_eq!(batch.column::<bool>("2").unwrap(), [true, false]);
    let again = one((("again", ("inner", vec![1u8])),));
    assert_eq!(again.spec().to_string(), "(again: u8)", "the outer name counts");
    let list = vec![("a", x).into_column().unwrap(), ("b", vec![1u8, 2]).into_column().unwrap()];
    assert_eq!(one(list).spec().to_string(), "(a: f32[2], b: u8)");
}

#[test]
fn columns_that_do_not_fit_together_are_refused_by_name() {
    let refused = |columns: Vec<Column>| Dataset::from_slices(columns).unwrap_err();
    let column = |name: &str, rows: usize| (name, vec![0u8; rows]).into_column().unwrap();
    let error = refused(vec![column("x", 10), column("y", 10), column("z", 9)]);
    assert!(matches!(error, Error::Rows { left_rows: 10, right_rows: 9, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("\"x\" has 10 rows but column \"z\" has 9"), "{text}");
    let unnamed = Dataset::from_slices((vec![1u8], vec![1u8, 2])).unwrap_err().to_string();
    assert!(unnamed.contains("\"0\" has 1 rows but column \"1\" has 2"), "{unnamed}");
    assert!(Dataset::from_slices((vec![1u8], Vec::<u8>::new())).is_err(), "no rows beside one");
    assert!(
        refused(vec![column("x", 1), column("y", 1), column("x", 1)]).to_string().contains("\"x\" twice")
    );
    let clash = Dataset::from_slices((vec![1u8], ("0", vec![1u8]))).unwrap_err().to_string();
    assert!(clash.contains("\"0\" twice"), "{clash}");
    assert!(refused(Vec::new()).to_string().contains("at least one column"));
}

#[test]
fn a_single_element_has_no_rows() {
    let point = ArrayD::from_shape_vec(IxDyn(&[]), vec![1.0f32]).unwrap();
    for outcome in [point.clone().into_column(), point.into_shared().into_column()] {
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains("an axis of rows"), "{text}");
    }
}

/// 2 x 3 x 2 elements of two bytes, told by their places, in a layout of their own; rows 1 and 0 as they come out.
fn laid_out(shape: [usize; 3], strides: [usize; 3], swapped: bool) -> Vec<u16> {
    let bytes: Vec<u8> = (0..64).collect();
    let layout = Layout { dtype: DType::U16, shape: shape.to_vec(), strides: strides.to_vec(), swapped };
    let rows = one(Column::from_memory(bytes, layout).unwrap()).select([1, 0]).unwrap();
    values(&rows.batch(2)).remove(0).column::<u16>("0").unwrap().to_vec()
}

#[test]
fn memory_of_another_owner_may_lie_in_any_layout() {
    let layouts = [[12, 4, 2], [2, 4, 12], [30, 4, 2], [12, 2, 4], [1, 3, 5], [0, 4, 2], [12, 0, 2]];
    for (strides, swapped) in layouts.into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let element = |i: usize, j: usize, k: usize| {
            let at = (i * strides[0] + j * strides[1] + k * strides[2]) as u8;
            let pair = [at, at + 1];
            if swapped { u16::from_ne_bytes(pair).swap_bytes() } else { u16::from_ne_bytes(pair) }
        };
        let row = |i| (0..3).flat_map(move |j| (0..2).map(move |k| (i, j, k)));
        let expected: Vec<u16> = row(1).chain(row(0)).map(|(i, j, k)| element(i, j, k)).collect();
        assert_eq!(laid_out([2, 3, 2], strides, swapped), expected, "{strides:?} {swapped}");
    }
}

#[test]
fn a_layout_beyond_its_memory_is_refused() {
    let column = |shape: &[usize], strides: &[usize]| {
        let layout =
            Layout { dtype: DType::F32, shape: shape.to_vec(), strides: strides.to_vec(), swapped: false };
        Column::from_memory(vec![0u8; 16], layout).map(|column| column.rows())
    };
    assert_eq!(column(&[4], &[4]).unwrap(), 4);
    assert_eq!(column(&[0, 9], &[usize::MAX, 4]).unwrap(), 0);
    let layout = Layout { dtype: DType::F32, shape: vec![9, 0], strides: vec![40, 4], swapped: false };
    let rows = one(Column::from_memory(Vec::new(), layout).unwrap());
    assert_eq!(
        values(&rows.batch(4)).iter().map(Batch::rows).collect::<Vec<_>>(),
        [4, 4, 1],
        "rows of no elements"
    );
    let beyond: [(&[usize], &[usize]); 5] =
        [(&[5], &[4]), (&[2, 2], &[9, 4]), (&[2], &[usize::MAX]), (&[], &[]), (&[2, 2], &[8])];
    for (shape, strides) in beyond {
        assert!(matches!(column(shape, strides), Err(Error::Spec { .. })), "{shape:?} {strides:?}");
    }
}
