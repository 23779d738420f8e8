/* A handler points the interrupted context to `preempted`, which runs as if the interrupted function had called it there,
   and returns to the interrupted instruction: as runtimes preempt their threads. In a second round it is preempted_wrong,
   whose CFA is wrong.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function preempted
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        call    leaf
        popq    %rax
        .cfi_adjust_cfa_offset -8
        ret
        end     preempted

        function preempted_wrong
        pushq   %rax
        call    leaf
        popq    %rax
        ret
        end     preempted_wrong

        function leaf
        nop
        ret
        end     leaf

        function handler
        movq    160(%rdx), %rax         /* rsp */
        movq    168(%rdx), %rcx         /* rip */
        subq    $8, %rax
        movq    %rcx, (%rax)
        movq    %rax, 160(%rdx)
        movq    target(%rip), %rcx
        movq    %rcx, 168(%rdx)
        ret
        end     handler

        .type   restorer, %function
        nop
restorer:
        movl    $15, %eax
        syscall
        .size   restorer, . - restorer

        function work
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    %rdi, target(%rip)
        movl    $39, %eax               /* getpid */
        syscall
        movl    %eax, %edi
        movl    $10, %esi
        movl    $62, %eax               /* kill */
        syscall
        nop
        nop
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        end     work

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl    $10, %edi
        leaq    action(%rip), %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        movl    $13, %eax               /* rt_sigaction */
        syscall
        leaq    preempted(%rip), %rdi
        call    work
        leaq    preempted_wrong(%rip), %rdi
        call    work
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        .data
        .balign 8
action: .quad   handler, 0x04000004, restorer, 0        /* SA_RESTORER | SA_SIGINFO */

#elif defined(__aarch64__)

        .macro  preempted name, offset
        function \name
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset \offset
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      leaf
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     \name
        .endm

        preempted preempted, 16
        preempted preempted_wrong, 32

        function leaf
        nop
        ret
        end     leaf

        function handler
        ldr     x3, [x2, #440]          /* pc */
        str     x3, [x2, #424]          /* x30 */
        adrp    x3, target
        ldr     x3, [x3, :lo12:target]
        str     x3, [x2, #440]
        ret
        end     handler

        function work
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        adrp    x1, target
        str     x0, [x1, :lo12:target]
        mov     x8, #172                /* getpid */
        svc     #0
        mov     x1, #10
        mov     x8, #129                /* kill */
        svc     #0
        nop
        nop
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     work

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x0, #10
        adrp    x1, action
        add     x1, x1, :lo12:action
        mov     x2, #0
        mov     x3, #8
        mov     x8, #134                /* rt_sigaction */
        svc     #0
        adr     x0, preempted
        bl      work
        adr     x0, preempted_wrong
        bl      work
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

        .data
        .balign 8
action: .quad   handler, 4, 0, 0        /* SA_SIGINFO */

#elif defined(__s390x__)

        .macro  preempted name, offset
        function \name
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset \offset
        brasl   %r14, leaf
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     \name
        .endm

        preempted preempted, 320
        preempted preempted_wrong, 336

        function leaf
        nopr
        br      %r14
        end     leaf

        function handler
        lg      %r1, 48(%r4)            /* psw.addr */
        stg     %r1, 168(%r4)           /* r14 */
        larl    %r1, target
        lg      %r1, 0(%r1)
        stg     %r1, 48(%r4)
        br      %r14
        end     handler

        function work
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        larl    %r1, target
        stg     %r2, 0(%r1)
        svc     20                      /* getpid */
        lghi    %r3, 10
        svc     37                      /* kill */
        nopr
        nopr
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     work

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lghi    %r2, 10
        larl    %r3, action
        lghi    %r4, 0
        lghi    %r5, 8
        svc     174                     /* rt_sigaction */
        larl    %r2, preempted
        brasl   %r14, work
        larl    %r2, preempted_wrong
        brasl   %r14, work
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

        .data
        .balign 8
action: .quad   handler, 4, 0, 0        /* SA_SIGINFO */

#endif

        .bss
        .balign 8
target: .skip   8

        .section .note.GNU-stack, "", %progbits
