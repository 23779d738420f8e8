/* FP is saved in the frame by a callee, and by a loop that copies.  */

#include "frames.h"

        .type   save_fp, %function
save_fp:
#if defined(__x86_64__)
        movq    %rbp, (%rdi)
        ret
#elif defined(__aarch64__)
        str     x29, [x0]
        ret
#else
        stg     %r11, 0(%r2)
        br      %r14
#endif
        .size   save_fp, . - save_fp

        /* The rows of `saves_wrong` say so before the call.  */
        .macro  functions name
        function saves_\name
#if defined(__x86_64__)
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        leaq    8(%rsp), %rdi
        .ifne   wrong
        .cfi_offset %rbp, -24
        .endif
        nop
        call    save_fp
        .cfi_offset %rbp, -24
        nop
        xorl    %ebp, %ebp
        nop
        movq    8(%rsp), %rbp
        .cfi_restore %rbp
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
#elif defined(__aarch64__)
        sub     sp, sp, #32
        .cfi_adjust_cfa_offset 32
        str     x30, [sp]
        .cfi_offset x30, -32
        add     x0, sp, #16
        .ifne   wrong
        .cfi_offset x29, -16
        .endif
        nop
        bl      save_fp
        .cfi_offset x29, -16
        nop
        mov     x29, #0
        nop
        ldr     x29, [sp, #16]
        .cfi_restore x29
        ldr     x30, [sp]
        .cfi_restore x30
        add     sp, sp, #32
        .cfi_adjust_cfa_offset -32
        ret
#else
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -176
        .cfi_adjust_cfa_offset 176
        la      %r2, 160(%r15)
        .ifne   wrong
        .cfi_offset %r11, -176
        .endif
        nopr
        brasl   %r14, save_fp
        .cfi_offset %r11, -176
        nopr
        lghi    %r11, 0
        nopr
        lg      %r11, 160(%r15)
        .cfi_restore %r11
        lmg     %r14, %r15, 288(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
#endif
        end     saves_\name
        .endm

        functions right
        .set    wrong, 1
        functions wrong

        /* Four words are copied to behind them; the last one is FP.  */
        function copies_right
#if defined(__x86_64__)
        subq    $72, %rsp
        .cfi_adjust_cfa_offset 72
        movq    %rbp, 24(%rsp)
        xorl    %ecx, %ecx
1:      movq    (%rsp,%rcx,8), %rax
        movq    %rax, 32(%rsp,%rcx,8)
        incl    %ecx
        cmpl    $4, %ecx
        jne     1b
        .cfi_offset %rbp, -24
        movl    $5, %ebp
        nop
        movq    56(%rsp), %rbp
        .cfi_restore %rbp
        addq    $72, %rsp
        .cfi_adjust_cfa_offset -72
        ret
#elif defined(__aarch64__)
        sub     sp, sp, #80
        .cfi_adjust_cfa_offset 80
        str     x30, [sp, #64]
        .cfi_offset x30, -16
        str     x29, [sp, #24]
        mov     x1, sp
        add     x2, sp, #32
        mov     w3, #4
1:      ldr     x4, [x1], #8
        str     x4, [x2], #8
        subs    w3, w3, #1
        b.ne    1b
        .cfi_offset x29, -24
        mov     x29, #5
        nop
        ldr     x29, [sp, #56]
        .cfi_restore x29
        .cfi_restore x30
        add     sp, sp, #80
        .cfi_adjust_cfa_offset -80
        ret
#else
        aghi    %r15, -64
        .cfi_adjust_cfa_offset 64
        stg     %r11, 184(%r15)
        la      %r1, 160(%r15)
        lghi    %r2, 4
1:      lg      %r3, 0(%r1)
        stg     %r3, 32(%r1)
        la      %r1, 8(%r1)
        brctg   %r2, 1b
        .cfi_offset %r11, -168
        lghi    %r11, 5
        nopr
        lg      %r11, 216(%r15)
        .cfi_restore %r11
        aghi    %r15, 64
        .cfi_adjust_cfa_offset -64
        br      %r14
#endif
        end     copies_right

        function main
        frame
        call_of saves_right
        call_of copies_right
        zero
        end_frame
        returns
        end     main
