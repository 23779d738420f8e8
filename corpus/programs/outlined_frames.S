/* Functions whose prologues and epilogues are calls, as compilers outline them
   for size (`-Oz`, and LLVM's -homogeneous-prolog-epilog): the one returns with
   a lower SP than it was called with, the other with a higher one, by x16, since
   x30 is the caller's again by then.

     outlined             both
     outlined_nested      calls in between, and moves SP once more
     outlined_tail        the epilogue is jumped to, and returns for the function
     outlined_recursion   calls itself

   They change their caller's FP and SP, which no rule of their own could say: but
   for the one that is jumped to, they have no call frame information.  */

        .file   "outlined_frames.S"

#include "runtime/assembly.h"

        .text

#if defined(__aarch64__)

        /* x30 and FP are on the stack already.  */
        function outlined_prologue
        uncovered
        stp     x20, x19, [sp, #-16]!
        add     x29, sp, #16
        ret
        end_uncovered outlined_prologue

        function outlined_epilogue
        uncovered
        mov     x16, x30
        ldp     x29, x30, [sp, #16]
        ldp     x20, x19, [sp], #32
        ret     x16
        end_uncovered outlined_epilogue

        function outlined_epilogue_tail
        .cfi_def_cfa_offset 32
        .cfi_offset x30, -8
        .cfi_offset x29, -16
        ldp     x20, x19, [sp], #16
        .cfi_def_cfa_offset 16
        ldp     x29, x30, [sp], #16
        .cfi_restore x30
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        ret
        end     outlined_epilogue_tail

        .macro  prologue
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -8
        .cfi_offset x29, -16
        bl      outlined_prologue
        .cfi_def_cfa_offset 32
        .endm

        .macro  epilogue
        bl      outlined_epilogue
        .cfi_restore x30
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        .endm

        function outlined
        prologue
        mov     w19, w0
        bl      leaf
        add     w0, w0, w19
        epilogue
        ret
        end     outlined

        function outlined_nested
        prologue
        mov     w19, w0
        bl      leaf
        mov     w20, w0
        mov     w0, w19
        sub     sp, sp, #32
        .cfi_def_cfa_offset 64
        bl      leaf
        add     sp, sp, #32
        .cfi_def_cfa_offset 32
        add     w0, w0, w20
        add     w0, w0, w19
        add     w0, w0, #1
        epilogue
        ret
        end     outlined_nested

        function outlined_tail
        prologue
        mov     w19, w0
        bl      leaf
        add     w0, w0, #1
        b       outlined_epilogue_tail
        end     outlined_tail

        function outlined_recursion
        cbz     w0, 1f
        prologue
        mov     w19, w0
        sub     w0, w0, #1
        add     w1, w1, w19
        bl      outlined_recursion
        add     w0, w0, w19
        epilogue
        ret
1:      stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -8
        .cfi_offset x29, -16
        mov     w0, w1
        bl      leaf
        ldp     x29, x30, [sp], #16
        .cfi_restore x30
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        ret
        end     outlined_recursion

#endif

        .section .note.GNU-stack, "", %progbits
