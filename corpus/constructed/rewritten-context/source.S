/* A handler of SIGSEGV that makes the interrupted function go on elsewhere, by changing the saved PC. From then on, that is
   where its frame will continue. In `right` the rows there are right, in `wrong` they are not.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        .macro  faults name, offset
        function \name
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        leaq    1f(%rip), %rax
        movq    %rax, target(%rip)
        xorl    %eax, %eax
        movq    (%rax), %rax
1:      .cfi_def_cfa_offset \offset
        nop
        .cfi_def_cfa_offset 32
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        end     \name
        .endm

        faults  right, 32
        faults  wrong, 48

        function handler
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movq    target(%rip), %rcx
        movq    %rcx, 168(%rdx)         /* rip */
        call    leaf
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     handler

        function leaf
        nop
        ret
        end     leaf

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl    $11, %edi
        leaq    action(%rip), %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        movl    $13, %eax               /* rt_sigaction */
        syscall
        call    right
        call    wrong
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        .data
        .balign 8
action: .quad   handler, 0x04000004, bench_restorer, 0

#elif defined(__aarch64__)

        .macro  faults name, offset
        function \name
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        adr     x0, 1f
        adrp    x1, target
        str     x0, [x1, :lo12:target]
        mov     x0, #0
        ldr     x0, [x0]
1:      .cfi_def_cfa_offset \offset
        nop
        .cfi_def_cfa_offset 16
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     \name
        .endm

        faults  right, 16
        faults  wrong, 32

        function handler
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        adrp    x3, target
        ldr     x3, [x3, :lo12:target]
        str     x3, [x2, #440]          /* pc */
        bl      leaf
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     handler

        function leaf
        nop
        ret
        end     leaf

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x0, #11
        adrp    x1, action
        add     x1, x1, :lo12:action
        mov     x2, #0
        mov     x3, #8
        mov     x8, #134                /* rt_sigaction */
        svc     #0
        bl      right
        bl      wrong
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

        .data
        .balign 8
action: .quad   handler, 0x04000004, bench_restorer, 0

#elif defined(__s390x__)

        .macro  faults name, offset
        function \name
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        larl    %r2, 1f
        larl    %r1, target
        stg     %r2, 0(%r1)
        lghi    %r2, 0
        lg      %r2, 0(%r2)
1:      .cfi_def_cfa_offset \offset
        nopr
        .cfi_def_cfa_offset 320
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     \name
        .endm

        faults  right, 320
        faults  wrong, 336

        function handler
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        larl    %r1, target
        lg      %r1, 0(%r1)
        stg     %r1, 48(%r4)            /* psw.addr */
        brasl   %r14, leaf
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     handler

        function leaf
        nopr
        br      %r14
        end     leaf

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lghi    %r2, 11
        larl    %r3, action
        lghi    %r4, 0
        lghi    %r5, 8
        svc     174                     /* rt_sigaction */
        brasl   %r14, right
        brasl   %r14, wrong
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

        .data
        .balign 8
action: .quad   handler, 0x04000004, bench_restorer, 0

#endif

        .bss
        .balign 8
target: .skip   8

        .section .note.GNU-stack, "", %progbits
