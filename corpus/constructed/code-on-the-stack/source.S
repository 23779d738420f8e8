#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)
function main
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    code(%rip), %rax
        movq    %rax, (%rsp)
        movq    %rsp, %rax
        call    *%rax
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
end main

code:   xorl    %eax, %eax
        ret
        .balign 8

#elif defined(__aarch64__)
function main
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        adr     x1, code
        ldr     x0, [x1]
        add     x1, sp, #16
        str     x0, [x1]
        dc      cvau, x1
        dsb     ish
        ic      ivau, x1
        dsb     ish
        isb
        blr     x1
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -32
        ret
end main

        .balign 8
code:   mov     w0, #0
        ret

#elif defined(__s390x__)
function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -168
        .cfi_adjust_cfa_offset 168
        larl    %r1, code
        lg      %r1, 0(%r1)
        stg     %r1, 160(%r15)
        la      %r1, 160(%r15)
        basr    %r14, %r1
        lmg     %r14, %r15, 280(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_adjust_cfa_offset -168
        br      %r14
end main

        .balign 8
code:   lghi    %r2, 0
        br      %r14
        nopr
#endif
