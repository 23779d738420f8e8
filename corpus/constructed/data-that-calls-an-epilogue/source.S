/* Data among code whose bytes are those of a call, of an instruction that removes a function's frame. Nobody calls it. */

#include "frames.h"

        .macro  functions name
        function removes_\name
        sub     sp, sp, #112
        .cfi_adjust_cfa_offset 112
        stp     x29, x30, [sp, #32]
        .cfi_offset x29, -80
        .cfi_offset x30, -72
        call_of leaf
        ldp     x29, x30, [sp, #32]
        .cfi_restore x29
        .cfi_restore x30
        off     16
.Lremove_\name:
        add     sp, sp, #112
        .cfi_adjust_cfa_offset -112
        mov     x1, #0
        off     -16
        returns
        end     removes_\name

        .type   table_\name, %object
table_\name:
        bl      .Lremove_\name
        .word   0xff9b3c88
        .size   table_\name, . - table_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        main_calls removes
