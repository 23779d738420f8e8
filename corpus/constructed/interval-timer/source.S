#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)
        nop
restorer:
        movl    $15, %eax               /* rt_sigreturn */
        syscall
        .size   restorer, . - restorer

function handler
        incl    calls(%rip)
        ret
end handler

function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl    $27, %edi               /* SIGPROF */
        leaq    action(%rip), %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        movl    $13, %eax               /* rt_sigaction */
        syscall
        movl    $2, %edi                /* ITIMER_PROF */
        leaq    timer(%rip), %rsi
        xorl    %edx, %edx
        movl    $38, %eax               /* setitimer */
        syscall
1:      cmpl    $3, calls(%rip)
        jb      1b
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
end main

        .data
        .balign 8
action: .quad   handler, 0x04000000, restorer, 0

#elif defined(__aarch64__)
function handler
        adrp    x1, calls
        add     x1, x1, :lo12:calls
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
        mov     x0, #27
        adrp    x1, action
        add     x1, x1, :lo12:action
        mov     x2, #0
        mov     x3, #8
        mov     x8, #134                /* rt_sigaction */
        svc     #0
        mov     x0, #2
        adrp    x1, timer
        add     x1, x1, :lo12:timer
        mov     x2, #0
        mov     x8, #103                /* setitimer */
        svc     #0
        adrp    x1, calls
        add     x1, x1, :lo12:calls
1:      ldr     w0, [x1]
        cmp     w0, #3
        b.lo    1b
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -16
        ret
end main

        .data
        .balign 8
action: .quad   handler, 0, 0, 0

#elif defined(__s390x__)
function handler
        larl    %r1, calls
        asi     0(%r1), 1
        br      %r14
end handler

function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lghi    %r2, 27
        larl    %r3, action
        lghi    %r4, 0
        lghi    %r5, 8
        svc     174                     /* rt_sigaction */
        lghi    %r2, 2
        larl    %r3, timer
        lghi    %r4, 0
        svc     104                     /* setitimer */
        larl    %r1, calls
1:      l       %r2, 0(%r1)
        clfi    %r2, 3
        jl      1b
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_adjust_cfa_offset -160
        br      %r14
end main

        .data
        .balign 8
action: .quad   handler, 0, 0, 0
#endif

timer:  .quad   0, 20, 0, 20            /* every 20 microseconds */
calls:  .long   0
