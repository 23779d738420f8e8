//! Recipes: one item of a list that stands for many, so that large sections need no large files.

use serde_yaml::{Mapping, Value};

/// The key of a recipe: how many items there are, and by how much a field grows from one to the next.
const REPEAT: &str = "repeat";
const COUNT: &str = "count";
/// The most items that a file may stand for.
const MOST: u64 = 1 << 18;

/// Writes all recipes of a document out.
pub(crate) fn expand(value: &mut Value) -> Result<(), String> {
    let mut left = MOST;
    expand_within(value, &mut left)
}

fn expand_within(value: &mut Value, left: &mut u64) -> Result<(), String> {
    match value {
        Value::Mapping(fields) => fields.values_mut().try_for_each(|field| expand_within(field, left)),
        Value::Sequence(items) => {
            let mut all = Vec::with_capacity(items.len());
            for mut item in std::mem::take(items) {
                // What it stands for has recipes of its own.
                expand_within(&mut item, left)?;
                let recipe = item.as_mapping_mut().and_then(|fields| fields.remove(REPEAT));
                match recipe {
                    None => all.push(item),
                    Some(recipe) => repeat(&item, &recipe, left, &mut all)?,
                }
            }
            *items = all;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn repeat(item: &Value, recipe: &Value, left: &mut u64, all: &mut Vec<Value>) -> Result<(), String> {
    let recipe = recipe.as_mapping().ok_or("`repeat` needs `count` and what grows")?;
    let count = recipe.get(COUNT).and_then(Value::as_u64).ok_or("`repeat` needs a `count`")?;
    *left = left.checked_sub(count).ok_or_else(|| format!("the recipes make more than {MOST} items"))?;
    for index in 0..count {
        let mut made = item.clone();
        if let Value::Mapping(fields) = &mut made {
            for (key, step) in recipe.iter().filter(|(key, _)| key.as_str() != Some(COUNT)) {
                grow(fields, key, step, index)?;
            }
        }
        all.push(made);
    }
    Ok(())
}

fn grow(fields: &mut Mapping, key: &Value, step: &Value, index: u64) -> Result<(), String> {
    let name = key.as_str().unwrap_or_default();
    let step = step.as_u64().ok_or_else(|| format!("`{name}` can't grow by that"))?;
    let field = fields.get_mut(key).ok_or_else(|| format!("there is no `{name}` to grow"))?;
    let by = step.wrapping_mul(index);
    *field = match &*field {
        Value::String(text) => {
            let digits = text.strip_prefix("0x").ok_or_else(|| format!("`{name}` is no number"))?;
            let number = u64::from_str_radix(digits, 16).map_err(|error| format!("`{name}`: {error}"))?;
            Value::String(format!("{:#x}", number.wrapping_add(by)))
        }
        Value::Number(number) if number.is_u64() => {
            Value::from(number.as_u64().unwrap_or_default().wrapping_add(by))
        }
        _ => return Err(format!("`{name}` is no number")),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<Value, String> {
        let mut value: Value = serde_yaml::from_str(text).expect("YAML");
        expand(&mut value).map(|()| value)
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
    fn a_recipe_that_makes_no_sense_is_an_error() {
        for (text, expected) in [
            ("[{start: 0, repeat: 3}]", "needs `count`"),
            ("[{start: 0, repeat: {start: 3}}]", "needs a `count`"),
            ("[{start: 0, repeat: {count: 2, end: 3}}]", "no `end` to grow"),
            ("[{start: a, repeat: {count: 2, start: 3}}]", "`start` is no number"),
            ("[{start: 0, repeat: {count: 2, start: a}}]", "can't grow"),
            ("[{start: 0, repeat: {count: 9999999, start: 1}}]", "more than 262144 items"),
        ] {
            assert!(expanded(text).is_err_and(|error| error.contains(expected)), "{text}");
        }
    }
}
