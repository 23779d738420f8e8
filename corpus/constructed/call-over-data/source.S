/* A call over data, which fetches its address. Nothing ever returns to it. In `right` the rows are those of one function;
   in `wrong` they are as if the part behind the data had been called.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function right
        call    2f
        .cfi_adjust_cfa_offset 8
        .byte   1, 2, 3, 4
2:      popq    %rdx
        .cfi_adjust_cfa_offset -8
        movl    $100, %ecx
1:      decl    %ecx
        jnz     1b
        call    leaf
        xorl    %eax, %eax
        ret
        end     right

        function wrong
        call    2f
        .byte   1, 2, 3, 4
2:      popq    %rdx
        .cfi_adjust_cfa_offset -8
        movl    $100, %ecx
1:      decl    %ecx
        jnz     1b
        .cfi_def_cfa_offset 8
        call    leaf
        xorl    %eax, %eax
        ret
        end     wrong

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    right
        call    wrong
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        function leaf
        nop
        ret
        end     leaf

#elif defined(__aarch64__)

        function right
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      2f
        .word   1
2:      ldr     w1, [x30]
        mov     w2, #100
1:      subs    w2, w2, #1
        b.ne    1b
        bl      leaf
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     right

        function wrong
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      2f
        .word   1
2:      .cfi_remember_state
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ldr     w1, [x30]
        mov     w2, #100
1:      subs    w2, w2, #1
        b.ne    1b
        .cfi_restore_state
        bl      leaf
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     wrong

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      right
        bl      wrong
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

        function leaf
        nop
        ret
        end     leaf

#elif defined(__s390x__)

        function right
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        bras    %r14, 2f
        .long   1
2:      l       %r1, 0(%r14)
        lghi    %r2, 100
1:      brctg   %r2, 1b
        brasl   %r14, leaf
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     right

        function wrong
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        bras    %r14, 2f
        .long   1
2:      .cfi_remember_state
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        l       %r1, 0(%r14)
        lghi    %r2, 100
1:      brctg   %r2, 1b
        .cfi_restore_state
        brasl   %r14, leaf
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     wrong

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, right
        brasl   %r14, wrong
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

        function leaf
        nopr
        br      %r14
        end     leaf

#endif

        .section .note.GNU-stack, "", %progbits
