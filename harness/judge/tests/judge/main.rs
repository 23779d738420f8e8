//! The tests of the judge that run programs of the corpus, as one program.

mod common;
mod copies;
mod doctor;
mod explore_faults;
mod kept_walks;
mod observed;
mod restorers;
mod rules;
mod sampling;
mod study;
mod traces;
mod triage;
