/* A function that uses the frame pointer register for something else, without saving it, and returns the ordinary way:
   `FP unchanged` is wrong from there on. Its caller saves and restores it.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function clobbers
        movl    $0x1234567, %ebp
        movl    $100, %ecx
1:      decl    %ecx
        jnz     1b
        ret
        end     clobbers

        function saves
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        call    clobbers
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        end     saves

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    saves
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

#elif defined(__aarch64__)

        function clobbers
        mov     x29, #0x1234
        mov     w1, #100
1:      subs    w1, w1, #1
        b.ne    1b
        ret
        end     clobbers

        function saves
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      clobbers
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     saves

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      saves
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

#elif defined(__s390x__)

        function clobbers
        lghi    %r11, 0x1234
        lghi    %r1, 100
1:      brctg   %r1, 1b
        br      %r14
        end     clobbers

        function saves
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, clobbers
        lmg     %r11, %r15, 248(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_restore %r11
        .cfi_def_cfa_offset 160
        br      %r14
        end     saves

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, saves
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
