//! What is said of files, by functions and on the command line.

mod cli;
mod common;
mod diff;
mod diff_files;
mod dump;
mod gaps;
mod lint;
mod malformed;
mod pieces;
mod several;
