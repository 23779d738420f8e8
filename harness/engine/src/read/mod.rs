//! From bytes to functions and rows. One file per structure of the format.

mod bytes;
mod cache;
mod default_row;
mod fde;
mod fde_table;
mod fre;
mod header;
#[cfg(feature = "alloc")]
mod index;
mod lookup;
mod row_table;
mod section;

pub(crate) use bytes::Bytes;
pub use cache::{Cache, FindRow};
pub use fde::{Fde, FdeType, FreType, PauthKey, PcType};
pub use fre::{DataWordSize, Fre, Fres, Rows};
pub use header::{Flags, Header};
#[cfg(feature = "alloc")]
pub use index::Index;
pub use lookup::Found;
pub use section::{Fdes, Section};
