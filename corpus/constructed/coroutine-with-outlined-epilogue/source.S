/* A coroutine that is switched to by a function whose prologue and epilogue are outlined, as Clang does for small code:
   `swap` leaves the frame that it has loaded SP from by a jump to what restores its registers. `swap_wrong` is the
   same with a wrong CFA at the jump. What makes a frame for its caller has no rows: none could be right.  */

#include "runtime/assembly.h"

        .bss
        .balign 16
stack:  .skip   4096
stack_end:
        .balign 8
main_sp:
        .skip   8
co_sp:  .skip   8
        .text

        .type   prolog, %function
prolog:
        stp     x20, x19, [sp, #-16]!
        add     x29, sp, #16
        ret
        .size   prolog, . - prolog

        function epilog_tail
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        ldp     x20, x19, [sp], #16
        .cfi_def_cfa_offset 16
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_same_value x29
        .cfi_same_value x30
        ret
        end     epilog_tail

        /* Saves SP at x0, and goes on with that at x1.  */
        .macro  swaps name, cfa
        function \name
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      prolog
        .cfi_def_cfa x29, 16
        mov     x9, sp
        str     x9, [x0]
        ldr     x9, [x1]
        mov     sp, x9
        .cfi_def_cfa sp, \cfa
        b       epilog_tail
        end     \name
        .endm

        swaps   swap, 32
        swaps   swap_wrong, 48

        function coroutine
        .cfi_undefined x30
        adrp    x0, co_sp
        add     x0, x0, :lo12:co_sp
        adrp    x1, main_sp
        add     x1, x1, :lo12:main_sp
        bl      swap
        b       coroutine
        end     coroutine

        .macro  leaves  name, by
        function \name
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      prolog
        .cfi_def_cfa x29, 16
        adrp    x0, main_sp
        add     x0, x0, :lo12:main_sp
        adrp    x1, co_sp
        add     x1, x1, :lo12:co_sp
        bl      \by
        .cfi_def_cfa sp, 32
        b       epilog_tail
        end     \name
        .endm

        leaves  leave, swap
        leaves  leave_again, swap_wrong

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        adrp    x0, stack_end
        add     x0, x0, :lo12:stack_end
        sub     x0, x0, #48
        adr     x1, coroutine
        str     x1, [x0, #24]
        str     xzr, [x0, #16]
        adrp    x1, co_sp
        str     x0, [x1, :lo12:co_sp]
        bl      leave
        bl      leave
        bl      leave_again
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main
        .section .note.GNU-stack, "", %progbits
