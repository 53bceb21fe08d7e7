//! Gristmill and the Rust peers, case by case: a line of JSON for each.

mod burn;
mod clock;
mod data;
mod dataloader;
mod ours;

fn main() {
    let (rows, data) = (ours::open(), data::Mapped::open());
    for case in &clock::CASES {
        for workers in [0, 1, 2] {
            if workers > 0 {
                ours::run(&rows, case, workers);
            }
            burn::run(data, case, workers);
            dataloader::run(data, case, workers);
        }
    }
}
