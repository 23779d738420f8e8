/* Rules that no default FDE has. What the assembler can't say becomes no FDE;
   which of these it can, the spec tells.

     cfa_in_scratch     the CFA follows a register that calls do not preserve
     cfa_in_preserved   the same with one that they do, and no call
     cfa_of_caller      the same with a call: no caller's register is known
     cfa_in_memory      the CFA is loaded from memory that FP points to, as in
                        realigned frames
     cfa_on_stack       the CFA is loaded from memory that SP points to
     fp_by_expression   FP is saved where FP points to
     fp_in_register     FP spends the function in another register
     ra_in_register     so does the return address
     both_in_registers  and both of them
     fp_is_cfa          nothing holds the caller's FP: it is the CFA
     odd_caller         calls the last one as it expects it
     fp_without_ra      FP is saved, and the return address is not  */

        .file   "odd_registers.S"

#include "runtime/assembly.h"

        .hidden leaf

        .text

#if defined(__x86_64__)

        function cfa_in_scratch
        leaq    8(%rsp), %r10
        .cfi_def_cfa %r10, 0
        andq    $-64, %rsp
        leal    3(%rdi), %eax
        leaq    16(%r10), %r10
        .cfi_def_cfa_offset -16
        pushq   %rax
        leaq    -24(%r10), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        end     cfa_in_scratch

        function cfa_in_preserved
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq   %r12
        .cfi_def_cfa_offset 24
        .cfi_offset %r12, -24
        movq    %rsp, %rbx
        .cfi_def_cfa_register %rbx
        andq    $-32, %rsp
        leal    3(%rdi), %eax
        leaq    304(%rbx), %r12
        .cfi_def_cfa %r12, -280
        movl    $5, %ebx
        addl    %ebx, %eax
        leaq    -304(%r12), %rsp
        .cfi_def_cfa %rsp, 24
        popq    %r12
        .cfi_restore %r12
        .cfi_def_cfa_offset 16
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     cfa_in_preserved

        function cfa_of_caller
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rsp, %rbx
        .cfi_def_cfa_register %rbx
        andq    $-64, %rsp
        call    leaf
        movq    %rbx, %rsp
        .cfi_def_cfa_register %rsp
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     cfa_of_caller

        function cfa_in_memory
        leaq    8(%rsp), %r10
        .cfi_def_cfa %r10, 0
        andq    $-64, %rsp
        pushq   -8(%r10)
        pushq   %rbp
        movq    %rsp, %rbp
        .cfi_escape 0x10, 6, 2, 0x76, 0         /* rbp at rbp */
        pushq   %r10
        .cfi_escape 0x0f, 3, 0x76, 0x78, 0x06   /* CFA = *(rbp-8) */
        subq    $40, %rsp
        call    leaf
        movq    -8(%rbp), %r10
        .cfi_def_cfa %r10, 0
        leave
        .cfi_restore %rbp
        leaq    -8(%r10), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        end     cfa_in_memory

        function cfa_on_stack
        leaq    8(%rsp), %rax
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        movq    %rax, 8(%rsp)
        .cfi_escape 0x0f, 3, 0x77, 8, 0x06      /* CFA = *(rsp+8) */
        call    leaf
        .cfi_def_cfa %rsp, 32
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     cfa_on_stack

        function fp_by_expression
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_escape 0x10, 6, 2, 0x76, 0
        subq    $48, %rsp
        .cfi_def_cfa_offset 64
        call    leaf
        addq    $48, %rsp
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     fp_by_expression

        function fp_in_register
        movq    %rbp, %r11
        .cfi_register %rbp, %r11
        leal    3(%rdi), %ebp
        movl    %ebp, %eax
        movq    %r11, %rbp
        .cfi_restore %rbp
        xorl    %r11d, %r11d
        ret
        end     fp_in_register

        function ra_in_register
        movq    (%rsp), %r11
        .cfi_register %rip, %r11
        movq    %rsp, (%rsp)
        leal    3(%rdi), %eax
        movq    %r11, (%rsp)
        .cfi_restore %rip
        xorl    %r11d, %r11d
        ret
        end     ra_in_register

        function both_in_registers
        movq    %rbp, %rdx
        .cfi_register %rbp, %rdx
        leal    3(%rdi), %ebp
        movq    (%rsp), %r11
        .cfi_register %rip, %r11
        movq    %rsp, (%rsp)
        movl    %ebp, %eax
        movq    %r11, (%rsp)
        .cfi_restore %rip
        xorl    %r11d, %r11d
        movq    %rdx, %rbp
        .cfi_restore %rbp
        ret
        end     both_in_registers

        function fp_is_cfa
        leal    3(%rdi), %eax
        movl    $0x55, %ebp
        .cfi_val_offset %rbp, 0
        addl    %ebp, %eax
        leaq    8(%rsp), %rbp
        .cfi_restore %rbp
        subl    $0x55, %eax
        ret
        end     fp_is_cfa

        function odd_caller
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        call    fp_is_cfa
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     odd_caller

        /* What this ABI can't do otherwise.  */
        function fp_without_ra
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    %edi, %ebp
        call    leaf
        addl    %ebp, %eax
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     fp_without_ra

#elif defined(__aarch64__)

        function cfa_in_scratch
        mov     x9, sp
        .cfi_def_cfa x9, 0
        sub     sp, sp, #64
        add     w0, w0, #3
        add     x9, x9, #16
        .cfi_def_cfa_offset -16
        str     x0, [sp]
        add     sp, sp, #64
        .cfi_def_cfa sp, 0
        mov     x9, #0
        ret
        end     cfa_in_scratch

        function cfa_in_preserved
        stp     x19, x20, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x19, -16
        .cfi_offset x20, -8
        mov     x19, sp
        .cfi_def_cfa_register x19
        sub     sp, sp, #32
        add     w0, w0, #3
        add     x20, x19, #304
        .cfi_def_cfa x20, -288
        mov     w19, #5
        add     w0, w0, w19
        add     sp, sp, #32
        .cfi_def_cfa sp, 16
        ldp     x19, x20, [sp], #16
        .cfi_restore x19
        .cfi_restore x20
        .cfi_def_cfa_offset 0
        ret
        end     cfa_in_preserved

        function cfa_of_caller
        stp     x19, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x19, -16
        .cfi_offset x30, -8
        mov     x19, sp
        .cfi_def_cfa_register x19
        sub     sp, sp, #32
        bl      leaf
        add     sp, sp, #32
        .cfi_def_cfa_register sp
        ldp     x19, x30, [sp], #16
        .cfi_restore x19
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     cfa_of_caller

        function cfa_in_memory
        mov     x9, sp
        .cfi_def_cfa x9, 0
        sub     sp, sp, #64
        stp     x29, x30, [sp]
        mov     x29, sp
        .cfi_escape 0x10, 29, 2, 0x8d, 0        /* x29 at x29 */
        .cfi_escape 0x10, 30, 2, 0x8d, 8        /* x30 at x29+8 */
        str     x9, [x29, #16]
        .cfi_escape 0x0f, 3, 0x8d, 0x10, 0x06   /* CFA = *(x29+16) */
        bl      leaf
        ldr     x9, [x29, #16]
        .cfi_def_cfa x9, 0
        ldp     x29, x30, [x29]
        .cfi_restore x29
        .cfi_restore x30
        mov     sp, x9
        .cfi_def_cfa sp, 0
        ret
        end     cfa_in_memory

        function cfa_on_stack
        mov     x9, sp
        sub     sp, sp, #32
        .cfi_def_cfa_offset 32
        stp     x9, x30, [sp, #8]
        .cfi_offset x30, -16
        .cfi_escape 0x0f, 3, 0x8f, 8, 0x06      /* CFA = *(sp+8) */
        bl      leaf
        .cfi_def_cfa sp, 32
        ldr     x30, [sp, #16]
        .cfi_restore x30
        add     sp, sp, #32
        .cfi_def_cfa_offset 0
        ret
        end     cfa_on_stack

        function fp_by_expression
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        .cfi_escape 0x10, 29, 2, 0x8d, 0
        bl      leaf
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     fp_by_expression

        function fp_in_register
        mov     x9, x29
        .cfi_register x29, x9
        add     w29, w0, #3
        mov     w0, w29
        mov     x29, x9
        .cfi_restore x29
        ret
        end     fp_in_register

        function ra_in_register
        mov     x10, x30
        .cfi_register x30, x10
        add     w30, w0, #3
        mov     w0, w30
        mov     x30, x10
        .cfi_restore x30
        ret
        end     ra_in_register

        function both_in_registers
        mov     x9, x29
        .cfi_register x29, x9
        mov     x10, x30
        .cfi_register x30, x10
        add     w29, w0, #3
        mov     w30, w29
        mov     w0, w30
        mov     x30, x10
        .cfi_restore x30
        mov     x29, x9
        .cfi_restore x29
        ret
        end     both_in_registers

        function fp_is_cfa
        add     w0, w0, #3
        mov     x29, #0x55
        .cfi_val_offset x29, 0
        add     w0, w0, w29
        mov     x29, sp
        .cfi_restore x29
        sub     w0, w0, #0x55
        ret
        end     fp_is_cfa

        function odd_caller
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        bl      fp_is_cfa
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     odd_caller

        function fp_without_ra
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     w29, w0
        bl      leaf
        ldr     x30, [sp, #8]
        .cfi_restore x30
        add     w0, w0, w29
        ldr     x29, [sp], #16
        .cfi_restore x29
        .cfi_def_cfa_offset 0
        ret
        end     fp_without_ra

#elif defined(__s390x__)

        .macro  save_all
        stmg    %r6, %r15, 48(%r15)
        .cfi_offset %r6, -112
        .cfi_offset %r7, -104
        .cfi_offset %r8, -96
        .cfi_offset %r9, -88
        .cfi_offset %r10, -80
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        .endm

        .macro  restored
        .cfi_restore %r6
        .cfi_restore %r7
        .cfi_restore %r8
        .cfi_restore %r9
        .cfi_restore %r10
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa %r15, 160
        .endm

        function cfa_in_scratch
        lgr     %r1, %r15
        .cfi_def_cfa_register %r1
        aghi    %r15, -64
        ahi     %r2, 3
        la      %r1, 176(%r1)
        .cfi_def_cfa_offset -16
        stg     %r2, 0(%r15)
        aghi    %r1, -176
        .cfi_def_cfa_offset 160
        aghi    %r15, 64
        .cfi_def_cfa_register %r15
        lghi    %r1, 0
        br      %r14
        end     cfa_in_scratch

        function cfa_in_preserved
        save_all
        lgr     %r6, %r15
        .cfi_def_cfa_register %r6
        aghi    %r15, -64
        ahi     %r2, 3
        lgr     %r10, %r6
        .cfi_def_cfa_register %r10
        lghi    %r6, 5
        ar      %r2, %r6
        la      %r13, 304(%r10)
        .cfi_def_cfa %r13, -144
        lghi    %r10, 0
        aghi    %r13, -304
        .cfi_def_cfa_offset 160
        lmg     %r6, %r15, 112(%r15)
        restored
        br      %r14
        end     cfa_in_preserved

        function cfa_of_caller
        save_all
        lgr     %r12, %r15
        .cfi_def_cfa_register %r12
        aghi    %r15, -192
        brasl   %r14, leaf
        aghi    %r15, 192
        .cfi_def_cfa_register %r15
        lmg     %r6, %r15, 48(%r15)
        restored
        br      %r14
        end     cfa_of_caller

        function cfa_in_memory
        save_all
        lay     %r1, 160(%r15)
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        aghi    %r15, -192
        stg     %r1, 0(%r11)
        .cfi_escape 0x0f, 3, 0x7b, 0, 0x06      /* CFA = *(r11) */
        brasl   %r14, leaf
        .cfi_def_cfa %r11, 160
        lmg     %r6, %r15, 48(%r11)
        restored
        br      %r14
        end     cfa_in_memory

        function cfa_on_stack
        save_all
        la      %r1, 160(%r15)
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        stg     %r1, 168(%r15)
        .cfi_escape 0x0f, 4, 0x7f, 0xa8, 0x01, 0x06     /* CFA = *(r15+168) */
        brasl   %r14, leaf
        .cfi_def_cfa %r15, 352
        lmg     %r6, %r15, 240(%r15)
        restored
        br      %r14
        end     cfa_on_stack

        function fp_by_expression
        save_all
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        .cfi_escape 0x10, 11, 3, 0x7b, 0xd8, 0  /* r11 at r11+88 */
        aghi    %r15, -192
        brasl   %r14, leaf
        lmg     %r6, %r15, 48(%r11)
        restored
        br      %r14
        end     fp_by_expression

        function fp_in_register
        lgr     %r1, %r11
        .cfi_register %r11, %r1
        lgr     %r11, %r2
        ldgr    %f0, %r1
        .cfi_register %r11, %f0
        lghi    %r1, 3
        ar      %r11, %r1
        ldgr    %f4, %r1
        ldr     %f4, %f0
        .cfi_register %r11, %f4
        lzdr    %f0
        lgfr    %r2, %r11
        lgdr    %r11, %f4
        .cfi_restore %r11
        br      %r14
        end     fp_in_register

        function ra_in_register
        lgr     %r1, %r14
        .cfi_register %r14, %r1
        lgr     %r14, %r2
        ldgr    %f2, %r1
        .cfi_register %r14, %f2
        lghi    %r1, 3
        ar      %r14, %r1
        lgfr    %r2, %r14
        lgdr    %r5, %f2
        .cfi_register %r14, %r5
        ldgr    %f2, %r2
        br      %r5
        end     ra_in_register

        function both_in_registers
        ldgr    %f0, %r11
        .cfi_register %r11, %f0
        lgr     %r11, %r2
        ldgr    %f2, %r14
        .cfi_register %r14, %f2
        lghi    %r14, 3
        ar      %r11, %r14
        lgfr    %r2, %r11
        lgr     %r0, %r15
        lgdr    %r11, %f0
        .cfi_restore %r11
        lgdr    %r14, %f2
        .cfi_restore %r14
        br      %r14
        end     both_in_registers

        function fp_is_cfa
        ahi     %r2, 3
        lghi    %r11, 0x55
        .cfi_val_offset %r11, 0
        ar      %r2, %r11
        la      %r11, 160(%r15)
        .cfi_restore %r11
        ahi     %r2, -0x55
        br      %r14
        end     fp_is_cfa

        function odd_caller
        save_all
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        la      %r11, 160(%r15)
        brasl   %r14, fp_is_cfa
        lmg     %r6, %r15, 208(%r15)
        restored
        br      %r14
        end     odd_caller

        function fp_without_ra
        stg     %r11, 88(%r15)
        .cfi_offset %r11, -72
        lr      %r11, %r2
        ahi     %r11, 1
        stg     %r14, 112(%r15)
        .cfi_offset %r14, -48
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, leaf
        aghi    %r15, 160
        .cfi_def_cfa_offset 160
        lg      %r14, 112(%r15)
        .cfi_restore %r14
        ar      %r2, %r11
        ahi     %r2, -1
        lg      %r11, 88(%r15)
        .cfi_restore %r11
        br      %r14
        end     fp_without_ra

#endif

        .section .note.GNU-stack, "", %progbits
