#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)
        nop
restorer:
        movl    $15, %eax               /* rt_sigreturn */
        syscall
        .size   restorer, . - restorer

function handler                        /* (signal, information, context) */
        movq    168(%rdx), %rax         /* RIP */
        leaq    behind(%rip), %rcx
        cmpq    %rcx, %rax
        jne     1f
        movl    $0x80, %ecx             /* SI_KERNEL */
        cmpl    %ecx, 8(%rsi)
        jne     1f
        incl    traps(%rip)
1:      ret
end handler

function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl    $5, %edi
        leaq    action(%rip), %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        movl    $13, %eax               /* rt_sigaction */
        syscall
        int3
behind: movl    traps(%rip), %eax
        decl    %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
end main

        .data
        .balign 8
action: .quad   handler, 0x04000004, restorer, 0
traps:  .long   0

#elif defined(__aarch64__)
function handler
        ldr     x3, [x2, #440]          /* PC */
        add     x3, x3, #4
        str     x3, [x2, #440]
        adrp    x1, traps
        add     x1, x1, :lo12:traps
        ldr     w0, [x1]
        add     w0, w0, #1
        str     w0, [x1]
        ret
end handler

function main
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x0, #5
        adrp    x1, action
        add     x1, x1, :lo12:action
        mov     x2, #0
        mov     x3, #8
        mov     x8, #134                /* rt_sigaction */
        svc     #0
        brk     #1
        adrp    x1, traps
        ldr     w0, [x1, :lo12:traps]
        sub     w0, w0, #1
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -16
        ret
end main

        .data
        .balign 8
action: .quad   handler, 4, 0, 0
traps:  .word   0

#elif defined(__s390x__)
function handler
        larl    %r1, behind
        cg      %r1, 48(%r4)            /* the PSW's address */
        jne     1f
        larl    %r1, traps
        asi     0(%r1), 1
1:      br      %r14
end handler

function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lghi    %r2, 5
        larl    %r3, action
        lghi    %r4, 0
        lghi    %r5, 8
        svc     174                     /* rt_sigaction */
        .short  1                       /* a breakpoint, as debuggers set it */
behind: larl    %r1, traps
        lgf     %r2, 0(%r1)
        aghi    %r2, -1
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_adjust_cfa_offset -160
        br      %r14
end main

        .data
        .balign 8
action: .quad   handler, 4, 0, 0
traps:  .long   0
#endif
