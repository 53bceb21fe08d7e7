//! Keyed permutations: the heart of both seekable shuffles.

use std::sync::Arc;

use crate::rng::RandomStream;

/// Below this many rows a table is small, and a Feistel network's pieces would be visibly uneven.
const TABLE: u64 = 1 << 16;

/// Rounds of the network. Four already look random at a million rows; six leave a margin.
const ROUNDS: usize = 6;

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of `0..len`, fixed by a random stream.
pub(super) enum Permutation {
    Table(Vec<u32>),
    Feistel(Feistel),
}

impl Permutation {
    /// The permutation of `0..len` that `stream` picks.
    pub(super) fn new(len: u64, mut stream: RandomStream) -> Permutation {
        if len < TABLE {
            let mut table: Vec<u32> = (0..len as u32).collect();
            stream.shuffle(&mut table);
            return Permutation::Table(table);
        }
        Permutation::Feistel(Feistel::new(len, &mut stream))
    }

    /// Where `i` goes; `i` is below the length.
    #[inline]
    pub(super) fn at(&self, i: u64) -> u64 {
        match self {
            Permutation::Table(table) => u64::from(table[i as usize]),
            Permutation::Feistel(feistel) => feistel.at(i),
        }
    }
}

/// A Feistel network over `columns * 2^bits` numbers, the least such product that holds `len`. Being so close to `len`,
/// it walks a second time for less than one index in `sqrt(len)`, so the cost does not depend on the length.
pub(super) struct Feistel {
    len: u64,
    columns: u64,
    bits: u32,
    keys: [u64; ROUNDS],
}

impl Feistel {
    fn new(len: u64, stream: &mut RandomStream) -> Feistel {
        let bits = (u64::BITS - len.leading_zeros()) / 2;
        let columns = len.div_ceil(1 << bits);
        Feistel { len, columns, bits, keys: std::array::from_fn(|_| stream.next_u64()) }
    }

    #[inline]
    fn at(&self, i: u64) -> u64 {
        let mut at = self.once(i);
        // Every number below `len` lies on a cycle that comes back below `len`.
        while at >= self.len {
            at = self.once(at);
        }
        at
    }

    #[inline]
    fn once(&self, i: u64) -> u64 {
        let mask = (1 << self.bits) - 1;
        let (mut column, mut row) = (i >> self.bits, i & mask);
        for keys in self.keys.as_chunks::<2>().0 {
            // The high word of hash * columns is a number below `columns`.
            column += ((u128::from(hash(row, keys[0])) * u128::from(self.columns)) >> 64) as u64;
            column -= if column >= self.columns { self.columns } else { 0 };
            row = (row + (hash(column, keys[1]) >> (u64::BITS - self.bits))) & mask;
        }
        (column << self.bits) | row
    }
}

/// One round's function: two multiply–xorshift steps; its high bits are the best ones.
#[inline]
fn hash(value: u64, key: u64) -> u64 {
    let mut mixed = (value ^ key).wrapping_mul(MIX);
    mixed ^= mixed >> 32;
    mixed.wrapping_mul(MIX)
}

/// The last few permutations used, and what goes with them, by (epoch, part): positions that alternate between epochs, as after
/// `shuffle().repeat(2).shuffle()`, do not make a table anew each time.
pub(super) struct Recent<T = Permutation> {
    kept: Vec<((u64, u64), Arc<T>)>,
}

impl<T> Recent<T> {
    const KEPT: usize = 8;

    pub(super) fn new() -> Recent<T> {
        Recent { kept: Vec::new() }
    }

    /// The permutation of this epoch and part, made by `make` if it is not among the last ones.
    pub(super) fn get(&mut self, key: (u64, u64), make: impl FnOnce() -> T) -> Arc<T> {
        if let Some((_, found)) = self.kept.iter().find(|(k, _)| *k == key) {
            return found.clone();
        }
        if self.kept.len() == Self::KEPT {
            self.kept.remove(0);
        }
        let made = Arc::new(make());
        self.kept.push((key, made.clone()));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(seed: u64) -> RandomStream {
        RandomStream::new(seed, "test", 0, 0)
    }

    #[test]
    fn every_length_gives_a_permutation() {
        for len in [0, 1, 2, 3, 7, 255, 65_535, 65_536, 65_537, 99_999, 131_071, 131_073, 1 << 18] {
            let permutation = Permutation::new(len, stream(len));
            let mut seen = vec![false; len as usize];
            (0..len).for_each(|i| seen[permutation.at(i) as usize] = true);
            assert!(seen.iter().all(|s| *s), "length {len}");
        }
    }

    #[test]
    fn the_network_holds_hardly_more_than_its_length() {
        for len in [65_536, 1_000_003, 10_000_000_000, u64::MAX / 3, (1 << 63) + 1] {
            let feistel = Feistel::new(len, &mut stream(1));
            let numbers = u128::from(feistel.columns) << feistel.bits;
            assert!(numbers >= u128::from(len) && numbers - u128::from(len) < 1 << feistel.bits, "{len}");
            assert!(feistel.at(len - 1) < len);
        }
    }

    #[test]
    fn neighbours_are_not_related() {
        let len = 1 << 20;
        let permutation = Permutation::new(len, stream(42));
        let at = |i: u64| permutation.at(i) as f64 / len as f64 - 0.5;
        for lag in [1, 2, 3, 16, 255, 256, 1024] {
            let sum: f64 = (0..len - lag).map(|i| at(i) * at(i + lag)).sum();
            // The standard error of the correlation of a random order is 1/sqrt(len), about 0.001.
            let correlation = sum * 12.0 / len as f64;
            assert!(correlation.abs() < 0.005, "lag {lag}: {correlation}");
        }
    }
}
