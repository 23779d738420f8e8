/* Functions of which FP is right by luck: what is where their rows say that it is is something else,
   and equal to it, since main has put there what they expect.  */

#include "runtime/assembly.h"

        .text

        .set    value, 0x230

#if defined(__x86_64__)

        /* 24 bytes below the return address. FP is said to be at 8(%rsp) where that is stored. */
        .macro  frame name
        function \name
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        .endm

        .macro  done name
        nop
        addq    $24, %rsp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     \name
        .endm

        function leaf
        movl    $5, %eax
        ret
        end     leaf

        frame   slot_of_constant
        movq    $value, 8(%rsp)
        .cfi_offset %rbp, -24
        call    leaf
        done    slot_of_constant

        frame   slot_of_register
        movl    $value, %eax
        movq    %rax, 8(%rsp)
        .cfi_offset %rbp, -24
        call    leaf
        done    slot_of_register

        frame   slot_of_callers_register
        movq    %rbx, 8(%rsp)
        .cfi_offset %rbp, -24
        call    leaf
        done    slot_of_callers_register

        /* By way of a register that had FP's value before. */
        frame   slot_of_sum
        movq    %rbp, %rax
        xorl    %eax, %eax
        orl     $value - 4, %eax
        leal    4(%rax), %ecx
        movq    %rcx, 8(%rsp)
        .cfi_offset %rbp, -24
        call    leaf
        done    slot_of_sum

        /* FP was there, and is not any more. */
        frame   slot_stored_over
        movq    %rbp, 8(%rsp)
        .cfi_offset %rbp, -24
        movl    $value, %eax
        movq    %rax, 8(%rsp)
        done    slot_stored_over

        function fp_is_constant
        movl    $value, %ebp
        nop
        ret
        end     fp_is_constant

        function fp_is_register
        movl    $value, %eax
        movq    %rax, %rbp
        nop
        ret
        end     fp_is_register

        function fp_is_callers_register
        movq    %rbx, %rbp
        nop
        ret
        end     fp_is_callers_register

        function fp_is_sum
        xorl    %ebp, %ebp
        addl    $value, %ebp
        movl    %ebp, %ebp
        ret
        end     fp_is_sum

        function main
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        subq    $8, %rsp
        .cfi_def_cfa_offset 32
        movl    $value, %ebp
        movl    $value, %ebx
        call    slot_of_constant
        call    slot_of_register
        call    slot_of_callers_register
        call    slot_of_sum
        call    slot_stored_over
        call    fp_is_constant
        call    fp_is_register
        call    fp_is_callers_register
        call    fp_is_sum
        addq    $8, %rsp
        .cfi_def_cfa_offset 24
        popq    %rbx
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        xorl    %eax, %eax
        ret
        end     main

#elif defined(__aarch64__)

        /* 32 bytes. FP is said to be at [sp, 16] where that is stored. */
        .macro  frame name
        function \name
        sub     sp, sp, #32
        .cfi_def_cfa_offset 32
        str     x30, [sp, #24]
        .cfi_offset x30, -8
        .endm

        .macro  done name
        ldr     x30, [sp, #24]
        add     sp, sp, #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     \name
        .endm

        function leaf
        mov     x0, #5
        ret
        end     leaf

        frame   slot_of_constant
        mov     x10, #value
        str     x10, [sp, #16]
        .cfi_offset x29, -16
        bl      leaf
        done    slot_of_constant

        frame   slot_of_register
        movz    x10, #value
        mov     x11, x10
        str     x11, [sp, #16]
        .cfi_offset x29, -16
        bl      leaf
        done    slot_of_register

        frame   slot_of_callers_register
        str     x19, [sp, #16]
        .cfi_offset x29, -16
        bl      leaf
        done    slot_of_callers_register

        frame   slot_of_sum
        mov     x10, x29
        mov     x10, #0
        orr     x10, x10, #16
        mov     x11, #value - 16
        orr     x10, x10, x11
        str     x10, [sp, #16]
        .cfi_offset x29, -16
        bl      leaf
        done    slot_of_sum

        frame   slot_stored_over
        str     x29, [sp, #16]
        .cfi_offset x29, -16
        mov     x10, #value
        str     x10, [sp, #16]
        done    slot_stored_over

        function fp_is_constant
        mov     x29, #value
        nop
        ret
        end     fp_is_constant

        function fp_is_register
        mov     x10, #value
        mov     x29, x10
        nop
        ret
        end     fp_is_register

        function fp_is_callers_register
        mov     x29, x19
        nop
        ret
        end     fp_is_callers_register

        function fp_is_sum
        mov     x29, #0
        add     x29, x29, #value
        add     w29, w29, #0
        ret
        end     fp_is_sum

        function main
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        mov     x29, #value
        mov     x19, #value
        bl      slot_of_constant
        bl      slot_of_register
        bl      slot_of_callers_register
        bl      slot_of_sum
        bl      slot_stored_over
        bl      fp_is_constant
        bl      fp_is_register
        bl      fp_is_callers_register
        bl      fp_is_sum
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        mov     x0, #0
        ret
        end     main

#elif defined(__s390x__)

        /* 32 bytes above the callee's save area. FP is said to be at 160(%r15) where that is stored. */
        .macro  frame name
        function \name
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        stg     %r14, 168(%r15)
        .cfi_offset %r14, -184
        .endm

        .macro  done name
        lg      %r14, 168(%r15)
        aghi    %r15, 192
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     \name
        .endm

        function leaf
        lghi    %r2, 5
        br      %r14
        end     leaf

        frame   slot_of_constant
        mvghi   160(%r15), value
        .cfi_offset %r11, -192
        brasl   %r14, leaf
        done    slot_of_constant

        frame   slot_of_register
        lghi    %r1, value
        stg     %r1, 160(%r15)
        .cfi_offset %r11, -192
        brasl   %r14, leaf
        done    slot_of_register

        frame   slot_of_callers_register
        stg     %r10, 160(%r15)
        .cfi_offset %r11, -192
        brasl   %r14, leaf
        done    slot_of_callers_register

        frame   slot_of_sum
        lgr     %r1, %r11
        lghi    %r1, 16
        llill   %r2, value - 16
        ogr     %r1, %r2
        stg     %r1, 160(%r15)
        .cfi_offset %r11, -192
        brasl   %r14, leaf
        done    slot_of_sum

        frame   slot_stored_over
        stg     %r11, 160(%r15)
        .cfi_offset %r11, -192
        lghi    %r1, value
        stg     %r1, 160(%r15)
        done    slot_stored_over

        function fp_is_constant
        lghi    %r11, value
        lghi    %r2, 1
        br      %r14
        end     fp_is_constant

        function fp_is_register
        lgfi    %r1, value
        lgr     %r11, %r1
        lghi    %r2, 1
        br      %r14
        end     fp_is_register

        function fp_is_callers_register
        lgr     %r11, %r10
        lghi    %r2, 1
        br      %r14
        end     fp_is_callers_register

        function fp_is_sum
        xgr     %r11, %r11
        aghi    %r11, value
        lghi    %r2, 1
        br      %r14
        end     fp_is_sum

        function main
        stmg    %r10, %r15, 80(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lghi    %r11, value
        lghi    %r10, value
        brasl   %r14, slot_of_constant
        brasl   %r14, slot_of_register
        brasl   %r14, slot_of_callers_register
        brasl   %r14, slot_of_sum
        brasl   %r14, slot_stored_over
        brasl   %r14, fp_is_constant
        brasl   %r14, fp_is_register
        brasl   %r14, fp_is_callers_register
        brasl   %r14, fp_is_sum
        lghi    %r2, 0
        lmg     %r10, %r15, 240(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
