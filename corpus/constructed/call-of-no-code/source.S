#include "runtime/assembly.h"

        .text
        .set    nowhere, 0x128

#if defined(__x86_64__)
        nop
restorer:
        movl    $15, %eax               /* rt_sigreturn */
        syscall
        .size   restorer, . - restorer

function handler                        /* (signal, information, context) */
        movq    160(%rdx), %rcx         /* RSP: the return address is there */
        movq    (%rcx), %rax
        addq    $8, %rcx
        movq    %rcx, 160(%rdx)
        movq    %rax, 168(%rdx)         /* RIP */
        incl    faults(%rip)
        ret
end handler

function jumps
        movl    $nowhere, %eax
        jmp     *%rax
end jumps

function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl    $11, %edi
        leaq    action(%rip), %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        movl    $13, %eax               /* rt_sigaction */
        syscall
        movl    $nowhere, %eax
        call    *%rax
        call    jumps
        movl    faults(%rip), %eax
        subl    $2, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
end main

        .data
        .balign 8
action: .quad   handler, 0x04000004, restorer, 0
faults: .long   0

#elif defined(__aarch64__)
function handler
        ldr     x3, [x2, #424]          /* x30 */
        str     x3, [x2, #440]          /* PC */
        adrp    x1, faults
        add     x1, x1, :lo12:faults
        ldr     w0, [x1]
        add     w0, w0, #1
        str     w0, [x1]
        ret
end handler

function jumps
        mov     x1, #nowhere
        br      x1
end jumps

function main
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x0, #11
        adrp    x1, action
        add     x1, x1, :lo12:action
        mov     x2, #0
        mov     x3, #8
        mov     x8, #134                /* rt_sigaction */
        svc     #0
        mov     x1, #nowhere
        blr     x1
        bl      jumps
        adrp    x1, faults
        ldr     w0, [x1, :lo12:faults]
        sub     w0, w0, #2
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -16
        ret
end main

        .data
        .balign 8
action: .quad   handler, 4, 0, 0
faults: .word   0

#elif defined(__s390x__)
function handler
        lg      %r1, 168(%r4)           /* r14 */
        stg     %r1, 48(%r4)            /* the PSW's address */
        larl    %r1, faults
        asi     0(%r1), 1
        br      %r14
end handler

function jumps
        lghi    %r1, nowhere
        br      %r1
end jumps

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
        lghi    %r1, nowhere
        basr    %r14, %r1
        brasl   %r14, nowhere
        brasl   %r14, jumps
        larl    %r1, faults
        lgf     %r2, 0(%r1)
        aghi    %r2, -3
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_adjust_cfa_offset -160
        br      %r14
end main

        .data
        .balign 8
action: .quad   handler, 4, 0, 0
faults: .long   0
#endif
