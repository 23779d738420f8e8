//! All tests of the bench but `conformance`, as one program: the emulator is linked once.

#[path = "../common/mod.rs"]
mod common;

mod architecture;
mod clauses;
mod cli;
mod command;
mod doctor;
mod faults;
mod from_eh_frame;
mod full_disks;
mod gate;
mod guide;
mod hazards;
mod hostile_documents;
mod hostile_tables;
mod interrupts;
mod isolate;
mod kept_walks;
mod known;
mod made_sections;
mod manual;
mod markdown;
mod matrix;
mod merging;
mod mutate;
mod next_release;
mod observed;
mod pipelines;
mod printing;
mod report_html;
mod reports;
mod restorers;
mod resume;
mod robustness;
mod rows;
mod sampling;
mod sarif;
mod study;
mod suite_notices;
mod surroundings;
mod traces;
mod triage;
mod unwinder;
mod write;
