/* A function that marks the FP that it saves, and whose CFI says that the caller's FP is what was saved.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)
        function marks
        movq    %rbp, %r11
        btsq    $60, %rbp
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        nop
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        movq    %r11, %rbp
        ret
        end     marks

        function main
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        call    marks
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     main
#elif defined(__aarch64__)
        function marks
        mov     x9, x29
        orr     x29, x29, #0x1000000000000000
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        nop
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        mov     x29, x9
        ret
        end     marks

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      marks
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main
#endif

        .section .note.GNU-stack, "", %progbits
