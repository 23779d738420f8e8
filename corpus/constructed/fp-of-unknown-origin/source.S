/* Functions of which FP is right, and a run does not show whether it was saved or is equal by chance: a word of
   the program's data is, which main has made equal to FP. On s390x, other functions save and restore FP by an
   instruction that executes another one.  */

#include "runtime/assembly.h"

        .data
        .balign 8
equal:  .8byte  0x230

        .text

        .set    value, 0x230

#if defined(__x86_64__)

        function in_slot
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        movq    equal, %rax
        movq    %rax, 8(%rsp)
        .cfi_offset %rbp, -24
        nop
        addq    $24, %rsp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        end     in_slot

        function in_register
        movq    equal, %rbp
        nop
        ret
        end     in_register

        /* The constant is equal to FP, and the function that has put it there is another one. */
        function jumps_to_part
        movl    $value, %ebp
        jmp     part
        end     jumps_to_part

        function part
        nop
        ret
        end     part

        /* What was saved is known: also by way of another register. */
        function saved
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    $5, %ebp
        movq    (%rsp), %rax
        movq    %rax, %rbp
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
        end     saved

        function main
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movl    $value, %ebp
        call    in_slot
        call    in_register
        call    jumps_to_part
        call    saved
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        xorl    %eax, %eax
        ret
        end     main

#elif defined(__aarch64__)

        function in_slot
        sub     sp, sp, #16
        .cfi_def_cfa_offset 16
        adrp    x9, equal
        ldr     x9, [x9, :lo12:equal]
        stp     x9, x30, [sp]
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        nop
        add     sp, sp, #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     in_slot

        function in_register
        adrp    x9, equal
        ldr     x29, [x9, :lo12:equal]
        nop
        ret
        end     in_register

        /* The constant is equal to FP, and the function that has put it there is another one. */
        function jumps_to_part
        mov     x29, #value
        b       part
        end     jumps_to_part

        function part
        nop
        ret
        end     part

        /* What was saved is known: also by way of another register. */
        function saved
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, #5
        ldp     x10, x30, [sp]
        mov     x29, x10
        add     sp, sp, #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        end     saved

        function main
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, #value
        bl      in_slot
        bl      in_register
        bl      jumps_to_part
        bl      saved
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        mov     x0, #0
        ret
        end     main

#elif defined(__s390x__)

        .machine z14

        /* What exrl executes: whole, and with the register that its first operand gives. */
saves:  stg     %r11, 160(%r15)
loads:  lg      %r11, 160(%r15)
any:    stg     %r0, 160(%r15)

        function in_slot
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        lgrl    %r1, equal
        stg     %r1, 160(%r15)
        .cfi_offset %r11, -192
        lghi    %r1, 0
        aghi    %r15, 192
        .cfi_restore %r11
        .cfi_def_cfa_offset 160
        br      %r14
        end     in_slot

        function in_register
        lgrl    %r11, equal
        lghi    %r1, 0
        br      %r14
        end     in_register

        /* The constant is equal to FP, and the function that has put it there is another one. */
        function jumps_to_part
        lghi    %r11, value
        jg      part
        end     jumps_to_part

        function part
        lghi    %r1, 0
        br      %r14
        end     part

        /* What was saved is known: also by way of another register. */
        function saved
        stmg    %r10, %r11, 80(%r15)
        .cfi_offset %r11, -72
        lghi    %r11, 5
        lg      %r1, 88(%r15)
        lgr     %r11, %r1
        .cfi_restore %r11
        lmg     %r10, %r11, 80(%r15)
        br      %r14
        end     saved

        function executed
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        exrl    %r0, saves
        .cfi_offset %r11, -192
        lghi    %r11, 5
        exrl    %r0, loads
        .cfi_restore %r11
        lghi    %r1, 0
        aghi    %r15, 192
        .cfi_def_cfa_offset 160
        br      %r14
        end     executed

        function executed_with_register
        aghi    %r15, -192
        .cfi_def_cfa_offset 352
        lghi    %r1, 0xb0
        exrl    %r1, any
        .cfi_offset %r11, -192
        lghi    %r11, 5
        lg      %r11, 160(%r15)
        .cfi_restore %r11
        lghi    %r1, 0
        aghi    %r15, 192
        .cfi_def_cfa_offset 160
        br      %r14
        end     executed_with_register

        /* It leaves FP alone, and nothing is doubtful. */
        function executes_another
        exrl    %r0, copies
        lghi    %r1, 0
        br      %r14
        end     executes_another
copies: mvc     160(8,%r15), 160(%r15)

        function main
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -176
        .cfi_def_cfa_offset 336
        lghi    %r11, value
        brasl   %r14, in_slot
        brasl   %r14, in_register
        brasl   %r14, jumps_to_part
        brasl   %r14, saved
        brasl   %r14, executed
        brasl   %r14, executed_with_register
        brasl   %r14, executes_another
        lghi    %r2, 0
        lmg     %r11, %r15, 264(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        br      %r14
        end     main

#endif

        .section .note.GNU-stack, "", %progbits
