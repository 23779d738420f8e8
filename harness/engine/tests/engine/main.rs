//! Tests of the engine on sections that are put together field by field.

mod builder;
mod index;
mod lint;
mod malformed;
mod read;
mod step;
mod write;
