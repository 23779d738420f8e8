//! Addresses of instructions, in little memory: code is dense.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Addresses in ascending order, each as the distance from the one before: most take a byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct PcSet(Vec<u8>);

impl PcSet {
    /// Takes addresses.
    pub(super) fn new(mut addresses: Vec<u64>) -> Self {
        addresses.sort_unstable();
        addresses.dedup();
        let mut bytes = Vec::with_capacity(addresses.len() + 8);
        let mut last = 0;
        for address in addresses {
            let mut distance = address - last;
            last = address;
            while distance >= 0x80 {
                bytes.push(distance.to_le_bytes()[0] | 0x80);
                distance >>= 7;
            }
            bytes.push(distance.to_le_bytes()[0]);
        }
        Self(bytes)
    }

    /// Returns the addresses, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        let (mut bytes, mut last) = (self.0.iter(), 0_u64);
        std::iter::from_fn(move || {
            let (mut distance, mut shift) = (0_u64, 0_u32);
            loop {
                let byte = *bytes.next()?;
                distance |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            last = last.wrapping_add(distance);
            Some(last)
        })
    }
}

impl From<PcSet> for String {
    fn from(set: PcSet) -> Self {
        STANDARD.encode(set.0)
    }
}

impl TryFrom<String> for PcSet {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_in_order_and_once() {
        for addresses in [
            vec![],
            vec![0],
            vec![u64::MAX, 0, 7],
            vec![0x1000, 0x1004, 0x1004, 0xffff_8000_0000_0000, 0x1083, 0x1082],
        ] {
            let mut sorted = addresses.clone();
            sorted.sort_unstable();
            sorted.dedup();
            let set = PcSet::new(addresses);
            assert_eq!(set.iter().collect::<Vec<_>>(), sorted);
            let text = serde_json::to_string(&set).expect("a text");
            assert_eq!(serde_json::from_str::<PcSet>(&text).expect("a set"), set);
        }
        assert!(serde_json::from_str::<PcSet>("\"?\"").is_err());
    }
}
