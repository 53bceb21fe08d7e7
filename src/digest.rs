//! Digests: texts and lists as one number that is the same in every run and on every machine. To tell apart, not to protect.

/// The digest of bytes: FNV-1a, 64 bits.
pub(crate) fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The digest of a list of numbers, as expressions show it: eight hexadecimal digits.
pub(crate) fn of_list(numbers: impl IntoIterator<Item = u64>) -> String {
    let mixed = numbers.into_iter().fold(0u64, |digest, number| {
        let mixed = (digest ^ number).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    });
    format!("{:08x}", mixed as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_pinned_and_tell_orders_apart() {
        assert_eq!(of_bytes(*b"gristmill"), 0xf45f_c486_a95f_772a);
        let lists: [&[u64]; 5] = [&[], &[0], &[0, 0], &[1, 2], &[2, 1]];
        let digests: Vec<String> = lists.iter().map(|list| of_list(list.iter().copied())).collect();
        assert_eq!(digests, ["00000000", "e17d05ac", "cc4d5b40", "38d82cf0", "b36a697a"]);
    }
}
