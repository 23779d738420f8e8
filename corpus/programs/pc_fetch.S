/* Calls to the next instruction, which fetch the PC and enter no function. Each
   function returns what is wrong with the PC, which is nothing, and X:

     pc_in_leaf    calls no function
     pc_in_frame   has a frame, and calls a function after it
     pc_in_loop    fetches X % 8 + 1 times, with a call after each
     pc_on_stack   leaves the PC where the call has put it, while it calls  */

        .file   "pc_fetch.S"

#include "runtime/assembly.h"

        .hidden leaf

        .text

#if defined(__x86_64__)

        function pc_in_leaf
        call    1f
1:      .cfi_def_cfa_offset 16
        popq    %rax
        .cfi_def_cfa_offset 8
        leaq    1b(%rip), %rcx
        subq    %rcx, %rax
        addl    %edi, %eax
        ret
        end     pc_in_leaf

        function pc_in_frame
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        call    1f
1:      .cfi_def_cfa_offset 24
        popq    %rbx
        .cfi_def_cfa_offset 16
        leaq    1b(%rip), %rcx
        subq    %rcx, %rbx
        call    leaf
        addl    %ebx, %eax
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     pc_in_frame

        function pc_in_loop
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        .cfi_offset %rbx, -24
        subq    $8, %rsp
        .cfi_def_cfa_offset 32
        movl    %edi, %ebx
        andl    $7, %ebx
        movl    %edi, %eax
1:      call    2f
2:      .cfi_def_cfa_offset 40
        popq    %rbp
        .cfi_def_cfa_offset 32
        leaq    2b(%rip), %rcx
        subq    %rcx, %rbp
        leal    (%rax,%rbp), %edi
        call    leaf
        subl    $1, %ebx
        jns     1b
        addq    $8, %rsp
        .cfi_def_cfa_offset 24
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     pc_in_loop

        function pc_on_stack
        call    1f
1:      .cfi_def_cfa_offset 16
        call    leaf
        popq    %rcx
        .cfi_def_cfa_offset 8
        leaq    1b(%rip), %rdx
        subq    %rdx, %rcx
        addl    %ecx, %eax
        ret
        end     pc_on_stack

#elif defined(__aarch64__)

        function pc_in_leaf
        str     x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -16
        bl      1f
1:      adr     x9, 1b
        sub     x9, x30, x9
        add     w0, w0, w9
        ldr     x30, [sp], #16
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     pc_in_leaf

        function pc_in_frame
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        bl      1f
1:      adr     x9, 1b
        sub     x19, x30, x9
        bl      leaf
        add     w0, w0, w19
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     pc_in_frame

        function pc_in_loop
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        .cfi_def_cfa_register x29
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        and     w19, w0, #7
1:      bl      2f
2:      adr     x9, 2b
        sub     x9, x30, x9
        add     w0, w0, w9
        bl      leaf
        subs    w19, w19, #1
        b.pl    1b
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa sp, 0
        ret
        end     pc_in_loop

        /* It is stored there by hand.  */
        function pc_on_stack
        str     x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -16
        bl      1f
1:      str     x30, [sp, #8]
        bl      leaf
        ldr     x9, [sp, #8]
        adr     x10, 1b
        sub     x9, x9, x10
        add     w0, w0, w9
        ldr     x30, [sp], #16
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     pc_on_stack

#elif defined(__s390x__)

        function pc_in_leaf
        ldgr    %f0, %r14
        .cfi_register %r14, %f0
        bras    %r14, 1f
1:      larl    %r1, 1b
        sgr     %r14, %r1
        ar      %r2, %r14
        lgdr    %r14, %f0
        .cfi_restore %r14
        br      %r14
        end     pc_in_leaf

        function pc_in_frame
        stmg    %r12, %r15, 96(%r15)
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, 1f
1:      larl    %r12, 1b
        sgr     %r12, %r14
        brasl   %r14, leaf
        ar      %r2, %r12
        lmg     %r12, %r15, 256(%r15)
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     pc_in_frame

        /* In turn by two instructions, of which the second one only links.  */
        function pc_in_loop
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        lghi    %r12, 7
        nr      %r12, %r2
1:      brasl   %r14, 2f
2:      larl    %r1, 2b
        sgr     %r14, %r1
        ar      %r2, %r14
        basr    %r14, 0
3:      larl    %r1, 3b
        sgr     %r14, %r1
        ar      %r2, %r14
        brasl   %r14, leaf
        ahi     %r12, -1
        jnm     1b
        lmg     %r11, %r15, 248(%r11)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa %r15, 160
        br      %r14
        end     pc_in_loop

        /* It is stored there by hand.  */
        function pc_on_stack
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -168
        .cfi_def_cfa_offset 328
        bras    %r14, 1f
1:      stg     %r14, 160(%r15)
        brasl   %r14, leaf
        lg      %r1, 160(%r15)
        larl    %r3, 1b
        sgr     %r1, %r3
        ar      %r2, %r1
        lmg     %r14, %r15, 280(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     pc_on_stack

#endif

        .section .note.GNU-stack, "", %progbits
