/* Functions side by side, where the next one's rules are other ones:

     empty_function   no instruction, and rules all the same
     behind_empty     starts where that one does
     stops_here       ends in a call that does not come back; behind it follows
     cold_part        of hot_part, which starts with a frame
     gives_up         returns in place of stops_here
     far_part         of hot_part too, in another section
     first_entry      has a second one in the middle
     without_fde      lies between two others, and calls
     zero_rows        a row that covers no instruction, before one that does
     equal_rows       rows that say the same as those before them  */

        .file   "adjacent_functions.S"

#include "runtime/assembly.h"

        .hidden leaf

        /* A symbol of it would be another name of the function behind it.  */
        .macro  empty_function offset
        .cfi_startproc
        .cfi_def_cfa_offset \offset
        .cfi_endproc
        .endm

        .macro  part name
        .type   \name, %function
\name:
        .cfi_startproc
        .endm

        .text

#if defined(__x86_64__)

        empty_function 64

        function behind_empty
        leal    1(%rdi), %eax
        ret
        end     behind_empty

        function stops_here
        subq    $56, %rsp
        .cfi_def_cfa_offset 64
        call    gives_up
        end     stops_here

        part    cold_part
        .cfi_def_cfa_offset 32
        .cfi_offset %rbp, -16
        call    leaf
        addl    $100, %eax
        jmp     hot_part.join
        end     cold_part

        function hot_part
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    %edi, %ebp
        subq    $16, %rsp
        .cfi_def_cfa_offset 32
        testl   $1, %edi
        jnz     cold_part
        testl   $2, %edi
        jnz     far_part
        call    leaf
hot_part.join:
        addl    %ebp, %eax
        addq    $16, %rsp
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     hot_part

        /* Past its caller's frame, whose CFA then is at SP + 8 too.  */
        function gives_up
        leal    1(%rdi), %eax
        addq    $64, %rsp
        ret
        end     gives_up

        .section .text.unlikely, "ax", %progbits
        part    far_part
        .cfi_def_cfa_offset 32
        .cfi_offset %rbp, -16
        pushq   %rbp
        .cfi_def_cfa_offset 40
        call    leaf
        addl    $200, %eax
        popq    %rdx
        .cfi_def_cfa_offset 32
        jmp     hot_part.join
        end     far_part
        .text

        function first_entry
        leal    3(%rdi), %edi
        .globl  second_entry
        .hidden second_entry
        .type   second_entry, %function
second_entry:
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        call    leaf
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .size   second_entry, . - second_entry
        end     first_entry

        .globl  without_fde
        .hidden without_fde
        .type   without_fde, %function
without_fde:
        pushq   %rbx
        movl    %edi, %ebx
        call    leaf
        addl    %ebx, %eax
        popq    %rbx
        ret
        end_uncovered without_fde

        function zero_rows
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    %edi, %ebp
        call    leaf
        .p2align 3, 0x90
        .cfi_def_cfa_offset 1024
        .cfi_offset %rbp, -512
        .p2align 3, 0x90
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        addl    %ebp, %eax
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     zero_rows

        function equal_rows
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    %edi, %ebp
        .cfi_def_cfa_offset 16
        call    leaf
        .cfi_offset %rbp, -16
        addl    %ebp, %eax
        .cfi_adjust_cfa_offset 0
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        nop
        .cfi_def_cfa %rsp, 8
        ret
        end     equal_rows

#elif defined(__aarch64__)

        empty_function 64

        function behind_empty
        add     w0, w0, #1
        ret
        end     behind_empty

        function stops_here
        stp     x29, x30, [sp, #-64]!
        .cfi_def_cfa_offset 64
        .cfi_offset x29, -64
        .cfi_offset x30, -56
        bl      gives_up
        end     stops_here

        part    cold_part
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      leaf
        add     w0, w0, #100
        b       hot_part.join
        end     cold_part

        function hot_part
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     w29, w0
        tbnz    w0, #0, cold_part
        tbz     w0, #1, 1f
        b       far_part
1:      bl      leaf
hot_part.join:
        add     w0, w0, w29
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     hot_part

        /* Takes down its caller's frame, and then is where that was.  */
        function gives_up
        add     w0, w0, #1
        ldp     x29, x30, [sp], #64
        ret
        end     gives_up

        .section .text.unlikely, "ax", %progbits
        part    far_part
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        sub     sp, sp, #16
        .cfi_def_cfa_offset 48
        bl      leaf
        add     w0, w0, #200
        add     sp, sp, #16
        .cfi_def_cfa_offset 32
        b       hot_part.join
        end     far_part
        .text

        function first_entry
        add     w0, w0, #3
        .globl  second_entry
        .hidden second_entry
        .type   second_entry, %function
second_entry:
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        bl      leaf
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .size   second_entry, . - second_entry
        end     first_entry

        .globl  without_fde
        .hidden without_fde
        .type   without_fde, %function
without_fde:
        stp     x19, x30, [sp, #-16]!
        mov     w19, w0
        bl      leaf
        add     w0, w0, w19
        ldp     x19, x30, [sp], #16
        ret
        end_uncovered without_fde

        function zero_rows
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     w29, w0
        bl      leaf
        .p2align 3
        .cfi_def_cfa_offset 1024
        .cfi_offset x29, -512
        .p2align 3
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        add     w0, w0, w29
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     zero_rows

        function equal_rows
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     w29, w0
        .cfi_def_cfa_offset 16
        bl      leaf
        .cfi_offset x29, -16
        add     w0, w0, w29
        .cfi_adjust_cfa_offset 0
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        nop
        .cfi_def_cfa sp, 0
        ret
        end     equal_rows

#elif defined(__s390x__)

        .macro  open_frame size
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -\size
        .cfi_def_cfa_offset 160 + \size
        .endm

        .macro  has_frame size
        .cfi_def_cfa_offset 160 + \size
        .cfi_offset %r11, -72
        .cfi_offset %r12, -64
        .cfi_offset %r13, -56
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        .endm

        .macro  close_frame size
        lmg     %r11, %r15, 88 + \size(%r15)
        .cfi_restore %r11
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        .endm

        empty_function 640

        function behind_empty
        ahi     %r2, 1
        br      %r14
        end     behind_empty

        function stops_here
        open_frame 224
        brasl   %r14, gives_up
        end     stops_here

        part    cold_part
        has_frame 160
        brasl   %r14, leaf
        ahi     %r2, 100
        jg      hot_part.join
        end     cold_part

        function hot_part
        open_frame 160
        lr      %r11, %r2
        tmll    %r2, 1
        jgne    cold_part
        tmll    %r2, 2
        jgne    far_part
        brasl   %r14, leaf
hot_part.join:
        ar      %r2, %r11
        close_frame 160
        br      %r14
        end     hot_part

        /* Takes down its caller's frame, and then is where that was.  */
        function gives_up
        ahi     %r2, 1
        lmg     %r11, %r15, 312(%r15)
        br      %r14
        end     gives_up

        .section .text.unlikely, "ax", %progbits
        part    far_part
        has_frame 160
        aghi    %r15, -16
        .cfi_def_cfa_offset 336
        brasl   %r14, leaf
        ahi     %r2, 200
        aghi    %r15, 16
        .cfi_def_cfa_offset 320
        jg      hot_part.join
        end     far_part
        .text

        function first_entry
        ahi     %r2, 3
        .globl  second_entry
        .hidden second_entry
        .type   second_entry, %function
        .p2align 1
second_entry:
        open_frame 168
        brasl   %r14, leaf
        close_frame 168
        br      %r14
        .size   second_entry, . - second_entry
        end     first_entry

        .globl  without_fde
        .hidden without_fde
        .type   without_fde, %function
without_fde:
        stmg    %r12, %r15, 96(%r15)
        aghi    %r15, -160
        lr      %r12, %r2
        brasl   %r14, leaf
        ar      %r2, %r12
        lmg     %r12, %r15, 256(%r15)
        br      %r14
        end_uncovered without_fde

        function zero_rows
        open_frame 160
        lr      %r11, %r2
        brasl   %r14, leaf
        .p2align 3
        .cfi_def_cfa_offset 1024
        .cfi_offset %r11, -512
        .p2align 3
        .cfi_def_cfa_offset 320
        .cfi_offset %r11, -72
        ar      %r2, %r11
        close_frame 160
        br      %r14
        end     zero_rows

        function equal_rows
        open_frame 160
        lr      %r11, %r2
        .cfi_def_cfa_offset 320
        brasl   %r14, leaf
        .cfi_offset %r11, -72
        ar      %r2, %r11
        .cfi_adjust_cfa_offset 0
        close_frame 160
        nopr    %r0
        .cfi_def_cfa %r15, 160
        br      %r14
        end     equal_rows

#endif

        .section .note.GNU-stack, "", %progbits
