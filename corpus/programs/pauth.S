/* Return addresses signed by hand, in ways that compilers do not have:

     sign_and_save     key A, with the frame that compilers make
     sign_with_b       key B, and a return that authenticates
     sign_late         SP has moved already, and is what the key signs with
     sign_twice        signed and authenticated twice, without a frame
     sign_with_zero    signed with 0 in place of SP, for a call in between  */

        .file   "pauth.S"

#include "runtime/assembly.h"

        .hidden leaf
        .hidden leaf_unsigned

        .text

        function sign_and_save
        paciasp
        .cfi_negate_ra_state
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        str     w0, [sp, #16]
        bl      leaf
        ldr     w1, [sp, #16]
        add     w0, w0, w1
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        autiasp
        .cfi_negate_ra_state
        ret
        end     sign_and_save

        function sign_with_b
        .cfi_b_key_frame
        pacibsp
        .cfi_negate_ra_state
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov     x29, sp
        .cfi_def_cfa_register x29
        str     w0, [x29, #16]
        sub     sp, sp, #64
        bl      leaf_unsigned
        ldr     w1, [x29, #16]
        add     w0, w0, w1, lsl #1
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        retab
        end     sign_with_b

        function sign_late
        sub     sp, sp, #32
        .cfi_def_cfa_offset 32
        str     w0, [sp, #8]
        paciasp
        .cfi_negate_ra_state
        str     x30, [sp, #24]
        .cfi_offset x30, -8
        bl      leaf
        ldr     w1, [sp, #8]
        add     w0, w0, w1
        ldr     x30, [sp, #24]
        .cfi_restore x30
        autiasp
        .cfi_negate_ra_state
        add     sp, sp, #32
        .cfi_def_cfa_offset 0
        ret
        end     sign_late

        function sign_twice
        paciasp
        .cfi_negate_ra_state
        add     w0, w0, #3
        autiasp
        .cfi_negate_ra_state
        add     w0, w0, #5
        paciasp
        .cfi_negate_ra_state
        add     w0, w0, #7
        retaa
        end     sign_twice

        function sign_with_zero
        paciaz
        .cfi_negate_ra_state
        str     x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -16
        bl      sign_with_b
        add     w0, w0, #1
        ldr     x30, [sp], #16
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        autiaz
        .cfi_negate_ra_state
        ret
        end     sign_with_zero

        .section .note.GNU-stack, "", %progbits
