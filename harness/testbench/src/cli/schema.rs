//! `schema`: JSON Schemas of documents.

use crate::schema::Kind;
use clap::Args;
use sframe_inspect::command::{Failure, Status, print_json};

#[derive(Args)]
pub(super) struct SchemaCommand {
    /// The kind of document.
    #[arg(value_enum)]
    kind: Kind,
}

impl SchemaCommand {
    pub(super) fn execute(&self) -> Result<Status, Failure> {
        print_json(&self.kind.schema())?;
        Ok(Status::AsExpected)
    }
}
