/* An interpreter with a compiler, as small as can be. `interpret` makes a frame, calls a function, saves SP and jumps to compiled code,
   which extends that frame and calls a function. It leaves by the saved SP and a jump to `resume`, which continues in
   the interpreter's frame and returns from it. `resume` is next to `run`, which `interpret` is called from, and is
   never called itself. `resume_wrong` is the same with a wrong CFA.

   `adopt` looks the same at the jump, and is the opposite: its callee leaves for it, and it goes on with the SP of the
   callee, by a CFA from FP. `adopt_wrong` is the same with a wrong CFA after that.  */

#include "runtime/assembly.h"

        .bss
        .balign 8
saved:  .skip   8
next:   .skip   8

        .text

#if defined(__x86_64__)

        function main
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    run
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        end     main

        function run
        subq    $40, %rsp
        .cfi_adjust_cfa_offset 40
        leaq    resume(%rip), %rax
        movq    %rax, next(%rip)
        call    interpret
        leaq    resume_wrong(%rip), %rax
        movq    %rax, next(%rip)
        call    interpret
        call    adopt
        call    adopt_wrong
        xorl    %eax, %eax
        addq    $40, %rsp
        .cfi_adjust_cfa_offset -40
        ret
        end     run

        .macro  resumes name, cfa
        function \name
        .cfi_adjust_cfa_offset \cfa
        call    leaf
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -\cfa
        ret
        end     \name
        .endm

        resumes resume, 24
        resumes resume_wrong, 16

        function interpret
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        call    leaf
        movq    %rsp, saved(%rip)
        jmp     compiled
        .cfi_adjust_cfa_offset -24
        end     interpret

        function compiled
        .cfi_adjust_cfa_offset 24
        subq    $32, %rsp
        .cfi_adjust_cfa_offset 32
        call    leaf
        movq    saved(%rip), %rcx
        movq    %rcx, %rsp
        .cfi_adjust_cfa_offset -32
        jmp     *next(%rip)
        .cfi_adjust_cfa_offset -24
        end     compiled

        .macro  adopts name, cfa
        function \name
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        leaq    1f(%rip), %rax
        movq    %rax, next(%rip)
        call    lend
1:      .cfi_def_cfa_offset \cfa
        call    leaf
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        end     \name
        .endm

        adopts  adopt, 16
        adopts  adopt_wrong, 24

        function lend
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        call    leaf
        movq    %rsp, saved(%rip)
        movq    saved(%rip), %rcx
        movq    %rcx, %rsp
        jmp     *next(%rip)
        .cfi_adjust_cfa_offset -24
        end     lend

        function leaf
        nop
        ret
        end     leaf

#elif defined(__aarch64__)

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        bl      run
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     main

        function run
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov     x29, sp
        adrp    x1, next
        add     x1, x1, :lo12:next
        adr     x0, resume
        str     x0, [x1]
        bl      interpret
        adrp    x1, next
        add     x1, x1, :lo12:next
        adr     x0, resume_wrong
        str     x0, [x1]
        bl      interpret
        bl      adopt
        bl      adopt_wrong
        mov     w0, #0
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     run

        .macro  resumes name, cfa
        function \name
        .cfi_remember_state
        .cfi_def_cfa_offset \cfa
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      leaf
        ldp     x29, x30, [sp], #32
        .cfi_restore_state
        ret
        end     \name
        .endm

        resumes resume, 32
        resumes resume_wrong, 16

        function interpret
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      leaf
        mov     x2, sp
        adrp    x1, saved
        str     x2, [x1, :lo12:saved]
        b       compiled
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        end     interpret

        function compiled
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        sub     sp, sp, #32
        .cfi_def_cfa_offset 64
        bl      leaf
        adrp    x1, saved
        ldr     x1, [x1, :lo12:saved]
        adrp    x2, next
        ldr     x2, [x2, :lo12:next]
        mov     sp, x1
        .cfi_def_cfa_offset 32
        br      x2
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        end     compiled

        .macro  adopts name, cfa
        function \name
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        adrp    x1, next
        add     x1, x1, :lo12:next
        adr     x0, 1f
        str     x0, [x1]
        bl      lend
1:      .cfi_def_cfa_offset \cfa
        bl      leaf
        mov     sp, x29
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa sp, 0
        ret
        end     \name
        .endm

        adopts  adopt, 16
        adopts  adopt_wrong, 32

        function lend
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      leaf
        mov     x1, sp
        adrp    x2, saved
        str     x1, [x2, :lo12:saved]
        ldr     x1, [x2, :lo12:saved]
        adrp    x2, next
        ldr     x2, [x2, :lo12:next]
        mov     sp, x1
        br      x2
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        end     lend

        function leaf
        nop
        ret
        end     leaf

#elif defined(__s390x__)

        .macro  frame size
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        .cfi_def_cfa_offset 160 + \size
        .endm

        .macro  no_frame
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa_offset 160
        .endm

        function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, run
        lmg     %r14, %r15, 272(%r15)
        no_frame
        br      %r14
        end     main

        function run
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -176
        .cfi_def_cfa_offset 336
        larl    %r1, resume
        stgrl   %r1, next
        brasl   %r14, interpret
        larl    %r1, resume_wrong
        stgrl   %r1, next
        brasl   %r14, interpret
        brasl   %r14, adopt
        brasl   %r14, adopt_wrong
        lghi    %r2, 0
        lmg     %r14, %r15, 288(%r15)
        no_frame
        br      %r14
        end     run

        .macro  resumes name, size
        function \name
        frame   \size
        brasl   %r14, leaf
        lmg     %r14, %r15, 272(%r15)
        no_frame
        br      %r14
        end     \name
        .endm

        resumes resume, 160
        resumes resume_wrong, 152

        function interpret
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, leaf
        stgrl   %r15, saved
        jg      compiled
        no_frame
        end     interpret

        function compiled
        frame   160
        aghi    %r15, -192
        .cfi_def_cfa_offset 512
        brasl   %r14, leaf
        lgrl    %r1, next
        lgrl    %r15, saved
        .cfi_def_cfa_offset 320
        br      %r1
        no_frame
        end     compiled

        .macro  adopts name, cfa
        function \name
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        larl    %r1, 1f
        stgrl   %r1, next
        brasl   %r14, lend
1:      .cfi_def_cfa_offset \cfa
        brasl   %r14, leaf
        lmg     %r11, %r15, 248(%r11)
        .cfi_restore %r11
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_def_cfa %r15, 160
        br      %r14
        end     \name
        .endm

        adopts  adopt, 320
        adopts  adopt_wrong, 328

        function lend
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        brasl   %r14, leaf
        stgrl   %r15, saved
        lgrl    %r1, next
        lgrl    %r15, saved
        br      %r1
        no_frame
        end     lend

        function leaf
        nopr
        br      %r14
        end     leaf

#endif

        .section .note.GNU-stack, "", %progbits
