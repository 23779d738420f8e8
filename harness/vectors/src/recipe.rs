//! Recipes: one item of a list that stands for many, so that large sections need no large files.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde_yaml::{Error, Mapping, Value};

/// The key of a recipe: how many items there are, and by how much a field grows from one to the next.
const REPEAT: &str = "repeat";
const COUNT: &str = "count";
/// The most items that a file may stand for.
const MOST: u64 = 1 << 18;

/// Checks all recipes of a document.
pub(crate) fn check(document: &Value) -> Result<(), String> {
    check_within(document, 1, &mut 0)
}

/// Checks the recipes in a value of which the document has this many.
fn check_within(value: &Value, times: u64, made: &mut u64) -> Result<(), String> {
    match value {
        Value::Mapping(fields) => fields.values().try_for_each(|field| check_within(field, times, made)),
        Value::Sequence(items) => items.iter().try_for_each(|item| {
            let Some((fields, recipe)) = recipe_of(item) else { return check_within(item, times, made) };
            let recipe = recipe.as_mapping().ok_or("`repeat` needs `count` and what grows")?;
            let count = recipe.get(COUNT).and_then(Value::as_u64).ok_or("`repeat` needs a `count`")?;
            let times = times.saturating_mul(count);
            *made = made.saturating_add(times);
            if *made > MOST {
                return Err(format!("the recipes make more than {MOST} items"));
            }
            recipe.iter().filter(|(key, _)| key.as_str() != Some(COUNT)).try_for_each(|(key, step)| {
                let name = key.as_str().unwrap_or_default();
                let field = fields.get(key).ok_or_else(|| format!("there is no `{name}` to grow"))?;
                grown(name, field, step, 0).map(drop)
            })?;
            fields.values().try_for_each(|field| check_within(field, times, made))
        }),
        _ => Ok(()),
    }
}

/// The fields of an item, and its recipe if it has one.
fn recipe_of(item: &Value) -> Option<(&Mapping, &Value)> {
    let fields = item.as_mapping()?;
    fields.get(REPEAT).map(|recipe| (fields, recipe))
}

/// What a field is in one of the items.
fn grown(name: &str, field: &Value, step: &Value, index: u64) -> Result<Value, String> {
    let step = step.as_u64().ok_or_else(|| format!("`{name}` can't grow by that"))?;
    let by = step.wrapping_mul(index);
    match field {
        Value::String(text) => {
            let digits = text.strip_prefix("0x").ok_or_else(|| format!("`{name}` is no number"))?;
            let number = u64::from_str_radix(digits, 16).map_err(|error| format!("`{name}`: {error}"))?;
            Ok(Value::String(format!("{:#x}", number.wrapping_add(by))))
        }
        Value::Number(number) if number.is_u64() => {
            Ok(Value::from(number.as_u64().unwrap_or_default().wrapping_add(by)))
        }
        _ => Err(format!("`{name}` is no number")),
    }
}

/// A value with all its recipes written out while it is read.
#[derive(Clone, Copy)]
pub(crate) struct Written<'de> {
    value: &'de Value,
    /// Of a field that grows: its name, by how much, and in which of the items.
    growth: Option<(&'de str, &'de Value, u64)>,
    /// Of an item of a list: which one of those that it stands for.
    index: Option<u64>,
}

impl<'de> Written<'de> {
    /// A document whose recipes are right, as [`check`] says.
    pub(crate) const fn of(value: &'de Value) -> Self {
        Self { value, growth: None, index: None }
    }

    /// How many items it stands for.
    fn count(self) -> u64 {
        let count = recipe_of(self.value).and_then(|(_, recipe)| recipe.get(COUNT)?.as_u64());
        count.unwrap_or(1)
    }

    /// The items of a list.
    fn items(items: &'de [Value]) -> impl Iterator<Item = Self> {
        items.iter().flat_map(|value| {
            let item = Self::of(value);
            (0..item.count()).map(move |index| Self { index: Some(index), ..item })
        })
    }

    /// The fields of an item.
    fn fields(self, fields: &'de Mapping) -> impl Iterator<Item = (Self, Self)> {
        let item = self.index.and_then(|index| Some((index, fields.get(REPEAT)?.as_mapping()?)));
        let named = fields.iter().filter(move |(key, _)| item.is_none() || key.as_str() != Some(REPEAT));
        named.map(move |(key, value)| {
            let grows = item.filter(|_| key.as_str() != Some(COUNT));
            let growth = grows.and_then(|(index, recipe)| Some((key.as_str()?, recipe.get(key)?, index)));
            (Self::of(key), Self { growth, ..Self::of(value) })
        })
    }
}

impl<'de> IntoDeserializer<'de, Error> for Written<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Written<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match (self.growth, self.value) {
            (Some((name, step, index)), field) => {
                grown(name, field, step, index).map_err(Error::custom)?.deserialize_any(visitor)
            }
            (None, Value::Sequence(items)) => visitor.visit_seq(SeqDeserializer::new(Self::items(items))),
            (None, Value::Mapping(fields)) => visitor.visit_map(MapDeserializer::new(self.fields(fields))),
            (None, value) => value.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;

    use super::*;

    fn expanded(text: &str) -> Result<Value, String> {
        let value: Value = serde_yaml::from_str(text).expect("YAML");
        check(&value).map(|()| Value::deserialize(Written::of(&value)).expect("a value"))
    }

    #[test]
    fn an_item_stands_for_many() {
        let made = expanded(
            "fdes: [{start: '0x10', repeat: {count: 3, start: 8}, rows: [{start: 0, repeat: {count: 2, start: 4}}]}]",
        );
        let rows = "rows: [{start: 0}, {start: 4}]";
        let all = format!(
            "fdes: [{{start: '0x10', {rows}}}, {{start: '0x18', {rows}}}, {{start: '0x20', {rows}}}]"
        );
        assert_eq!(made, Ok(serde_yaml::from_str(&all).expect("YAML")));
    }

    #[test]
    fn only_an_item_of_a_list_stands_for_many() {
        let text = "{start: 0, repeat: {count: 2, start: 3}}";
        assert_eq!(expanded(text), Ok(serde_yaml::from_str(text).expect("YAML")));
    }

    #[test]
    fn a_recipe_that_makes_no_sense_is_an_error() {
        for (text, expected) in [
            ("[{start: 0, repeat: 3}]", "needs `count`"),
            ("[{start: 0, repeat: {start: 3}}]", "needs a `count`"),
            ("[{start: 0, repeat: {count: 2, end: 3}}]", "no `end` to grow"),
            ("[{start: a, repeat: {count: 2, start: 3}}]", "`start` is no number"),
            ("[{start: 0, repeat: {count: 2, start: a}}]", "can't grow"),
            ("[{start: 0, repeat: {count: 9999999, start: 1}}]", "more than 262144 items"),
            (
                "[{start: 0, repeat: {count: 999, start: 1}, rows: [{at: 0, repeat: {count: 999}}]}]",
                "more than 262144 items",
            ),
        ] {
            assert!(expanded(text).is_err_and(|error| error.contains(expected)), "{text}");
        }
    }
}
