/* Functions that nobody called, or that say so:

     thread_start      the first function of a context, all of it marked
     thread_toggles    the same, with a mark that is taken back and set again
     thread_unmarked   the same, with no mark
     called_marked     has a caller, and the mark all the same
     forgets_caller    has a caller, and the mark for some of its instructions

   The last two are wrong on purpose: what the mark does there must be seen.  */

        .file   "undefined_ra.S"

#include "runtime/assembly.h"

        .hidden leaf
        .hidden work
        .hidden leave_thread

        .text

        /* A function that is returned to without having called: the look-up of
           such an address starts one byte before it.  */
        .macro  thread name
        .type   \name\().nop, %function
\name\().nop:
        .cfi_startproc
        .endm

        .macro  begins name
        .size   \name\().nop, . - \name\().nop
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .endm

#if defined(__x86_64__)

        thread  thread_start
        .cfi_undefined %rip
        nop
        begins  thread_start
        movl    %r12d, %edi
        call    work
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        leal    1(%r12), %edi
        call    work
        call    leave_thread
        ud2
        end     thread_start

        thread  thread_toggles
        .cfi_undefined %rip
        nop
        begins  thread_toggles
        movl    %r12d, %edi
        call    work
        .cfi_offset %rip, -8
        leal    1(%r12), %edi
        call    work
        .cfi_undefined %rip
        leal    2(%r12), %edi
        call    work
        .cfi_restore %rip
        leal    3(%r12), %edi
        call    work
        .cfi_undefined %rip
        call    leave_thread
        ud2
        end     thread_toggles

        thread  thread_unmarked
        nop
        begins  thread_unmarked
        movl    %r12d, %edi
        call    work
        call    leave_thread
        ud2
        end     thread_unmarked

        function called_marked
        .cfi_undefined %rip
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl    %edi, %ebx
        call    leaf
        addl    %ebx, %eax
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     called_marked

        function forgets_caller
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl    %edi, %ebx
        .cfi_undefined %rip
        xorl    %edx, %edx
        xchgq   %rdx, 8(%rsp)
        pushq   %rdx
        .cfi_def_cfa_offset 24
        call    leaf
        popq    %rdx
        .cfi_def_cfa_offset 16
        movq    %rdx, 8(%rsp)
        .cfi_offset %rip, -8
        addl    %ebx, %eax
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     forgets_caller

#elif defined(__aarch64__)

        thread  thread_start
        .cfi_undefined x30
        nop
        begins  thread_start
        mov     w0, w20
        bl      work
        sub     sp, sp, #16
        .cfi_adjust_cfa_offset 16
        add     w0, w20, #1
        bl      work
        bl      leave_thread
        brk     #1
        end     thread_start

        thread  thread_toggles
        .cfi_undefined x30
        nop
        begins  thread_toggles
        stp     xzr, xzr, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        mov     w0, w20
        bl      work
        .cfi_offset x30, -8
        add     w0, w20, #1
        bl      work
        .cfi_undefined x30
        add     w0, w20, #2
        bl      work
        mov     x30, xzr
        .cfi_restore x30
        add     w0, w20, #3
        .cfi_offset x30, -8
        bl      work
        .cfi_undefined x30
        bl      leave_thread
        brk     #1
        end     thread_toggles

        thread  thread_unmarked
        nop
        begins  thread_unmarked
        stp     xzr, xzr, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     w0, w20
        bl      work
        bl      leave_thread
        brk     #1
        end     thread_unmarked

        function called_marked
        .cfi_undefined x30
        stp     x19, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        mov     w19, w0
        bl      leaf
        add     w0, w0, w19
        ldp     x19, x30, [sp], #16
        .cfi_def_cfa_offset 0
        ret
        end     called_marked

        function forgets_caller
        stp     x19, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x19, -32
        .cfi_offset x30, -24
        mov     w19, w0
        .cfi_undefined x30
        str     x30, [sp, #16]
        str     xzr, [sp, #8]
        bl      leaf
        ldr     x30, [sp, #16]
        .cfi_restore x30
        add     w0, w0, w19
        ldr     x19, [sp], #32
        .cfi_restore x19
        .cfi_def_cfa_offset 0
        ret
        end     forgets_caller

#elif defined(__s390x__)

        thread  thread_start
        .cfi_undefined %r14
        nopr    %r0
        begins  thread_start
        lr      %r2, %r7
        brasl   %r14, work
        aghi    %r15, -16
        .cfi_adjust_cfa_offset 16
        lr      %r2, %r7
        ahi     %r2, 1
        brasl   %r14, work
        brasl   %r14, leave_thread
        j       .+2
        end     thread_start

        thread  thread_toggles
        .cfi_undefined %r14
        nopr    %r0
        begins  thread_toggles
        lghi    %r1, 0
        stg     %r1, 112(%r15)
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lr      %r2, %r7
        brasl   %r14, work
        .cfi_offset %r14, -48
        lr      %r2, %r7
        ahi     %r2, 1
        brasl   %r14, work
        .cfi_undefined %r14
        lr      %r2, %r7
        ahi     %r2, 2
        brasl   %r14, work
        lghi    %r14, 0
        .cfi_restore %r14
        lr      %r2, %r7
        ahi     %r2, 3
        .cfi_offset %r14, -48
        brasl   %r14, work
        .cfi_undefined %r14
        brasl   %r14, leave_thread
        j       .+2
        end     thread_toggles

        thread  thread_unmarked
        nopr    %r0
        begins  thread_unmarked
        lghi    %r14, 0
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lr      %r2, %r7
        brasl   %r14, work
        brasl   %r14, leave_thread
        j       .+2
        end     thread_unmarked

        function called_marked
        .cfi_undefined %r14
        stmg    %r12, %r15, 96(%r15)
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lr      %r12, %r2
        brasl   %r14, leaf
        ar      %r2, %r12
        lmg     %r12, %r15, 256(%r15)
        .cfi_def_cfa_offset 160
        br      %r14
        end     called_marked

        function forgets_caller
        stmg    %r12, %r15, 96(%r15)
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -176
        .cfi_def_cfa_offset 336
        lr      %r12, %r2
        .cfi_undefined %r14
        stg     %r14, 160(%r15)
        lghi    %r1, 0
        stg     %r1, 288(%r15)
        brasl   %r14, leaf
        lg      %r14, 160(%r15)
        .cfi_restore %r14
        ar      %r2, %r12
        stg     %r14, 288(%r15)
        lmg     %r12, %r15, 272(%r15)
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     forgets_caller

#endif

        .section .note.GNU-stack, "", %progbits
