/* A function calls another one on another stack, and takes SP back from memory. From there to its return, its rows are
   those of its caller.  */

#include "frames.h"

        .bss
        .balign 16
        .skip   4096
stk:    .skip   512
gsp:    .skip   8
        .text
        function f_wrong
#if defined(__x86_64__)
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa %rbp, 16
        movq    %rsp, gsp(%rip)
        leaq    stk(%rip), %rsp
        call    leaf
        movq    gsp(%rip), %rsp
        .cfi_def_cfa %rsp, 16+24
        nop
        nop
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_same_value %rbp
        ret
#elif defined(__aarch64__)
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa x29, 16
        adrp    x1, gsp
        str     x29, [x1, :lo12:gsp]
        adrp    x1, stk
        add     x1, x1, :lo12:stk
        mov     sp, x1
        bl      leaf
        adrp    x1, gsp
        ldr     x1, [x1, :lo12:gsp]
        mov     sp, x1
        .cfi_def_cfa sp, 16+16
        nop
        nop
        .cfi_def_cfa sp, 16
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
#else
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        lgr     %r11, %r15
        .cfi_def_cfa %r11, 160
        stgrl   %r15, gsp
        larl    %r15, stk-160
        brasl   %r14, leaf
        lgrl    %r15, gsp
        .cfi_def_cfa %r15, 160+160
        nopr
        nopr
        .cfi_def_cfa %r15, 160
        lmg     %r11, %r15, 88(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        br      %r14
#endif
        end     f_wrong
        function main
        frame
        call_of leaf
        call_of f_wrong
        zero
        end_frame
        returns
        end     main

        .section .note.GNU-stack, "", %progbits
