//! Who has to mend what is wrong.

use super::named::named;

named! {
    /// Who has to mend what is wrong.
    pub enum Blame, "blame" {
        /// The assembler: it was told right, by CFI directives, and wrote wrong rows.
        ProducerAssembler = "producer-assembler",
        /// The linker: it moved or joined rows wrongly, or those of its own code are wrong.
        ProducerLinker = "producer-linker",
        /// The compiler, or the author of CFI directives: the assembler wrote what it was told.
        CompilerOrCfi = "compiler-or-cfi",
        /// The unwinder under test: the rows are right, and it does not follow them.
        Consumer = "consumer",
        /// The bench: all that describes the frame agrees, and only its call stack does not.
        Bench = "bench",
        /// Nothing tells.
        Unknown = "unknown",
    }
}
