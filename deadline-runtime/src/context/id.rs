//! [`Id`]: the identity of a request, as its root has it.

use std::sync::Arc;

#[derive(Debug, Clone)]
pub(crate) enum Id {
    Text(Arc<str>),
    /// Made here. Its text is made when somebody asks for it, and mostly nobody does.
    #[cfg(feature = "http")]
    Drawn(Drawn),
}

/// 128 bits, written as 32 hexadecimal digits.
#[cfg(feature = "http")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Drawn(pub(crate) [u64; 2]);

#[cfg(feature = "http")]
impl Drawn {
    pub(crate) fn digits(self) -> [u8; 32] {
        let mut digits = [0; 32];
        for (half, bits) in digits.chunks_exact_mut(16).zip(self.0) {
            half[..8].copy_from_slice(&eight_digits(bits >> 32));
            half[8..].copy_from_slice(&eight_digits(bits & 0xffff_ffff));
        }
        digits
    }

    pub(crate) fn text(self) -> Arc<str> {
        Arc::from(std::str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

/// The lower half of `bits` in hexadecimal, all digits at once: most requests come without an id, and formatting costs ten
/// times as much.
#[cfg(feature = "http")]
const fn eight_digits(bits: u64) -> [u8; 8] {
    // A digit a byte.
    let bits = (bits | (bits << 16)) & 0x0000_ffff_0000_ffff;
    let bits = (bits | (bits << 8)) & 0x00ff_00ff_00ff_00ff;
    let bits = (bits | (bits << 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    // One where it is above nine: from there it is 39 to the letters.
    let letters = ((bits + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    (bits + 0x3030_3030_3030_3030 + letters * 39).to_be_bytes()
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_formatting() {
        for bits in [0, 0x0123_4567, 0x89ab_cdef, 0xffff_ffff, 0x90a0_9f0f] {
            assert_eq!(eight_digits(bits), format!("{bits:08x}").as_bytes());
        }
        let drawn = Drawn([0x0123_4567_89ab_cdef, 0xfedc_ba98_0000_0001]);
        assert_eq!(&*drawn.text(), "0123456789abcdeffedcba9800000001");
    }
}
