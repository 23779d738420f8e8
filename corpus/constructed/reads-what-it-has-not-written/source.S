#include "runtime/assembly.h"

        .text
#if defined(__x86_64__)
function main
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    8(%rsp), %rax
        testq   %rax, %rax
        je      1f
        movq    (%rax), %rax
1:      xorl    %eax, %eax
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
end main

#elif defined(__aarch64__)
function main
        sub     sp, sp, #32
        .cfi_adjust_cfa_offset 32
        ldr     x0, [sp, #8]
        cbz     x0, 1f
        ldr     x0, [x0]
1:      mov     w0, #0
        add     sp, sp, #32
        .cfi_adjust_cfa_offset -32
        ret
end main

#elif defined(__s390x__)
function main
        aghi    %r15, -32
        .cfi_adjust_cfa_offset 32
        ltg     %r1, 8(%r15)
        je      1f
        lg      %r1, 0(%r1)
1:      lghi    %r2, 0
        aghi    %r15, 32
        .cfi_adjust_cfa_offset -32
        br      %r14
end main
#endif
