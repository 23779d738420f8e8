//! Reads an answer piece by piece: what can't be read is a wrong answer to its question, and no more.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::SectionAnswer;
use crate::expect::{Fde, Reject, Row};
use crate::names::RejectKind;
use crate::query::Query;
use crate::words::reword;

/// Answers that can't be read, such as a number out of range: why, by question.
pub type Unreadable = BTreeMap<Query, String>;

/// The keys of an answer.
const KEYS: [&str; 5] = ["reject", "header", "fdes", "lookups", "steps"];

impl SectionAnswer {
    /// Reads an answer. What can't be read of it is left out, or stands as a rejection.
    ///
    /// # Errors
    /// A key that does not exist or is missing, or something else where a list is expected: the reader does not speak the protocol.
    pub fn read(value: Value) -> Result<(Self, Unreadable), String> {
        let Value::Object(mut fields) = value else { return Err("`section` is not an object".to_owned()) };
        if let Some(unknown) = fields.keys().find(|key| !KEYS.contains(&&***key)) {
            return Err(format!("unknown field `{unknown}`, expected one of `{}`", KEYS.join("`, `")));
        }
        let mut unreadable = Unreadable::new();
        let mut take = |key: &str| fields.remove(key).filter(|value| !value.is_null());
        let mut answer = Self::default();
        if let Some(reject) = take("reject") {
            answer.reject = piece(reject, Query::Opening, &mut unreadable)?;
            // It is one, whatever it says.
            answer.reject.get_or_insert_with(unspecified);
        }
        if let Some(header) = take("header") {
            answer.header = piece(header, Query::Header, &mut unreadable)?;
        }
        if let Some(fdes) = list(take("fdes"), "fdes")? {
            let fde = |(index, fde)| read_fde(fde, index, &mut unreadable);
            answer.fdes = Some(fdes.into_iter().enumerate().map(fde).collect::<Result<_, _>>()?);
        }
        if let Some(lookups) = list(take("lookups"), "lookups")? {
            let mut all = Vec::new();
            for (index, lookup) in lookups.into_iter().enumerate() {
                let read = piece(lookup, Query::Lookup(index), &mut unreadable)?;
                all.push(read.unwrap_or_else(no_lookup));
            }
            answer.lookups = Some(all);
        }
        if let Some(steps) = list(take("steps"), "steps")? {
            let mut all = Vec::new();
            for (index, mut step) in steps.into_iter().enumerate() {
                let message = step.as_object_mut().and_then(|fields| fields.remove("message"));
                if let Some(message) = message.as_ref().and_then(Value::as_str) {
                    answer.said.insert(index, message.to_owned());
                }
                all.push(piece(step, Query::Step(index), &mut unreadable)?.unwrap_or_default());
            }
            answer.steps = Some(all);
        }
        Ok((answer, unreadable))
    }
}

const fn unspecified() -> Reject {
    Reject { kind: RejectKind::Unspecified, offset: None }
}

const fn no_lookup() -> crate::expect::Lookup {
    crate::expect::Lookup {
        pc: crate::number::Address(0),
        return_address: false,
        answer: crate::expect::Answer::NoFde,
    }
}

fn list(value: Option<Value>, key: &str) -> Result<Option<Vec<Value>>, String> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(format!("`{key}` is not a list")),
    }
}

fn piece<T: DeserializeOwned>(
    value: Value,
    query: Query,
    unreadable: &mut Unreadable,
) -> Result<Option<T>, String> {
    match serde_json::from_value(value) {
        Ok(piece) => Ok(Some(piece)),
        Err(error) => {
            let why = error.to_string();
            if ["unknown field", "missing field"].iter().any(|start| why.starts_with(start)) {
                return Err(why);
            }
            unreadable.insert(query, reword(&why).message);
            Ok(None)
        }
    }
}

fn read_fde(mut value: Value, index: usize, unreadable: &mut Unreadable) -> Result<Fde, String> {
    let rows = list(value.as_object_mut().and_then(|fields| fields.remove("rows")), "rows")?;
    let fde: Option<Fde> = piece(value, Query::Fde(index), unreadable)?;
    let Some(mut fde) = fde else { return Ok(Fde::rejected(unspecified())) };
    for (row, value) in rows.unwrap_or_default().into_iter().enumerate() {
        let read: Option<Row> = piece(value, Query::Row(index, row), unreadable)?;
        fde.rows.push(read.unwrap_or(Row::Reject(unspecified())));
    }
    Ok(fde)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_read_is_a_wrong_answer_to_its_question() {
        let row = json!({"start": 0, "cfa": "SP+8", "ra": "unchanged", "fp": "unchanged"});
        let answer = json!({
            "fdes": [
                {"start": "0x1000", "size": 16, "rows": [row, {"start": -1, "ra": "undefined"}]},
                {"start": "0x1010", "size": -1},
            ],
            "lookups": [{"pc": "0x1000", "fde": 0, "row": 0}, {"pc": "0x1000", "fde": 0, "row": "some"}],
            "steps": [{"end": {"kind": "bored"}}, {"end": {"kind": "malformed"}, "message": "too long"}],
        });
        let (answer, unreadable) = SectionAnswer::read(answer).expect("an answer");
        let queries: Vec<&Query> = unreadable.keys().collect();
        assert_eq!(queries, [&Query::Fde(1), &Query::Row(0, 1), &Query::Lookup(1), &Query::Step(0)]);
        assert_eq!(answer.said.into_iter().collect::<Vec<_>>(), [(1, "too long".to_owned())]);
        let fdes = answer.fdes.expect("functions");
        assert_eq!((fdes.len(), fdes[0].rows.len(), answer.lookups.map(|all| all.len())), (2, 2, Some(2)));
        let (_, unreadable) = SectionAnswer::read(json!({"header": {"version": 300}})).expect("an answer");
        assert!(
            unreadable[&Query::Header].contains("integer `300`, expected a whole number, 0 to 255"),
            "{unreadable:?}"
        );
    }

    #[test]
    fn a_key_that_does_not_exist_is_no_answer() {
        for (answer, expected) in [
            (json!({"fde": []}), "unknown field `fde`, expected one of `reject`"),
            (json!({"fdes": [{"start": "0x1", "length": 3}]}), "unknown field `length`"),
            (json!({"header": {}}), "missing field `version`"),
            (json!({"fdes": {}}), "`fdes` is not a list"),
            (json!([]), "not an object"),
        ] {
            let error = SectionAnswer::read(answer).expect_err("no answer");
            assert!(error.contains(expected), "{error}");
        }
    }
}
