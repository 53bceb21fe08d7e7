//! Pictures: PNG files decoded by several workers, kept in memory, changed at random anew in each epoch, and batched.
//!
//! The cache stands after what is the same in every epoch, decoding, and before what is not: order and random changes. Each
//! picture's changes are drawn from a random stream of its own, so they are the same in every run and for any number of
//! workers. A file that cannot be decoded is an error in its place; a few are passed over, and listed.
//!
//! ```text
//! cargo run --release --example images
//! cargo run --release --example images -- --folder DIR
//! ```
//!
//! Without `--folder`, which takes your own `.png` files, pictures are made of the digits and one of them is cut short.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use gristmill::{Cell, CellRef, Collate, DType, Dataset, Failures, Npy, OnError, RandomStream, Shuffle};
use image::imageops::{self, FilterType};
use image::{GrayImage, Luma, RgbImage};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A decoded file, with its place in the list of files.
#[derive(Clone)]
struct Picture {
    file: u32,
    pixels: RgbImage,
}

/// Columns `file` and `pixels`: height by width by red, green and blue.
impl Collate for Picture {
    fn cells(&self, visit: &mut dyn FnMut(CellRef<'_>) -> gristmill::Result<()>) -> gristmill::Result<()> {
        self.file.cell(|dtype, shape, bytes| visit(CellRef { name: "file", dtype, shape, bytes }))?;
        let shape = &[self.pixels.height() as usize, self.pixels.width() as usize, 3];
        visit(CellRef { name: "pixels", dtype: DType::U8, shape, bytes: self.pixels.as_raw() })
    }
}

/// What came in an epoch: each picture's file and a checksum of its pixels, in order; how many were decoded for it.
#[derive(PartialEq)]
struct Epoch {
    pictures: Vec<(u32, u64)>,
    batches: usize,
    decoded: u64,
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let own = folder(std::env::args().skip(1))?;
    if own.is_none() {
        make(temporary.path())?;
    }
    let files = png_files(own.as_deref().unwrap_or(temporary.path()))?;
    let failures = Failures::new();
    let epochs = two_epochs(&files, 4, &failures)?;
    for failure in failures.list() {
        println!("passed over: {}", failure.text);
    }

    let mut looks = epochs.each_ref().map(|epoch| epoch.pictures.clone());
    looks.iter_mut().for_each(|pictures| pictures.sort_unstable());
    let changed = looks[0].iter().zip(&looks[1]).filter(|(a, b)| a != b).count();
    println!("in epoch 1, {} are decoded and {changed} look otherwise than in epoch 0", epochs[1].decoded);
    if epochs[1].decoded > 0 || own.is_none() && changed < files.len() / 2 {
        return Err("epoch 1 should decode nothing, and change pictures in its own way".into());
    }
    if two_epochs(&files, 1, &failures)? != epochs {
        return Err("one worker should give what four do".into());
    }

    let pictures = epochs.iter().flat_map(|epoch| &epoch.pictures);
    let checksum = fnv(pictures.flat_map(|(file, pixels)| [u64::from(*file), *pixels]));
    let (images, batches) = (epochs[0].pictures.len(), epochs[0].batches + epochs[1].batches);
    println!(
        "result images={images} decoded={} batches={batches} checksum={checksum:016x}",
        epochs[0].decoded
    );
    Ok(())
}

/// Two epochs of batches, and what came in them.
fn two_epochs(files: &Arc<[PathBuf]>, workers: usize, failures: &Failures) -> Result<[Epoch; 2]> {
    let decoded = Arc::new(AtomicU64::new(0));
    let (numbers, first) = (0..files.len() as u32, OnceLock::new());
    let (count, to_decode, to_compare) = (decoded.clone(), files.clone(), files.clone());
    let batches = Dataset::from_generator(move |_epoch| numbers.clone())
        .par_try_map(workers, move |file| decode(&to_decode, file, &count))
        .on_error(OnError::skip(1 + files.len() as u64 / 100).listed(failures))
        // Behind `on_error`, so that it ends the run: a picture of another size may not be meant to be here at all.
        .try_map(move |picture| same_size(&to_compare, picture, &first))
        .cache()
        .shuffle_buffer(1024, 7)
        .par_map_seeded(workers, 42, augment)
        .batch(32)
        .cast::<f32>("pixels")
        .prefetch(2)
        .typed::<(u32, f32)>()?;
    println!("{batches:?}");

    let epoch = |epoch| -> Result<Epoch> {
        let (before, mut pictures, mut count) = (decoded.load(Ordering::Relaxed), Vec::new(), 0);
        for batch in batches.epoch(epoch)? {
            let (file, pixels) = batch?;
            let checksum = |at| fnv(pixels.row(at).iter().map(|value| u64::from(value.to_bits())));
            pictures.extend(file.as_slice().iter().enumerate().map(|(at, file)| (*file, checksum(at))));
            count += 1;
        }
        Ok(Epoch { pictures, batches: count, decoded: decoded.load(Ordering::Relaxed) - before })
    };
    Ok([epoch(0)?, epoch(1)?])
}

fn decode(files: &[PathBuf], file: u32, decoded: &AtomicU64) -> Result<Picture, String> {
    let path = &files[file as usize];
    let pixels = image::open(path).map_err(|error| format!("{}: {error}", path.display()))?.into_rgb8();
    decoded.fetch_add(1, Ordering::Relaxed);
    Ok(Picture { file, pixels })
}

/// Compares a picture's size with the first one's.
fn same_size(files: &[PathBuf], picture: Picture, first: &OnceLock<Picture>) -> Result<Picture, String> {
    let first = first.get_or_init(|| picture.clone());
    let [(width, height), (w, h)] = [first, &picture].map(|picture| picture.pixels.dimensions());
    let [expected, found] = [first, &picture].map(|picture| files[picture.file as usize].display());
    match (width, height) == (w, h) {
        true => Ok(picture),
        false => Err(format!(
            "{found}: expected {width} x {height} pixels as in {expected}, found {w} x {h}; pictures of a batch have one size"
        )),
    }
}

/// Mirrors every other picture, and moves each by up to two pixels; what is moved in is black.
fn augment(picture: Picture, random: &mut RandomStream) -> Picture {
    let Picture { file, mut pixels } = picture;
    if random.chance(0.5) {
        imageops::flip_horizontal_in_place(&mut pixels);
    }
    let [right, down] = [random.below(5), random.below(5)].map(|n| n as i64 - 2);
    let mut moved = RgbImage::new(pixels.width(), pixels.height());
    imageops::replace(&mut moved, &pixels, right, down);
    Picture { file, pixels: moved }
}

/// A checksum: FNV-1a, word by word.
fn fnv(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Writes 300 digits as PNG files of 32 x 32 pixels, one of which is cut short.
fn make(folder: &Path) -> Result<()> {
    let digits = Npy::open("examples/data/digits-features.npy")?;
    let rows = Dataset::from_slices((("x", digits),))?.shuffle(Shuffle::full(1)).take(300);
    for (number, digit) in rows.batch(1).iter()?.enumerate() {
        let digit = digit?;
        let values = digit.column::<u8>("x")?;
        let small = GrayImage::from_fn(8, 8, |x, y| Luma([values[(8 * y + x) as usize] * 15]));
        let path = folder.join(format!("digit-{number:03}.png"));
        imageops::resize(&small, 32, 32, FilterType::Triangle).save(&path)?;
        if number == 123 {
            let bytes = std::fs::read(&path)?;
            std::fs::write(&path, &bytes[..bytes.len() / 2])?;
        }
    }
    Ok(())
}

/// The `.png` files of a folder, by name.
fn png_files(folder: &Path) -> Result<Arc<[PathBuf]>> {
    let failed = |error| format!("cannot read the folder {}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.retain(|path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")));
    files.sort_unstable();
    match files.is_empty() {
        true => Err(format!("expected .png files in {}, found none", folder.display()).into()),
        false => Ok(files.into()),
    }
}

fn folder(mut arguments: impl Iterator<Item = String>) -> Result<Option<PathBuf>> {
    let mut folder = None;
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{flag} takes a value"))?;
        match flag.as_str() {
            "--folder" => folder = Some(value.into()),
            _ => {
                return Err(
                    format!("unknown option {flag}; see the first lines of examples/images.rs").into()
                );
            }
        }
    }
    Ok(folder)
}
