/* Jumps by return instructions, to addresses that no call left behind:

     leaf_return            one of four labels, in a function without a frame
     frame_return           a label in a loop, with calls after it
     frame_pointer_return   the same, where the CFA follows FP and SP moves
     call_by_thunk          calls a function by way of a thunk
     jump_by_thunk          ends with a jump to a function, by the thunk
     switch_by_return       jumps to one of its own labels as the thunk does
     return_by_thunk        returns by a thunk, or by another register

   The thunks of amd64 are those that keep the processor from predicting a
   branch: a call to a label, where the return address is overwritten or dropped.
   Nobody returns from that call, so it makes no frame: it only pushes a word.  */

        .file   "computed_return.S"

#include "runtime/assembly.h"

        .hidden leaf

        /* Offsets of the labels 1 to 4 of the function before.  */
        .macro  table name
        .section .rodata
        .p2align 2
\name:
        .long   1b - \name
        .long   2b - \name
        .long   3b - \name
        .long   4b - \name
        .text
        .endm

        .text

#if defined(__x86_64__)

        function leaf_return
        movl    %edi, %eax
        movl    %edi, %ecx
        andl    $3, %ecx
        leaq    leaf_table(%rip), %rdx
        movslq  (%rdx,%rcx,4), %rcx
        addq    %rdx, %rcx
        pushq   %rcx
        .cfi_def_cfa_offset 16
        ret
        .cfi_def_cfa_offset 8
1:      addl    $3, %eax
2:      addl    $5, %eax
3:      addl    $7, %eax
4:      addl    $9, %eax
        ret
        end     leaf_return
        table   leaf_table

        function frame_return
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl    %edi, %ebx
        andl    $3, %ebx
        movl    %edi, %eax
1:      leaq    2f(%rip), %rdx
        pushq   %rdx
        .cfi_def_cfa_offset 24
        ret
        .cfi_def_cfa_offset 16
        ud2
2:      movl    %eax, %edi
        call    leaf
        subl    $1, %ebx
        jns     1b
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     frame_return

        /* The return takes two words off the stack, beside its address.  */
        function frame_pointer_return
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rbx
        .cfi_offset %rbx, -24
        subq    $8, %rsp
        movl    %edi, %ebx
        andl    $3, %ebx
        movl    %edi, %eax
1:      subq    $48, %rsp
        leaq    2f(%rip), %rdx
        pushq   %rdx
        ret     $16
        ud2
2:      movl    %eax, %edi
        call    leaf
        subl    $1, %ebx
        jns     1b
        movq    -8(%rbp), %rbx
        .cfi_restore %rbx
        leave
        .cfi_restore %rbp
        .cfi_def_cfa %rsp, 8
        ret
        end     frame_pointer_return

        /* Jumps to RAX.  */
        function thunk
        call    2f
1:      pause
        lfence
        jmp     1b
2:      .cfi_def_cfa_offset 16
        movq    %rax, (%rsp)
        ret
        end     thunk

        /* Returns.  */
        function return_thunk
        call    2f
1:      int3
        jmp     1b
2:      .cfi_def_cfa_offset 16
        leaq    8(%rsp), %rsp
        .cfi_def_cfa_offset 8
        ret
        end     return_thunk

        function call_by_thunk
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
        movq    %rdi, %rax
        movl    %esi, %edi
        call    thunk
        addl    $1, %eax
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        end     call_by_thunk

        function jump_by_thunk
        movq    %rdi, %rax
        movl    %esi, %edi
        jmp     thunk
        end     jump_by_thunk

        function switch_by_return
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movl    %edi, %ebx
        movl    %edi, %ecx
        andl    $3, %ecx
        leaq    switch_table(%rip), %rdx
        movslq  (%rdx,%rcx,4), %rax
        addq    %rdx, %rax
        call    6f
5:      pause
        lfence
        jmp     5b
6:      .cfi_def_cfa_offset 24
        movq    %rax, (%rsp)
        ret
        .cfi_def_cfa_offset 16
1:      addl    $3, %ebx
2:      addl    $5, %ebx
3:      addl    $7, %ebx
4:      movl    %ebx, %edi
        call    leaf
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 8
        ret
        end     switch_by_return
        table   switch_table

        function return_by_thunk
        leal    11(%rdi), %eax
        jmp     return_thunk
        end     return_by_thunk

#elif defined(__aarch64__)

        function leaf_return
        and     w9, w0, #3
        adrp    x10, leaf_table
        add     x10, x10, #:lo12:leaf_table
        ldrsw   x9, [x10, w9, uxtw #2]
        add     x16, x10, x9
        ret     x16
1:      add     w0, w0, #3
2:      add     w0, w0, #5
3:      add     w0, w0, #7
4:      add     w0, w0, #9
        ret
        end     leaf_return
        table   leaf_table

        function frame_return
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        and     w19, w0, #3
1:      adr     x30, 2f
        ret
        brk     #1
2:      bl      leaf
        subs    w19, w19, #1
        b.pl    1b
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     frame_return

        function frame_pointer_return
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        .cfi_def_cfa_register x29
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        and     w19, w0, #3
1:      sub     sp, sp, #32
        adr     x16, 2f
        ret     x16
        brk     #1
2:      bl      leaf
        subs    w19, w19, #1
        b.pl    1b
        ldr     x19, [x29, #16]
        .cfi_restore x19
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     frame_pointer_return

        function thunk
        ret     x16
        end     thunk

        function call_by_thunk
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x16, x0
        mov     w0, w1
        bl      thunk
        add     w0, w0, #1
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     call_by_thunk

        function jump_by_thunk
        mov     x16, x0
        mov     w0, w1
        b       thunk
        end     jump_by_thunk

        function switch_by_return
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        and     w9, w0, #3
        adrp    x10, switch_table
        add     x10, x10, #:lo12:switch_table
        ldrsw   x9, [x10, w9, uxtw #2]
        add     x16, x10, x9
        ret     x16
1:      add     w0, w0, #3
2:      add     w0, w0, #5
3:      add     w0, w0, #7
4:      bl      leaf
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     switch_by_return
        table   switch_table

        function return_by_thunk
        add     w0, w0, #11
        mov     x16, x30
        b       thunk
        end     return_by_thunk

#elif defined(__s390x__)

        function leaf_return
        lghi    %r3, 3
        nr      %r3, %r2
        sllg    %r3, %r3, 2
        larl    %r1, leaf_table
        lgf     %r3, 0(%r3,%r1)
        agr     %r1, %r3
        br      %r1
1:      ahi     %r2, 3
2:      ahi     %r2, 5
3:      ahi     %r2, 7
4:      ahi     %r2, 9
        br      %r14
        end     leaf_return
        table   leaf_table

        function frame_return
        stmg    %r12, %r15, 96(%r15)
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lghi    %r12, 3
        nr      %r12, %r2
1:      larl    %r14, 2f
        br      %r14
        j       .+2
2:      brasl   %r14, leaf
        ahi     %r12, -1
        jnm     1b
        lmg     %r12, %r15, 256(%r15)
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     frame_return

        function frame_pointer_return
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lgr     %r11, %r15
        .cfi_def_cfa_register %r11
        lghi    %r12, 3
        nr      %r12, %r2
1:      aghi    %r15, -32
        larl    %r14, 2f
        br      %r14
        j       .+2
2:      brasl   %r14, leaf
        ahi     %r12, -1
        jnm     1b
        lmg     %r11, %r15, 248(%r11)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa %r15, 160
        br      %r14
        end     frame_pointer_return

        /* Jumps to r1: the branch is executed from elsewhere.  */
        function thunk
        exrl    %r0, 1f
        j       .
1:      br      %r1
        end     thunk

        function call_by_thunk
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lgr     %r1, %r2
        lgr     %r2, %r3
        brasl   %r14, thunk
        ahi     %r2, 1
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     call_by_thunk

        function jump_by_thunk
        lgr     %r1, %r2
        lgr     %r2, %r3
        jg      thunk
        end     jump_by_thunk

        function switch_by_return
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_def_cfa_offset 320
        lghi    %r3, 3
        nr      %r3, %r2
        sllg    %r3, %r3, 2
        larl    %r1, switch_table
        lgf     %r3, 0(%r3,%r1)
        agr     %r1, %r3
        exrl    %r0, 5f
        j       .
5:      br      %r1
1:      ahi     %r2, 3
2:      ahi     %r2, 5
3:      ahi     %r2, 7
4:      brasl   %r14, leaf
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     switch_by_return
        table   switch_table

        function return_by_thunk
        ahi     %r2, 11
        lgr     %r1, %r14
        jg      thunk
        end     return_by_thunk

#endif

        .section .note.GNU-stack, "", %progbits
