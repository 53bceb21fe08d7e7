//! Gristmill and the Rust peers, one after the other: a line of JSON for each case.

mod burn;
mod clock;
mod data;
mod dataloader;
mod ours;

fn main() {
    ours::run();
    burn::run();
    dataloader::run();
}
