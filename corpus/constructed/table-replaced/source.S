/* A program registers a table for a function, withdraws it, and registers another one, in which every row is off by 16.  */

#include "frames.h"

#if defined(__x86_64__)
        .set    entry, 8
        .set    more, 16
#elif defined(__aarch64__)
        .set    entry, 0
        .set    more, 16
#else
        /* In eighths, from 160 on.  */
        .set    entry, 0
        .set    more, 2
#endif

        /* One row of version 3.  */
        .macro  table name, cfa
        .p2align 3
\name:
        .2byte  0xdee2
        .byte   3, 4 | 1
#if defined(__x86_64__)
        .byte   3, 0, -8
#elif defined(__AARCH64EB__)
        .byte   1, 0, 0
#elif defined(__aarch64__)
        .byte   2, 0, 0
#else
        .byte   4, 0, 0
#endif
        .byte   0
        .4byte  1, 1, 8, 0, 16
        .8byte  f - .
        .4byte  f_end - f
        .4byte  0
        .2byte  1
        .byte   0, 0, 0
        .byte   0, 1 << 1 | 1, \cfa
        .set    size, . - \name
        .endm

        .data
        table   right, entry
        table   off_by_16, entry + more

        .text
        .type   f, %function
f:      nop
        nop
        returns
f_end:
        .size   f, . - f

        .macro  register table
#if defined(__x86_64__)
        leaq    \table(%rip), %rdi
        movl    $size, %esi
        leaq    f(%rip), %rdx
        movl    $f_end - f, %r10d
        movl    $0x53460001, %eax
        syscall
#elif defined(__aarch64__)
        adrp    x0, \table
        add     x0, x0, :lo12:\table
        mov     x1, #size
        adr     x2, f
        mov     x3, #f_end - f
        mov     w8, #0x0001
        movk    w8, #0x5346, lsl #16
        svc     #0
#else
        larl    %r2, \table
        lghi    %r3, size
        larl    %r4, f
        lghi    %r5, f_end - f
        llilf   %r1, 0x53460001
        svc     0
#endif
        .endm

        .macro  withdraw
#if defined(__x86_64__)
        leaq    f(%rip), %rdi
        movl    $0x53460002, %eax
        syscall
#elif defined(__aarch64__)
        adr     x0, f
        mov     w8, #0x0002
        movk    w8, #0x5346, lsl #16
        svc     #0
#else
        larl    %r2, f
        llilf   %r1, 0x53460002
        svc     0
#endif
        .endm

        function main
        frame
        register right
        call_of f
        call_of f
        withdraw
        register off_by_16
        call_of f
        withdraw
        zero
        end_frame
        returns
        end     main
