/* A longjmp by hand, over the frame of `between`. From the load of SP on, the rows of jump_right are those of a callee of
   the place that it leads to; those of jump_wrong are of nothing.  */

#include "runtime/assembly.h"

        .text

#if defined(__x86_64__)

        function set
        movq    (%rsp), %rcx
        movq    %rcx, (%rdi)
        leaq    8(%rsp), %rcx
        movq    %rcx, 8(%rdi)
        xorl    %eax, %eax
        ret
        end     set

        function jump_right
        movl    $1, %eax
        movq    (%rdi), %rcx
        movq    8(%rdi), %rdx
        movq    %rcx, -8(%rdx)
        subq    $8, %rdx
        movq    %rdx, %rsp
        nop
        ret
        end     jump_right

        function jump_wrong
        movl    $1, %eax
        movq    (%rdi), %rcx
        movq    8(%rdi), %rdx
        movq    %rcx, -8(%rdx)
        subq    $8, %rdx
        movq    %rdx, %rsp
        .cfi_def_cfa_offset 56
        nop
        ret
        end     jump_wrong

        function between
        subq    $40, %rsp
        .cfi_adjust_cfa_offset 40
        call    *%rsi
        nop
        end     between

        function main
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        leaq    buffer(%rip), %rdi
        call    set
        testl   %eax, %eax
        jnz     1f
        leaq    buffer(%rip), %rdi
        leaq    jump_right(%rip), %rsi
        call    between
1:      leaq    buffer(%rip), %rdi
        call    set
        testl   %eax, %eax
        jnz     1f
        leaq    buffer(%rip), %rdi
        leaq    jump_wrong(%rip), %rsi
        call    between
1:      xorl    %eax, %eax
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        end     main

#elif defined(__aarch64__)

        function set
        mov     x1, sp
        stp     x30, x1, [x0]
        mov     w0, #0
        ret
        end     set

        .macro  jump name, offset
        function \name
        ldp     x30, x2, [x0]
        mov     w0, #1
        mov     sp, x2
        .cfi_def_cfa_offset \offset
        nop
        ret
        end     \name
        .endm

        jump    jump_right, 0
        jump    jump_wrong, 48

        function between
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        blr     x1
        nop
        end     between

        function main
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        adrp    x0, buffer
        add     x0, x0, :lo12:buffer
        bl      set
        cbnz    w0, 1f
        adrp    x0, buffer
        add     x0, x0, :lo12:buffer
        adr     x1, jump_right
        bl      between
1:      adrp    x0, buffer
        add     x0, x0, :lo12:buffer
        bl      set
        cbnz    w0, 1f
        adrp    x0, buffer
        add     x0, x0, :lo12:buffer
        adr     x1, jump_wrong
        bl      between
1:      mov     w0, #0
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

#elif defined(__s390x__)

        function set
        stg     %r14, 0(%r2)
        stg     %r15, 8(%r2)
        lghi    %r2, 0
        br      %r14
        end     set

        .macro  jump name, offset
        function \name
        lgr     %r1, %r2
        lghi    %r2, 1
        lg      %r14, 0(%r1)
        lg      %r15, 8(%r1)
        .cfi_def_cfa_offset \offset
        nopr
        br      %r14
        end     \name
        .endm

        jump    jump_right, 160
        jump    jump_wrong, 208

        function between
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -200
        .cfi_adjust_cfa_offset 200
        basr    %r14, %r3
        nopr
        end     between

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        larl    %r2, buffer
        brasl   %r14, set
        ltgr    %r2, %r2
        jne     1f
        larl    %r2, buffer
        larl    %r3, jump_right
        brasl   %r14, between
1:      larl    %r2, buffer
        brasl   %r14, set
        ltgr    %r2, %r2
        jne     1f
        larl    %r2, buffer
        larl    %r3, jump_wrong
        brasl   %r14, between
1:      lghi    %r2, 0
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

#endif

        .bss
        .balign 8
buffer: .skip   16

        .section .note.GNU-stack, "", %progbits
