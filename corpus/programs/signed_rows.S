/* Return addresses that are signed and not, in turn, in one function:

     signed_later      saved as it is, signed in its register, and saved anew;
                       what was saved first is destroyed
     signed_turns      with a frame, and in it signed, authenticated and signed
                       again, with a call in each state
     signed_turns_b    the same with key B
     signed_exits      remembered states: one exit with the signature, one without
     signed_exits_b    the same with key B, and returns that authenticate
     signed_nested     a frame of key A between frames of key B, and the reverse
     signed_by_other   signed with a copy of SP that is no longer SP  */

        .file   "signed_rows.S"

#include "runtime/assembly.h"

        .hidden leaf

        .text

        /* FP is left alone, so that the return address may be in a register.  */
        function signed_later
        str     x30, [sp, #-64]!
        .cfi_def_cfa_offset 64
        .cfi_offset x30, -64
        str     w0, [sp, #16]
        bl      leaf
        str     w0, [sp, #20]
        ldr     x30, [sp]
        .cfi_restore x30
        add     x9, sp, #64
        str     x9, [sp]
        pacia   x30, x9
        .cfi_negate_ra_state
        ldr     w0, [sp, #16]
        str     x30, [sp, #40]
        .cfi_offset x30, -24
        bl      leaf
        ldr     w1, [sp, #20]
        add     w0, w0, w1
        ldr     x30, [sp, #40]
        .cfi_restore x30
        str     wzr, [sp, #40]
        add     sp, sp, #64
        .cfi_def_cfa_offset 0
        autiasp
        .cfi_negate_ra_state
        ret
        end     signed_later

        /* The CFA is what signs.  FP is always saved, and a row can't say that
           without saying where the return address is: it is said to be in its
           old place until it is in the new one.  */
        .macro  turns name, sign, authenticate, return
        stp     x29, x30, [sp, #-64]!
        .cfi_def_cfa_offset 64
        .cfi_offset x29, -64
        .cfi_offset x30, -56
        mov     x29, sp
        .cfi_def_cfa_register x29
        str     w0, [x29, #16]
        bl      leaf
        str     w0, [x29, #20]
        ldr     x30, [x29, #8]
        add     x9, x29, #64
        \sign   x30, x9
        str     x30, [x29, #40]
        .cfi_offset x30, -24
        .cfi_negate_ra_state
        str     x29, [x29, #8]
        ldr     w0, [x29, #16]
        bl      leaf
        ldr     w1, [x29, #20]
        add     w0, w0, w1
        str     w0, [x29, #20]
        ldr     x30, [x29, #40]
        add     x9, x29, #64
        \authenticate x30, x9
        str     x30, [x29, #48]
        .cfi_negate_ra_state
        .cfi_offset x30, -16
        str     x29, [x29, #40]
        ldr     w0, [x29, #16]
        bl      leaf
        ldr     w1, [x29, #20]
        add     w0, w0, w1
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldr     x30, [x29, #48]
        ldr     x29, [sp], #64
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        mov     x9, sp
        \sign   x30, x9
        .cfi_negate_ra_state
        \return
        end     \name
        .endm

        function signed_turns
        turns   signed_turns, pacia, autia, retaa

        function signed_turns_b
        .cfi_b_key_frame
        turns   signed_turns_b, pacib, autib, retab

        .macro  exits name, sign, authenticate, return
        tbz     w0, #1, 2f
        \sign
        .cfi_negate_ra_state
        .cfi_remember_state
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     w0, [sp, #16]
        bl      leaf
        ldr     w1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        tbnz    w1, #0, 1f
        \authenticate
        .cfi_negate_ra_state
        ret
1:      .cfi_restore_state
        add     w0, w0, #1
        .ifc    \return, ret
        \authenticate
        .cfi_negate_ra_state
        .endif
        \return
2:      .cfi_def_cfa_offset 0
        .ifc    \return, ret
        .else
        .cfi_negate_ra_state
        .endif
        add     w0, w0, #2
        ret
        end     \name
        .endm

        function signed_exits
        exits   signed_exits, paciasp, autiasp, ret

        function signed_exits_b
        .cfi_b_key_frame
        exits   signed_exits_b, pacibsp, autibsp, retab

        .macro  frame sign, callee, return
        \sign
        .cfi_negate_ra_state
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        cbz     w0, 1f
        sub     w0, w0, #1
        bl      \callee
1:      add     w0, w0, #1
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        \return
        .endm

        /* Counts down to 0 and up again.  */
        function signed_nested
        frame   paciasp, signed_nested_b, retaa
        end     signed_nested

        function signed_nested_b
        .cfi_b_key_frame
        frame   pacibsp, signed_nested, retab
        end     signed_nested_b

        function signed_by_other
        sub     sp, sp, #48
        .cfi_def_cfa_offset 48
        mov     x9, sp
        str     x9, [sp, #8]
        pacia   x30, x9
        .cfi_negate_ra_state
        sub     sp, sp, #16
        .cfi_def_cfa_offset 64
        str     x30, [sp, #8]
        .cfi_offset x30, -56
        str     w0, [sp]
        bl      leaf
        ldr     w1, [sp]
        add     w0, w0, w1
        ldr     x30, [sp, #8]
        .cfi_restore x30
        ldr     x9, [sp, #24]
        autia   x30, x9
        .cfi_negate_ra_state
        add     sp, sp, #64
        .cfi_def_cfa_offset 0
        ret
        end     signed_by_other

        .section .note.GNU-stack, "", %progbits
