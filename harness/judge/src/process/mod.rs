//! This process and its children: limits, and how they end.

pub mod address_space;
pub mod child;
