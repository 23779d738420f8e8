#include "runtime/assembly.h"

        .arch   armv8.2-a+sve
        .text

function add_arrays                     /* (to, one, other, count) */
        sub     sp, sp, #32
        .cfi_adjust_cfa_offset 32
        mov     x4, #0
        whilelo p0.d, xzr, x3
1:      ld1d    z0.d, p0/z, [x1, x4, lsl #3]
        ld1d    z1.d, p0/z, [x2, x4, lsl #3]
        add     z0.d, z0.d, z1.d
        str     z0, [sp]
        str     p0, [sp, #8, mul vl]
        mov     z0.d, #0
        ldr     z0, [sp]
        ldr     p0, [sp, #8, mul vl]
        st1d    z0.d, p0, [x0, x4, lsl #3]
        incd    x4
        whilelo p0.d, x4, x3
        b.first 1b
        add     sp, sp, #32
        .cfi_adjust_cfa_offset -32
        ret
end add_arrays

function main
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        adrp    x0, sums
        add     x0, x0, :lo12:sums
        adrp    x1, ones
        add     x1, x1, :lo12:ones
        adrp    x2, others
        add     x2, x2, :lo12:others
        mov     x3, #5
        bl      add_arrays
        adrp    x0, sums
        add     x0, x0, :lo12:sums
        mov     x1, #0
        mov     x2, #0
1:      ldr     x3, [x0, x1, lsl #3]
        add     x2, x2, x3
        add     x1, x1, #1
        cmp     x1, #6
        b.ne    1b
        sub     x0, x2, #165
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -16
        ret
end main

        .data
        .balign 16
ones:   .quad   1, 2, 3, 4, 5, 1000
others: .quad   10, 20, 30, 40, 50, 1000
sums:   .quad   0, 0, 0, 0, 0, 0
