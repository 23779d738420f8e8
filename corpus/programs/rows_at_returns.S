/* Calls whose return address has other rules than the call:

     before_another_block   the call never returns there, and a part of the
                            function without a frame follows
     before_next_function   the same at the end of a function: the return address
                            is the start of the next one
     before_a_gap           the same, and there is no FDE behind
     callee_pops            the callee pops the arguments (amd64)
     callee_pops_by_fp      the same with a frame pointer: the CFA's register is
                            another (amd64)

   A callee that never returns to its caller takes the caller's frame down, and
   returns to the caller's caller.  */

        .file   "rows_at_returns.S"

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function before_another_block
        testl   $1, %edi
        jz      1f
        subq    $56, %rsp
        .cfi_def_cfa_offset 64
        call    returns_further
        .cfi_def_cfa_offset 8
1:      leal    (%rdi,%rdi,2), %eax
        addl    $3, %eax
        ret
        end     before_another_block

        function before_next_function
        subq    $56, %rsp
        .cfi_def_cfa_offset 64
        call    returns_further
        end     before_next_function

        function next_function
        leal    1(%rdi), %eax
        ret
        end     next_function

        function before_a_gap
        subq    $56, %rsp
        .cfi_def_cfa_offset 64
        call    returns_further
        uncovered
        nop
        end_uncovered before_a_gap

        function returns_further
        leal    (%rdi,%rdi,2), %eax
        addl    $3, %eax
        addq    $64, %rsp
        /* The CFA of the frame that is left is at SP + 8, too.  */
        ret
        end     returns_further

        function callee_pops
        pushq   %rdi
        .cfi_def_cfa_offset 16
        pushq   %rdi
        .cfi_def_cfa_offset 24
        call    pops_arguments
        .cfi_def_cfa_offset 8
        addl    $3, %eax
        ret
        end     callee_pops

        function callee_pops_by_fp
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rdi
        pushq   %rdi
        call    pops_arguments
        .cfi_def_cfa_register %rsp
        addl    $3, %eax
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     callee_pops_by_fp

        function pops_arguments
        movl    8(%rsp), %eax
        addl    16(%rsp), %eax
        addl    %edi, %eax
        ret     $16
        end     pops_arguments

#elif defined(__aarch64__)

        function before_another_block
        tbz     w0, #0, 1f
        stp     x29, x30, [sp, #-64]!
        .cfi_def_cfa_offset 64
        .cfi_offset x29, -64
        .cfi_offset x30, -56
        bl      returns_further
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
1:      add     w0, w0, w0, lsl #1
        add     w0, w0, #3
        ret
        end     before_another_block

        function before_next_function
        stp     x29, x30, [sp, #-64]!
        .cfi_def_cfa_offset 64
        .cfi_offset x29, -64
        .cfi_offset x30, -56
        bl      returns_further
        end     before_next_function

        function next_function
        add     w0, w0, #1
        ret
        end     next_function

        function before_a_gap
        stp     x29, x30, [sp, #-64]!
        .cfi_def_cfa_offset 64
        .cfi_offset x29, -64
        .cfi_offset x30, -56
        bl      returns_further
        uncovered
        nop
        end_uncovered before_a_gap

        function returns_further
        add     w0, w0, w0, lsl #1
        add     w0, w0, #3
        ldp     x29, x30, [sp], #64
        /* CFA and return address of the frame that is left are in SP and LR, too.  */
        ret
        end     returns_further

#elif defined(__s390x__)

        function before_another_block
        tmll    %r2, 1
        je      1f
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -224
        .cfi_def_cfa_offset 384
        brasl   %r14, returns_further
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
1:      msfi    %r2, 3
        ahi     %r2, 3
        br      %r14
        end     before_another_block

        function before_next_function
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -224
        .cfi_def_cfa_offset 384
        brasl   %r14, returns_further
        end     before_next_function

        function next_function
        ahi     %r2, 1
        br      %r14
        end     next_function

        function before_a_gap
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -224
        .cfi_def_cfa_offset 384
        brasl   %r14, returns_further
        uncovered
        nopr    %r7
        end_uncovered before_a_gap

        function returns_further
        msfi    %r2, 3
        ahi     %r2, 3
        lmg     %r11, %r15, 312(%r15)
        /* CFA and return address of the frame that is left are where those of
           this function were.  */
        br      %r14
        end     returns_further

#endif

        .section .note.GNU-stack, "", %progbits
