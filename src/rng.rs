//! Randomness that never changes: ChaCha8 streams named by (seed, tag, epoch, place).
//!
//! A stream's values depend on these four numbers alone, never on threads or on which stream was
//! used before. The bounded sampling is ours, so that no release of another crate can move a row;
//! golden tests pin it.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use crate::digest;

/// A stream of random numbers, the same on every machine and for every number of threads.
///
/// A map that was given a seed gets one of these for every item
/// ([`map_seeded`](crate::Stream::map_seeded)).
#[derive(Debug)]
pub struct RandomStream {
    chacha: ChaCha8Rng,
}

impl RandomStream {
    /// The stream of this seed, purpose, epoch and place.
    ///
    /// # Examples
    /// ```
    /// use gristmill::RandomStream;
    ///
    /// let mut a = RandomStream::new(7, "augment", 0, 41);
    /// let mut b = RandomStream::new(7, "augment", 0, 41);
    /// assert_eq!(a.next_u64(), b.next_u64());
    /// ```
    pub fn new(seed: u64, tag: &str, epoch: u64, place: u64) -> RandomStream {
        let mut key = [0; 32];
        for (part, word) in key.as_chunks_mut::<8>().0.iter_mut().zip([seed, tag_number(tag), epoch, place]) {
            *part = word.to_le_bytes();
        }
        RandomStream { chacha: ChaCha8Rng::from_seed(key) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.chacha.next_u64()
    }

    /// A number below `n`, all equally likely; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let bits = self.next_u64();
        self.below_from(bits, n)
    }

    /// As [`below`](RandomStream::below), out of `bits` that were drawn before.
    pub(crate) fn below_from(&mut self, bits: u64, n: u64) -> u64 {
        // Lemire's multiply-shift: the high word is the sample; low words under 2^64 mod n are drawn again,
        // which makes the result exact.
        let mut product = u128::from(bits) * u128::from(n);
        if (product as u64) < n {
            let uneven = n.wrapping_neg() % n;
            while (product as u64) < uneven {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// A number in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Puts `items` in random order (Fisher–Yates, from the last place down).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let pick = self.below(last as u64 + 1) as usize;
            items.swap(last, pick);
        }
    }
}

/// A purpose as a number, so that tags are readable where they are used.
fn tag_number(tag: &str) -> u64 {
    digest::of_bytes(tag.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned() {
        let mut stream = RandomStream::new(42, "test", 3, 9);
        let draws: Vec<u64> = (0..4).map(|_| stream.below(1000)).collect();
        assert_eq!(draws, [574, 461, 292, 168]);
        let mut items: Vec<u8> = (0..10).collect();
        stream.shuffle(&mut items);
        assert_eq!(items, [1, 3, 4, 6, 9, 5, 8, 2, 0, 7]);
    }

    #[test]
    fn below_reaches_every_number_and_no_more() {
        let mut stream = RandomStream::new(1, "test", 0, 0);
        let mut seen = [0u32; 7];
        (0..7000).for_each(|_| seen[stream.below(7) as usize] += 1);
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
        assert_eq!((stream.below(1), stream.below(0)), (0, 0));
    }
}
