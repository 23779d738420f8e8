/* SP goes up and down within loops, with a row for each step, while FP and, where
   the ABI has one, the link register hold numbers:

     push_loop     each turn pushes and pops around a call, in turn once and twice
     staircase     eight steps down and eight up, with a call on each
     numbers       nothing but SP is what it was: the other registers count  */

        .file   "interleaved_sp.S"

#include "runtime/assembly.h"

        .hidden leaf

        .text

#if defined(__x86_64__)

        .macro  down register
        pushq   \register
        .cfi_adjust_cfa_offset 8
        .endm

        .macro  up register
        popq    \register
        .cfi_adjust_cfa_offset -8
        .endm

        .macro  open_frame
        down    %rbp
        .cfi_rel_offset %rbp, 0
        down    %rbx
        .cfi_rel_offset %rbx, 0
        .endm

        .macro  close_frame
        up      %rbx
        .cfi_restore %rbx
        up      %rbp
        .cfi_restore %rbp
        .endm

        function push_loop
        open_frame
        movl    %edi, %ebx
        xorl    %ebp, %ebp
1:      down    %rbp
        movl    %ebx, %edi
        call    leaf
        down    %rax
        addl    %eax, %ebp
        leal    (%rbx,%rbp), %edi
        call    leaf
        up      %rcx
        addl    %ecx, %eax
        movl    %eax, %ebp
        up      %rcx
        addl    %ecx, %ebp
        subl    $1, %ebx
        jns     1b
        movl    %ebp, %eax
        close_frame
        ret
        end     push_loop

        function staircase
        open_frame
        movl    %edi, %ebx
        movl    %edi, %ebp
        .rept   8
        down    %rbp
        movl    %ebp, %edi
        call    leaf
        leal    (%rax,%rbx), %ebp
        .endr
        .rept   8
        movl    %ebp, %edi
        call    leaf
        up      %rcx
        leal    (%rax,%rcx), %ebp
        .endr
        movl    %ebp, %eax
        close_frame
        ret
        end     staircase

        function numbers
        open_frame
        movl    $-1, %ebp
        movl    %edi, %ebx
1:      subq    $32, %rsp
        .cfi_adjust_cfa_offset 32
        leaq    1(%rbp,%rbp,2), %rbp
        down    %rbp
        movl    %ebp, %edi
        call    leaf
        xorl    %eax, %ebp
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        subl    $1, %ebx
        leaq    16(%rsp), %rsp
        .cfi_adjust_cfa_offset -16
        jns     1b
        movl    %ebp, %eax
        close_frame
        ret
        end     numbers

#elif defined(__aarch64__)

        .macro  down register
        str     \register, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .endm

        .macro  up register
        ldr     \register, [sp], #16
        .cfi_adjust_cfa_offset -16
        .endm

        .macro  open_frame
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        .endm

        .macro  close_frame
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        .endm

        function push_loop
        open_frame
        mov     w19, w0
        mov     w29, #0
1:      down    x29
        mov     w0, w19
        bl      leaf
        mov     w30, w0
        down    x30
        add     w29, w29, w30
        add     w0, w19, w29
        bl      leaf
        up      x30
        add     w29, w0, w30
        up      x30
        add     w29, w29, w30
        subs    w19, w19, #1
        b.pl    1b
        mov     w0, w29
        close_frame
        ret
        end     push_loop

        function staircase
        open_frame
        mov     w19, w0
        mov     w29, w0
        .rept   8
        down    x29
        mov     w0, w29
        bl      leaf
        add     w29, w0, w19
        mov     x30, x29
        .endr
        .rept   8
        mov     w0, w29
        bl      leaf
        up      x30
        add     w29, w0, w30
        .endr
        mov     w0, w29
        close_frame
        ret
        end     staircase

        function numbers
        open_frame
        mov     w29, #-1
        mov     w19, w0
1:      sub     sp, sp, #32
        .cfi_adjust_cfa_offset 32
        add     w30, w29, w29, lsl #1
        add     w29, w30, #1
        down    x30
        mov     w0, w29
        bl      leaf
        mov     w30, w0
        eor     w29, w29, w30
        add     sp, sp, #32
        .cfi_adjust_cfa_offset -32
        subs    w19, w19, #1
        add     sp, sp, #16
        .cfi_adjust_cfa_offset -16
        b.pl    1b
        mov     w0, w29
        close_frame
        ret
        end     numbers

#elif defined(__s390x__)

        /* The callee saves its registers in the 160 bytes above SP.  */
        .macro  down register
        lay     %r15, -8(%r15)
        .cfi_adjust_cfa_offset 8
        stg     \register, 160(%r15)
        .endm

        .macro  up register
        lg      \register, 160(%r15)
        la      %r15, 8(%r15)
        .cfi_adjust_cfa_offset -8
        .endm

        .macro  open_frame
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        lay     %r15, -160(%r15)
        .cfi_def_cfa_offset 320
        .endm

        .macro  close_frame
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        .endm

        function push_loop
        open_frame
        lr      %r12, %r2
        lghi    %r11, 0
1:      down    %r11
        lr      %r2, %r12
        brasl   %r14, leaf
        lr      %r14, %r2
        down    %r14
        ar      %r11, %r14
        lr      %r2, %r12
        ar      %r2, %r11
        brasl   %r14, leaf
        up      %r14
        ar      %r2, %r14
        lr      %r11, %r2
        up      %r14
        ar      %r11, %r14
        ahi     %r12, -1
        jnm     1b
        lr      %r2, %r11
        close_frame
        br      %r14
        end     push_loop

        function staircase
        open_frame
        lr      %r12, %r2
        lgr     %r11, %r2
        .rept   8
        down    %r11
        lr      %r2, %r11
        brasl   %r14, leaf
        ar      %r2, %r12
        lr      %r11, %r2
        lgr     %r14, %r11
        .endr
        .rept   8
        lr      %r2, %r11
        brasl   %r14, leaf
        up      %r14
        ar      %r2, %r14
        lr      %r11, %r2
        .endr
        lr      %r2, %r11
        close_frame
        br      %r14
        end     staircase

        function numbers
        open_frame
        lghi    %r11, -1
        lr      %r12, %r2
1:      lay     %r15, -32(%r15)
        .cfi_adjust_cfa_offset 32
        lr      %r14, %r11
        msfi    %r14, 3
        lr      %r11, %r14
        ahi     %r11, 1
        down    %r14
        lr      %r2, %r11
        brasl   %r14, leaf
        lr      %r14, %r2
        xr      %r11, %r14
        la      %r15, 24(%r15)
        .cfi_adjust_cfa_offset -24
        ahi     %r12, -1
        la      %r15, 16(%r15)
        .cfi_adjust_cfa_offset -16
        jnm     1b
        lr      %r2, %r11
        close_frame
        br      %r14
        end     numbers

#endif

        .section .note.GNU-stack, "", %progbits
