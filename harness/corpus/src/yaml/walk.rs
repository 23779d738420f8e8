//! Faults that must be found before a file is parsed into anything: keys that
//! appear twice, and aliases that multiply.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::locate;

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// A key that its mapping already has.
    Duplicate(String),
    /// More values and text than the file has characters: nested aliases.
    TooMuch,
}

/// The first fault, and its position. Faults that parsing finds are left to it.
pub(super) fn fault(text: &str) -> Option<(Range<usize>, Fault)> {
    // Without aliases there are at most as many values as characters, and text is at most one and a
    // half times as long as it is written.
    let state = State { fault: RefCell::new(None), left: Cell::new(4 * text.len() + 16) };
    let everything = Everything(&state);
    let error = everything.deserialize(serde_yaml::Deserializer::from_str(text)).err()?;
    let fault = state.fault.take()?;
    let start = error.location()?.index();
    let scalar = match &fault {
        Fault::Duplicate(key) => Some(key.as_str()),
        Fault::TooMuch => None,
    };
    Some((start..locate::end(text, start, scalar), fault))
}

struct State {
    fault: RefCell<Option<Fault>>,
    /// The remaining number of values that may be visited.
    left: Cell<usize>,
}

impl State {
    fn fail<E: serde::de::Error>(&self, fault: Fault) -> E {
        *self.fault.borrow_mut() = Some(fault);
        E::custom("fault")
    }

    /// Counts one value, or a text by its bytes.
    fn visit_one<E: serde::de::Error>(&self) -> Result<(), E> {
        self.visit_text(0)
    }

    fn visit_text<E: serde::de::Error>(&self, len: usize) -> Result<(), E> {
        match self.left.get().checked_sub(len + 1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(self.fail(Fault::TooMuch)),
        }
    }
}

/// Visits every value, through aliases too.
struct Everything<'a>(&'a State);

impl<'de> DeserializeSeed<'de> for Everything<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Everything<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.0.visit_one()
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.0.visit_one()
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        self.0.visit_one()
    }

    fn visit_i128<E: serde::de::Error>(self, _: i128) -> Result<(), E> {
        self.0.visit_one()
    }

    fn visit_u128<E: serde::de::Error>(self, _: u128) -> Result<(), E> {
        self.0.visit_one()
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.0.visit_one()
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.0.visit_text(text.len())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.0.visit_one()
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.0.visit_one()
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<(), A::Error> {
        let (IgnoredAny, tagged) = data.variant()?;
        tagged.newtype_variant_seed(Everything(self.0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.visit_one::<A::Error>()?;
        while seq.next_element_seed(Everything(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.visit_one::<A::Error>()?;
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key_seed(NewKey { seen: &seen, state: self.0 })? {
            seen.insert(key);
            map.next_value_seed(Everything(self.0))?;
        }
        Ok(())
    }
}

/// Reads a key that must not have been seen before.
struct NewKey<'a> {
    seen: &'a BTreeSet<String>,
    state: &'a State,
}

impl<'de> DeserializeSeed<'de> for NewKey<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NewKey<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<String, E> {
        self.state.visit_text(key.len())?;
        if self.seen.contains(key) {
            return Err(self.state.fail(Fault::Duplicate(key.to_owned())));
        }
        Ok(key.to_owned())
    }
}
