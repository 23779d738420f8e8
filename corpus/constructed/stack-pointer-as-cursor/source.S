/* SP as a cursor: `right` keeps it in a register, walks through data, takes it back and returns. `wrong` is the same with
   a wrong CFA while SP is elsewhere. The CFA of `calls`, which calls `right`, is wrong after that call.  */

#include "runtime/assembly.h"

        .data
        .balign 16
words:  .quad   1, 2, 3, 4

        .text

#if defined(__x86_64__)

        .macro  walks name, offset
        function \name
        movq    %rsp, %rax
        .cfi_def_cfa %rax, \offset
        leaq    words(%rip), %rsp
        popq    %rcx
        popq    %rdx
        movq    %rax, %rsp
        .cfi_def_cfa %rsp, 8
        ret
        end     \name
        .endm

        function calls
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        call    right
        .cfi_adjust_cfa_offset 16
        nop
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -40
        ret
        end     calls

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    right
        call    wrong
        call    calls
        xorl    %eax, %eax
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        walks   right, 8
        walks   wrong, 24

#elif defined(__aarch64__)

        .macro  walks name, offset
        function \name
        adrp    x3, words
        add     x3, x3, :lo12:words
        mov     x9, sp
        .cfi_def_cfa x9, \offset
        mov     sp, x3
        ldr     x1, [sp], #16
        mov     sp, x9
        .cfi_def_cfa sp, 0
        ret
        end     \name
        .endm

        function calls
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      right
        .cfi_def_cfa_offset 48
        nop
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     calls

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      right
        bl      wrong
        bl      calls
        mov     w0, #0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

        walks   right, 0
        walks   wrong, 16

#elif defined(__s390x__)

        .macro  walks name, offset
        function \name
        lgr     %r1, %r15
        .cfi_def_cfa %r1, \offset
        larl    %r15, words
        lg      %r2, 0(%r15)
        aghi    %r15, 8
        lgr     %r15, %r1
        .cfi_def_cfa %r15, 160
        br      %r14
        end     \name
        .endm

        function calls
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, right
        .cfi_def_cfa_offset 336
        nopr
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     calls

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, right
        brasl   %r14, wrong
        brasl   %r14, calls
        lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

        walks   right, 160
        walks   wrong, 176

#endif

        .section .note.GNU-stack, "", %progbits
