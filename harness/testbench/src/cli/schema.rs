//! `schema`: JSON Schemas of documents.

use clap::Args;
use sframe_inspect::command::{Failure, Status, print_json};
use sframe_suite::schema::Kind;

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
