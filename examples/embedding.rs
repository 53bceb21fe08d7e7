//! An embedding table of more than 2 GiB: loaded chunk by chunk into a candle variable, used, and saved in shards.
//!
//! What is held is the variable and a few chunks, or a shard while it is read back, never two tables: every batch is written
//! in place into the variable's memory, and every shard straight out of it. The table that is read is a sparse `.npy` file
//! made here, which costs no disk; the shards take 2.25 GB, in a temporary folder that goes at the end unless `--out` names
//! another.
//!
//! ```text
//! cargo run --release --example embedding
//! cargo run --release --example embedding -- [--features TABLE.npy | --rows N --width N] [--out DIR]
//! ```

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use candle_core::{Device, Storage, Tensor, Var};
use candle_nn::{Embedding, Module};
use gristmill::{Dataset, Npy, Shuffle};
use indicatif::{ProgressBar, ProgressStyle};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Bytes of a batch.
const CHUNK: usize = 8 << 20;
/// Chunks after which the file is opened anew: pages of a map that were read count as memory in use until it is closed.
const CHUNKS_OF_A_MAP: usize = 8;
/// Bytes of a shard, at most, unless a row is larger.
const SHARD: usize = 512 << 20;

struct Options {
    features: Option<PathBuf>,
    rows: usize,
    width: usize,
    out: Option<PathBuf>,
}

fn main() -> std::process::ExitCode {
    match options(std::env::args().skip(1)).and_then(run) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let made = options.features.is_none();
    let path = options.features.unwrap_or_else(|| temporary.path().join("table.npy"));
    if made {
        make(&path, options.rows, options.width)?;
    }
    let table = load(&path)?;
    let (rows, width) = table.dims2()?;

    // Looked up as a model does it. The variable and the tensor of the embedding share their memory.
    let ids = known_rows(rows, width)?;
    let expected = if made { known_values(&ids, width) } else { read(&path, &ids)? };
    let places = Tensor::from_iter(ids.iter().map(|id| *id as i64), &Device::Cpu)?;
    let found = Embedding::new(table.as_detached_tensor(), width).forward(&places)?;
    let found = found.flatten_all()?.to_vec1::<f32>()?;
    if let Some(at) = (0..expected.len()).find(|at| expected[*at].to_bits() != found[*at].to_bits()) {
        let (row, column) = (ids[at / width], at % width);
        return fail(format!(
            "row {row}, column {column}: {} in the file, {} found",
            expected[at], found[at]
        ));
    }
    println!("{rows} rows of {width} loaded, {} of them looked up: as they are in the file", ids.len());

    let (storage, _) = table.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { return fail("the table is not in the CPU's memory") };
    let values = storage.as_slice::<f32>()?;
    if made {
        let filled = values.chunks(width).filter(|row| row.iter().any(|value| value.to_bits() != 0)).count();
        if filled != ids.len() {
            return fail(format!("{} rows of the file are not zero, {filled} of the table", ids.len()));
        }
    }
    let shards = save(values, width, options.out.as_deref().unwrap_or(temporary.path()))?;
    println!("shards saved: {shards}; the last one, read back, is the same");

    let bytes = size_of_val(values) as u64;
    println!("result rows={rows} bytes={bytes} peak_extra_bytes={}", peak_bytes()?.saturating_sub(bytes));
    Ok(())
}

fn open(path: &Path) -> Result<Dataset> {
    Ok(Dataset::from_slices((("x", Npy::open(path)?),))?)
}

/// The whole file as a variable: rows by the elements of a row, as `f32`.
fn load(path: &Path) -> Result<Var> {
    let file = open(path)?;
    let (rows, width) = (usize::try_from(file.len())?, file.spec().columns[0].row_elements());
    let Some(bytes @ 1..) = rows.checked_mul(width).and_then(|n| n.checked_mul(4)) else {
        return fail(format!("{} is no table: {rows} rows of {width} values", path.display()));
    };
    // Filled, for zeros would be given by the system only as they are written to, and the peak that is measured would
    // hide what is held beside a table that is not there yet. NaN, for so what is never written shows.
    let mut memory = Vec::new();
    let refused = |_| format!("there is no memory for a table of {bytes} bytes");
    memory.try_reserve_exact(rows * width).map_err(refused)?;
    memory.resize(rows * width, f32::NAN);
    // The vector becomes the storage; a variable made from a tensor would be a copy of it.
    let table = Var::from_vec(memory, (rows, width), &Device::Cpu)?;

    let style = "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} to go";
    let progress = ProgressBar::new(bytes as u64).with_style(ProgressStyle::with_template(style)?);
    let chunk = (CHUNK / 4 / width).max(1);
    let mut at = 0;
    for from in (0..rows).step_by(chunk * CHUNKS_OF_A_MAP) {
        let part = open(path)?.skip(from as u64).take((chunk * CHUNKS_OF_A_MAP) as u64);
        for batch in part.batch(chunk).cast::<f32>("x").prefetch(2).typed::<f32>()?.iter()? {
            let batch = batch?;
            let shape = (batch.shape()[0], width);
            table.slice_set(&Tensor::from_slice(batch.as_slice(), shape, &Device::Cpu)?, 0, at)?;
            at += shape.0;
            progress.inc(size_of_val(batch.as_slice()) as u64);
        }
    }
    progress.finish_and_clear();
    match at == rows {
        true => Ok(table),
        false => fail(format!("{} had {rows} rows when it was first opened, then {at}", path.display())),
    }
}

/// Rows by their numbers, read from the file without the table.
fn read(path: &Path, ids: &[u64]) -> Result<Vec<f32>> {
    let batches = open(path)?.select(ids)?.batch(ids.len()).cast::<f32>("x");
    let batch = batches.iter()?.next().ok_or("there are no rows to look up")??;
    Ok(batch.column::<f32>("x")?.to_vec())
}

/// Writes `values` in shards, with an index as Hugging Face's tools write it; says how many there are.
///
/// A tensor lies in one file by that convention. So blocks of rows are tensors of their own, `embedding.weight.0`,
/// `embedding.weight.1` and so on, to be put one under the other by whoever loads them.
fn save(values: &[f32], width: usize, folder: &Path) -> Result<usize> {
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let blocks = values.chunks((SHARD / 4 / width).max(1) * width);
    let shards = blocks.len();
    let mut places = BTreeMap::new();
    for (number, block) in blocks.enumerate() {
        let (name, shape) = (format!("embedding.weight.{number}"), vec![block.len() / width, width]);
        let file = format!("model-{:05}-of-{shards:05}.safetensors", number + 1);
        let path = folder.join(&file);
        // A view: the bytes go from the variable's memory to the file.
        let view = TensorView::new(Dtype::F32, shape, bytemuck::cast_slice(block))?;
        let written = safetensors::serialize_to_file([(&name, &view)], None, &path);
        written.map_err(|error| failed(&path, &error))?;
        if number + 1 == shards {
            let bytes = std::fs::read(&path)?;
            if SafeTensors::deserialize(&bytes)?.tensor(&name)? != view {
                return fail(format!("{} does not hold what was written to it", path.display()));
            }
        }
        places.insert(name, file);
    }
    let total = serde_json::json!({ "total_size": size_of_val(values) });
    let index = serde_json::json!({ "metadata": total, "weight_map": places });
    let path = folder.join("model.safetensors.index.json");
    std::fs::write(&path, format!("{index:#}\n")).map_err(|error| failed(&path, &error))?;
    Ok(shards)
}

/// The most memory this process ever held, its code and mapped files included.
fn peak_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix(" kB"));
    Ok(1024 * peak.ok_or("the system does not tell the peak")?.trim().parse::<u64>()?)
}

/// Some thousand rows from all over a table, a chunk of them at most, the first and last row among them.
fn known_rows(rows: usize, width: usize) -> Result<Vec<u64>> {
    let some = (CHUNK / 4 / width).min(4000);
    let mut ids = Dataset::range(rows as u64)?.shuffle(Shuffle::full(7)).order(0, 0, some)?;
    ids.extend([0, rows as u64 - 1]);
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// What stands in the known rows of the file made here: never zero, and exact as `f32`.
fn known_values(ids: &[u64], width: usize) -> Vec<f32> {
    let row = |id: &u64| (id * 31..).take(width).map(|value| (value % 16_777_213 + 1) as f32);
    ids.iter().flat_map(row).collect()
}

/// Writes a `.npy` file of zeros, all holes, and the known rows into it.
fn make(path: &Path, rows: usize, width: usize) -> Result<()> {
    let bytes = rows.checked_mul(width).and_then(|n| n.checked_mul(4));
    let Some(bytes) = bytes.filter(|bytes| (1..1 << 62).contains(bytes)) else {
        return fail(format!(
            "--rows {rows} --width {width}: expected 1 or more of both, and a size that a file can have"
        ));
    };
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}");
    let padded = (header.len() + 11).next_multiple_of(64) - 11;
    let mut file = std::fs::File::create(path)?;
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&(padded as u16 + 1).to_le_bytes())?;
    writeln!(file, "{header:padded$}")?;
    let start = padded as u64 + 11;
    file.set_len(start + bytes as u64).map_err(|error| format!("a file of {bytes} bytes: {error}"))?;
    for id in known_rows(rows, width)? {
        let row: Vec<u8> = known_values(&[id], width).into_iter().flat_map(f32::to_le_bytes).collect();
        file.write_all_at(&row, start + id * (bytes / rows) as u64)?;
    }
    Ok(())
}

fn fail<T>(text: impl Into<String>) -> Result<T> {
    Err(text.into().into())
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    // 2.25 GB: more bytes than 31 bits can number.
    let mut options = Options { features: None, rows: 1_100_000, width: 512, out: None };
    let mut sized = false;
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{flag} takes a value"))?;
        let number = || value.parse().map_err(|_| format!("{flag} takes a number, not {value:?}"));
        match flag.as_str() {
            "--features" => options.features = Some(value.into()),
            "--rows" => (options.rows, sized) = (number()?, true),
            "--width" => (options.width, sized) = (number()?, true),
            "--out" => options.out = Some(value.into()),
            _ => return fail(format!("unknown option {flag}; see the first lines of examples/embedding.rs")),
        }
    }
    match sized && options.features.is_some() {
        true => fail("--rows and --width are for the table made here; that of --features has its own"),
        false => Ok(options),
    }
}
