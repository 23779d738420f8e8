/* Call frame information that takes back what it said:

     nested_states    a state is remembered while another one is
     many_epilogues   four ways out, three states remembered at once
     back_and_forth   the CFA follows SP, FP, SP, FP and SP again
     saved_twice      registers are saved a second time, elsewhere, and what is
                      in the first place is destroyed
     same_value       registers are restored before the frame is taken down, and
                      saved again

   What a rule would read in the wrong place is never what is in the right one.  */

        .file   "remember_restore.S"

#include "runtime/assembly.h"

        .hidden leaf

        .text

#if defined(__x86_64__)

        .macro  push_both
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        movl    %edi, %ebx
        movl    $0x77, %ebp
        .endm

        .macro  pop_both
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        .endm

        function nested_states
        push_both
        .cfi_remember_state
        testl   $1, %edi
        jz      1f
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        .cfi_remember_state
        call    leaf
        testl   $2, %ebx
        jz      2f
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        pop_both
        ret
2:      .cfi_restore_state
        leal    (%rbx,%rax,2), %eax
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        pop_both
        ret
1:      .cfi_restore_state
        call    leaf
        addl    %ebx, %eax
        pop_both
        ret
        end     nested_states

        function many_epilogues
        push_both
        call    leaf
        andl    $3, %ebx
        .cfi_remember_state
        jnz     1f
        pop_both
        ret
1:      .cfi_restore_state
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        addl    $100, %eax
        decl    %ebx
        .cfi_remember_state
        jnz     2f
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop_both
        ret
2:      .cfi_restore_state
        .cfi_remember_state
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        addl    $100, %eax
        .cfi_remember_state
        decl    %ebx
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_remember_state
        jnz     4f
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        pop_both
        ret
4:      .cfi_restore_state
        popq    %rbx
        .cfi_restore_state
        addl    $100, %eax
        addq    $8, %rsp
        .cfi_restore_state
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop_both
        ret
        end     many_epilogues

        function back_and_forth
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $32, %rsp
        movl    %edi, 8(%rsp)
        call    leaf
        movl    %eax, 12(%rsp)
        movl    8(%rsp), %edi
        .cfi_def_cfa %rsp, 48
        movl    $0x66, %ebp
        call    leaf
        addl    %eax, 12(%rsp)
        leaq    32(%rsp), %rbp
        .cfi_def_cfa %rbp, 16
        pushq   -24(%rbp)
        movl    -24(%rbp), %edi
        call    leaf
        addl    -20(%rbp), %eax
        addl    -24(%rbp), %eax
        movq    %rbp, %rsp
        .cfi_def_cfa_register %rsp
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     back_and_forth

        function saved_twice
        subq    $56, %rsp
        .cfi_def_cfa_offset 64
        movl    %edi, 8(%rsp)
        movq    %rbp, 40(%rsp)
        .cfi_rel_offset %rbp, 40
        movq    %rsp, %rbp
        movq    40(%rsp), %rax
        movq    %rax, 24(%rsp)
        .cfi_rel_offset %rbp, 24
        movq    %rsp, 40(%rsp)
        call    leaf
        movq    24(%rsp), %rcx
        movq    %rcx, 48(%rsp)
        .cfi_offset %rbp, -16
        movq    %rsp, 24(%rsp)
        addl    8(%rsp), %eax
        movq    48(%rsp), %rbp
        .cfi_restore %rbp
        movq    %rsp, 48(%rsp)
        addq    $56, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     saved_twice

        function same_value
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        subq    $16, %rsp
        .cfi_def_cfa_offset 32
        movl    %edi, 12(%rsp)
        movl    %edi, %ebp
        call    leaf
        addl    %eax, %ebp
        movl    %ebp, 8(%rsp)
        movq    16(%rsp), %rbp
        .cfi_same_value %rbp
        movq    %rsp, 16(%rsp)
        movl    12(%rsp), %edi
        call    leaf
        movq    %rbp, (%rsp)
        .cfi_offset %rbp, -32
        movl    8(%rsp), %ebp
        addl    %ebp, %eax
        movq    (%rsp), %rbp
        .cfi_restore %rbp
        movq    %rsp, (%rsp)
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     same_value

#elif defined(__aarch64__)

        .macro  push_both
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        str     x19, [sp, #16]
        .cfi_rel_offset x19, 16
        mov     w19, w0
        mov     x29, #0x77
        .endm

        .macro  pop_both
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        .endm

        function nested_states
        push_both
        .cfi_remember_state
        tbz     w0, #0, 1f
        sub     sp, sp, #48
        .cfi_adjust_cfa_offset 48
        .cfi_remember_state
        bl      leaf
        tbz     w19, #1, 2f
        add     sp, sp, #48
        .cfi_adjust_cfa_offset -48
        pop_both
        ret
2:      .cfi_restore_state
        add     w0, w19, w0, lsl #1
        add     sp, sp, #48
        .cfi_adjust_cfa_offset -48
        pop_both
        ret
1:      .cfi_restore_state
        bl      leaf
        add     w0, w0, w19
        pop_both
        ret
        end     nested_states

        function many_epilogues
        push_both
        bl      leaf
        ands    w19, w19, #3
        .cfi_remember_state
        b.ne    1f
        pop_both
        ret
1:      .cfi_restore_state
        str     x19, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        add     w0, w0, #100
        subs    w19, w19, #1
        .cfi_remember_state
        b.ne    2f
        add     sp, sp, #16
        .cfi_adjust_cfa_offset -16
        pop_both
        ret
2:      .cfi_restore_state
        .cfi_remember_state
        str     x19, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        add     w0, w0, #100
        .cfi_remember_state
        subs    w19, w19, #1
        str     x19, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_remember_state
        b.ne    4f
        add     sp, sp, #48
        .cfi_adjust_cfa_offset -48
        pop_both
        ret
4:      .cfi_restore_state
        ldr     x19, [sp], #16
        .cfi_restore_state
        add     w0, w0, #100
        add     sp, sp, #16
        .cfi_restore_state
        add     sp, sp, #16
        .cfi_adjust_cfa_offset -16
        pop_both
        ret
        end     many_epilogues

        function back_and_forth
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov     x29, sp
        .cfi_def_cfa_register x29
        sub     sp, sp, #32
        str     w0, [x29, #16]
        bl      leaf
        str     w0, [x29, #20]
        ldr     w0, [x29, #16]
        .cfi_def_cfa sp, 80
        mov     x29, #0x66
        bl      leaf
        ldr     w1, [sp, #52]
        add     w0, w0, w1
        str     w0, [sp, #52]
        add     x29, sp, #32
        .cfi_def_cfa x29, 48
        sub     sp, sp, #16
        ldr     w0, [x29, #16]
        bl      leaf
        ldp     w1, w2, [x29, #16]
        add     w0, w0, w1
        add     w0, w0, w2
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     back_and_forth

        function saved_twice
        sub     sp, sp, #96
        .cfi_def_cfa_offset 96
        str     w0, [sp, #8]
        stp     x29, x30, [sp, #16]
        .cfi_rel_offset x29, 16
        .cfi_rel_offset x30, 24
        mov     x29, sp
        ldp     x9, x10, [sp, #16]
        stp     x9, x10, [sp, #40]
        .cfi_rel_offset x29, 40
        .cfi_rel_offset x30, 48
        mov     x9, sp
        stp     x9, x9, [sp, #16]
        bl      leaf
        ldp     x9, x10, [sp, #40]
        stp     x10, x9, [sp, #72]
        .cfi_offset x29, -16
        .cfi_offset x30, -24
        mov     x9, sp
        stp     x9, x9, [sp, #40]
        ldr     w1, [sp, #8]
        add     w0, w0, w1
        ldp     x30, x29, [sp, #72]
        .cfi_restore x29
        .cfi_restore x30
        stp     x9, x9, [sp, #72]
        add     sp, sp, #96
        .cfi_def_cfa_offset 0
        ret
        end     saved_twice

        function same_value
        stp     x29, x30, [sp, #-64]!
        .cfi_def_cfa_offset 64
        .cfi_offset x29, -64
        .cfi_offset x30, -56
        str     w0, [sp, #16]
        mov     w29, w0
        bl      leaf
        add     w29, w29, w0
        str     w29, [sp, #20]
        ldp     x29, x30, [sp]
        .cfi_same_value x29
        .cfi_same_value x30
        mov     x9, sp
        stp     x9, x9, [sp]
        ldr     w0, [sp, #16]
        stp     x29, x30, [sp, #32]
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      leaf
        ldr     w29, [sp, #20]
        add     w0, w0, w29
        ldp     x29, x30, [sp, #32]
        .cfi_restore x29
        .cfi_restore x30
        mov     x9, sp
        stp     x9, x9, [sp, #32]
        add     sp, sp, #64
        .cfi_def_cfa_offset 0
        ret
        end     same_value

#elif defined(__s390x__)

        .macro  push_both
        stmg    %r11, %r15, 88(%r15)
        .cfi_rel_offset %r11, 88
        .cfi_rel_offset %r12, 96
        .cfi_rel_offset %r13, 104
        .cfi_rel_offset %r14, 112
        .cfi_rel_offset %r15, 120
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lr      %r12, %r2
        lghi    %r11, 0x77
        .endm

        .macro  pop_both
        lmg     %r11, %r15, 248(%r15)
        .cfi_adjust_cfa_offset -160
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .endm

        function nested_states
        push_both
        .cfi_remember_state
        tmll    %r2, 1
        je      1f
        aghi    %r15, -48
        .cfi_adjust_cfa_offset 48
        .cfi_remember_state
        brasl   %r14, leaf
        tmll    %r12, 2
        je      2f
        aghi    %r15, 48
        .cfi_adjust_cfa_offset -48
        pop_both
        br      %r14
2:      .cfi_restore_state
        sll     %r2, 1
        ar      %r2, %r12
        aghi    %r15, 48
        .cfi_adjust_cfa_offset -48
        pop_both
        br      %r14
1:      .cfi_restore_state
        brasl   %r14, leaf
        ar      %r2, %r12
        pop_both
        br      %r14
        end     nested_states

        function many_epilogues
        push_both
        brasl   %r14, leaf
        nill    %r12, 3
        .cfi_remember_state
        jne     1f
        pop_both
        br      %r14
1:      .cfi_restore_state
        aghi    %r15, -16
        .cfi_adjust_cfa_offset 16
        ahi     %r2, 100
        ahi     %r12, -1
        .cfi_remember_state
        jne     2f
        aghi    %r15, 16
        .cfi_adjust_cfa_offset -16
        pop_both
        br      %r14
2:      .cfi_restore_state
        .cfi_remember_state
        aghi    %r15, -16
        .cfi_adjust_cfa_offset 16
        ahi     %r2, 100
        .cfi_remember_state
        aghi    %r15, -16
        .cfi_adjust_cfa_offset 16
        ahi     %r12, -1
        .cfi_remember_state
        jne     4f
        aghi    %r15, 48
        .cfi_adjust_cfa_offset -48
        pop_both
        br      %r14
4:      .cfi_restore_state
        aghi    %r15, 16
        .cfi_restore_state
        ahi     %r2, 100
        aghi    %r15, 16
        .cfi_restore_state
        aghi    %r15, 16
        .cfi_adjust_cfa_offset -16
        pop_both
        br      %r14
        end     many_epilogues

        function back_and_forth
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -176
        .cfi_def_cfa_offset 336
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        aghi    %r15, -32
        st      %r2, 160(%r11)
        brasl   %r14, leaf
        st      %r2, 164(%r11)
        l       %r2, 160(%r11)
        .cfi_def_cfa %r15, 368
        lghi    %r11, 0x66
        brasl   %r14, leaf
        a       %r2, 196(%r15)
        st      %r2, 196(%r15)
        la      %r11, 32(%r15)
        .cfi_def_cfa %r11, 336
        aghi    %r15, -16
        l       %r2, 160(%r11)
        brasl   %r14, leaf
        a       %r2, 160(%r11)
        a       %r2, 164(%r11)
        lgr     %r15, %r11
        .cfi_def_cfa_register %r15
        lmg     %r11, %r15, 264(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     back_and_forth

        function saved_twice
        stmg    %r11, %r14, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        st      %r2, 184(%r15)
        lgr     %r11, %r15
        mvc     160(8,%r15), 280(%r15)
        .cfi_rel_offset %r11, 160
        stg     %r15, 280(%r15)
        mvc     168(8,%r15), 304(%r15)
        .cfi_rel_offset %r14, 168
        stg     %r15, 304(%r15)
        brasl   %r14, leaf
        mvc     280(8,%r15), 168(%r15)
        .cfi_offset %r14, -72
        stg     %r15, 168(%r15)
        mvc     304(8,%r15), 160(%r15)
        .cfi_offset %r11, -48
        stg     %r15, 160(%r15)
        a       %r2, 184(%r15)
        lg      %r14, 280(%r15)
        .cfi_restore %r14
        stg     %r15, 280(%r15)
        lg      %r11, 304(%r15)
        .cfi_restore %r11
        stg     %r15, 304(%r15)
        aghi    %r15, 192
        .cfi_def_cfa_offset 160
        br      %r14
        end     saved_twice

        function same_value
        stmg    %r11, %r14, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        st      %r2, 160(%r15)
        lr      %r11, %r2
        brasl   %r14, leaf
        ar      %r11, %r2
        st      %r11, 164(%r15)
        lg      %r14, 304(%r15)
        .cfi_same_value %r14
        stg     %r15, 304(%r15)
        lg      %r11, 280(%r15)
        .cfi_same_value %r11
        stg     %r15, 280(%r15)
        l       %r2, 160(%r15)
        stg     %r11, 168(%r15)
        .cfi_rel_offset %r11, 168
        stg     %r14, 176(%r15)
        .cfi_rel_offset %r14, 176
        brasl   %r14, leaf
        l       %r11, 164(%r15)
        ar      %r2, %r11
        lg      %r14, 176(%r15)
        .cfi_restore %r14
        lg      %r11, 168(%r15)
        .cfi_restore %r11
        aghi    %r15, 192
        .cfi_def_cfa_offset 160
        br      %r14
        end     same_value

#endif

        .section .note.GNU-stack, "", %progbits
