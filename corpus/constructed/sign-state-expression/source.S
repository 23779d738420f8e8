/* Return addresses whose signature is told by a rule for the register of the sign state, as compilers do that have
   no instruction for it in the language of their CFI.  */

#include "runtime/assembly.h"

        .text

        function signs
        paciasp
        .cfi_escape 0x16, 34, 1, 0x31
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      below
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        autiasp
        .cfi_escape 0x16, 34, 1, 0x30
        ret
        end     signs

        function below
        nop
        ret
        end     below

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      signs
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

        .section .note.GNU-stack, "", %progbits
