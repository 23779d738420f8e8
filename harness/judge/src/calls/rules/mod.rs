//! The rules by which calls are read, each in a file with the program that needs it.
//!
//! The first four ask what only control can show; the others say what rows may describe while control is under way. A
//! test switches each off, and sees the answer about its program change.

pub(super) mod branch_that_calls;
pub(super) mod call_within_function;
pub(super) mod departed;
pub(super) mod elsewhere;
pub(super) mod landed;
pub(super) mod landing;
pub(super) mod new_context;
pub(super) mod return_hook;
pub(super) mod return_past_frames;
pub(super) mod rewritten;
pub(super) mod row_of_jump;
pub(super) mod saved_fp;
pub(super) mod trap;
pub(super) mod unresolved;

use super::rule::Rule;

/// All of them.
pub const RULES: [&Rule; 14] = [
    &branch_that_calls::RULE,
    &call_within_function::RULE,
    &departed::RULE,
    &elsewhere::RULE,
    &landed::RULE,
    &landing::RULE,
    &new_context::RULE,
    &return_hook::RULE,
    &return_past_frames::RULE,
    &rewritten::RULE,
    &row_of_jump::RULE,
    &saved_fp::RULE,
    &trap::RULE,
    &unresolved::RULE,
];
