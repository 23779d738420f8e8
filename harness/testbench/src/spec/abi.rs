//! The ABIs that have SFrame.

use super::named::named;

named! {
    /// An ABI for which SFrame is defined and programs are built.
    pub enum Abi, "ABI" {
        /// x86-64, System V.
        Amd64 = "amd64",
        /// AArch64, little endian.
        Aarch64 = "aarch64",
        /// AArch64, big endian.
        Aarch64Be = "aarch64_be",
        /// IBM Z, 64 bit.
        S390x = "s390x",
    }
}
