//! The layout of a converted section, as far as the format leaves it open.

#[cfg(feature = "cli")]
use clap::{Args, ValueEnum};
use serde::Deserialize;
use sframe_engine::constants::{SFRAME_F_FDE_FUNC_START_PCREL, SFRAME_F_FDE_SORTED};
use sframe_engine::write::{self, WriteError, WriteErrorKind};
use sframe_engine::{DataWordSize, FdeType, Flags, FreType, Recovery};

/// Filler for meaningless bytes: reading it as data would be noticed.
const FILLER: u8 = 0xa5;

/// A layout, as given by the options of `convert` and the files of toolchains.
/// Without a value, a property is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args), command(next_help_heading = "Layout of the section"))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Layout {
    /// What function starts are relative to; version 1 supports only the section.
    #[cfg_attr(feature = "cli", arg(long, value_name = "ORIGIN", value_enum))]
    pub starts: Option<Origin>,
    /// The order of the functions; any but `sorted` clears the sorted flag.
    #[cfg_attr(feature = "cli", arg(long, value_name = "ORDER", value_enum))]
    pub functions: Option<Order>,
    /// The order of the functions' rows in their sub-section.
    #[cfg_attr(feature = "cli", arg(long, value_name = "ORDER", value_enum))]
    pub rows: Option<Order>,
    /// Bytes between header and functions.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value_t, hide_default_value = true))]
    pub header_gap: u16,
    /// Bytes between functions and rows.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value_t, hide_default_value = true))]
    pub sub_section_gap: u16,
    /// Bytes after the last row.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", default_value_t, hide_default_value = true))]
    pub trailing: u16,
    /// Length of the auxiliary header.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES"))]
    pub auxiliary: Option<u8>,
    /// Minimum width of data words.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", value_enum))]
    pub data_words: Option<Width>,
    /// Minimum width of row starts.
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES", value_enum))]
    pub row_starts: Option<Width>,
    /// Mark outermost frames by functions without rows, instead of rows; since version 3.
    #[cfg_attr(feature = "cli", arg(long))]
    pub outermost_without_rows: bool,
}

/// What the start of a function is relative to (2.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "cli", derive(ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The field that contains it.
    Field,
    /// The start of the section.
    Section,
}

/// An order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "cli", derive(ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By the addresses of the functions.
    Sorted,
    /// The reverse order.
    Reversed,
    /// The functions at even positions in the order of addresses, then the others.
    Mixed,
}

/// A width in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "cli", derive(ValueEnum))]
#[serde(try_from = "u8")]
pub enum Width {
    /// 1 byte.
    #[cfg_attr(feature = "cli", value(name = "1"))]
    One,
    /// 2 bytes.
    #[cfg_attr(feature = "cli", value(name = "2"))]
    Two,
    /// 4 bytes.
    #[cfg_attr(feature = "cli", value(name = "4"))]
    Four,
}

impl TryFrom<u8> for Width {
    type Error = &'static str;

    fn try_from(width: u8) -> Result<Self, Self::Error> {
        match width {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            4 => Ok(Self::Four),
            _ => Err("widths are 1, 2 and 4"),
        }
    }
}

impl Layout {
    /// Applies the part of the layout that is stored in the section. The rest is
    /// for [`write::Section::write_with`].
    ///
    /// # Errors
    /// The section's version does not have such a form.
    pub fn apply(&self, section: &mut write::Section) -> Result<write::Layout, WriteError> {
        let flag = |section: &mut write::Section, flag: u8, is_set: bool| {
            let others = section.flags.0 & !flag;
            section.flags = Flags(others | if is_set { flag } else { 0 });
        };
        if let Some(origin) = self.starts {
            flag(section, SFRAME_F_FDE_FUNC_START_PCREL, origin == Origin::Field);
        }
        if let Some(order) = self.functions {
            let old = std::mem::take(&mut section.functions);
            section.functions = by_address(&old, order).into_iter().map(|index| old[index].clone()).collect();
            flag(section, SFRAME_F_FDE_SORTED, order == Order::Sorted);
        }
        if let Some(order) = self.rows {
            let order = by_address(&section.functions, order);
            for (position, index) in (0..).zip(order) {
                section.functions[index].rows_position = position;
            }
        }
        if let Some(len) = self.auxiliary {
            section.auxiliary = vec![FILLER; len.into()];
        }
        if let Some(width) = self.row_starts {
            for function in &mut section.functions {
                let usual = write::Function::usual_fre_type(function.size);
                let old = function.fre_type.unwrap_or(usual);
                function.fre_type =
                    Some(if width.row_starts().width() > old.width() { width.row_starts() } else { old });
            }
        }
        if self.outermost_without_rows {
            if !section.version.marks_outermost_functions() {
                let kind = WriteErrorKind::OutermostNotInVersion(section.version);
                return Err(WriteError { kind, function: None, row: None });
            }
            // Of all of the function: rows of a default FDE, of which the first is at its start (2.3.3.2).
            let is_outermost = |function: &write::Function| {
                function.fde_type == FdeType::Default
                    && function.rows.first().is_some_and(|row| row.start == 0)
                    && function.rows.iter().all(|row| row.ra == Recovery::Undefined)
            };
            for function in section.functions.iter_mut().filter(|function| is_outermost(function)) {
                function.rows.clear();
            }
        }
        Ok(write::Layout {
            header_gap: self.header_gap,
            sub_section_gap: self.sub_section_gap,
            trailing: self.trailing,
            filler: FILLER,
            data_words: self.data_words.map(Width::data_words),
        })
    }

    /// Returns the options of `convert` that request this layout.
    #[must_use]
    #[cfg(feature = "cli")]
    pub fn options(&self) -> Vec<String> {
        fn named<T: ValueEnum>(value: Option<&T>) -> Option<String> {
            Some(value?.to_possible_value()?.get_name().to_owned())
        }
        let bytes = |count: u16| (count > 0).then(|| count.to_string());
        let options = [
            ("starts", named(self.starts.as_ref())),
            ("functions", named(self.functions.as_ref())),
            ("rows", named(self.rows.as_ref())),
            ("header-gap", bytes(self.header_gap)),
            ("sub-section-gap", bytes(self.sub_section_gap)),
            ("trailing", bytes(self.trailing)),
            ("auxiliary", self.auxiliary.map(|len| len.to_string())),
            ("data-words", named(self.data_words.as_ref())),
            ("row-starts", named(self.row_starts.as_ref())),
        ];
        let options = options.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
        options.chain(self.outermost_without_rows.then(|| "--outermost-without-rows".to_owned())).collect()
    }
}

impl Width {
    const fn data_words(self) -> DataWordSize {
        match self {
            Self::One => DataWordSize::One,
            Self::Two => DataWordSize::Two,
            Self::Four => DataWordSize::Four,
        }
    }

    const fn row_starts(self) -> FreType {
        match self {
            Self::One => FreType::Addr1,
            Self::Two => FreType::Addr2,
            Self::Four => FreType::Addr4,
        }
    }
}

/// Returns the indices of functions in an order.
fn by_address(functions: &[write::Function], order: Order) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..functions.len()).collect();
    sorted.sort_by_key(|index| functions[*index].start);
    match order {
        Order::Sorted => {}
        Order::Reversed => sorted.reverse(),
        Order::Mixed => {
            let (even, odd) = (sorted.iter().step_by(2), sorted.iter().skip(1).step_by(2));
            sorted = even.chain(odd).copied().collect();
        }
    }
    sorted
}
