//! A headerless binary file, as `numpy.memmap` writes it: features and labels interleaved behind a 16-byte preamble.
//!
//! `cargo run --release --example raw_memmap`

use std::io::Write;

use gristmill::{DType, Dataset, Raw, Shuffle};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("records.bin");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
    file.write_all(b"made by a sensor")?;
    for row in 0..10_000u32 {
        for value in [row as f32, row as f32 / 2.0, -(row as f32)] {
            file.write_all(&value.to_be_bytes())?;
        }
    }
    file.flush()?;

    // Rows of three big-endian f32; the bytes are swapped on their way into a batch.
    let readings = Raw::new(&path, DType::F32, &[3]).offset(16).big_endian();
    let rows = Dataset::from_slices((("reading", readings),))?;
    let batches = rows.shuffle(Shuffle::full(1)).batch(256).prefetch(2);
    println!("{} rows: {}\n{}\n", rows.len(), rows.spec(), batches.plan()?);

    let mut sum = 0.0;
    for batch in batches.iter()? {
        sum += batch?.column::<f32>("reading")?.iter().map(|v| f64::from(*v)).sum::<f64>();
    }
    println!("sum of all readings: {sum}");
    Ok(())
}
