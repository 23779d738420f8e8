/* The same words for all ABIs, for programs that are right and wrong in the same way on each.

     frame N          makes a frame with FP saved, and with N more bytes than that takes
     end_frame N      removes it
     rules_of_frame   the rules of a frame made by `frame`, for code that has none of its own
     call_of F        calls F; goto F jumps there
     returns          returns to the caller
     zero             makes the result 0
     off N            where `wrong` is 1: the CFA is N too large from here on; 0 otherwise

   With ONLY_MACROS defined, there is nothing but macros.

   A program defines a macro for its functions, and uses it with `.set wrong, 0` and then with `.set wrong, 1`.  */

#include "runtime/assembly.h"

        .set    wrong, 0

        .macro  off bytes
        .cfi_adjust_cfa_offset \bytes * wrong
        .endm

#if defined(__x86_64__)

        .macro  frame bytes=8
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        subq    $\bytes, %rsp
        .cfi_adjust_cfa_offset \bytes
        .endm

        .macro  rules_of_frame
        .cfi_def_cfa %rsp, 24
        .cfi_offset %rbp, -16
        .endm

        .macro  end_frame bytes=8
        addq    $\bytes, %rsp
        .cfi_adjust_cfa_offset -(\bytes)
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        .endm

        .macro  returns
        ret
        .endm

        .macro  zero
        xorl    %eax, %eax
        .endm

        .macro  call_of function
        call    \function
        .endm

        .macro  goto label
        jmp     \label
        .endm

#elif defined(__aarch64__)

        .macro  frame bytes=0
        stp     x29, x30, [sp, #-16-\bytes]!
        .cfi_def_cfa_offset 16+\bytes
        .cfi_offset x29, -16-\bytes
        .cfi_offset x30, -8-\bytes
        .endm

        .macro  rules_of_frame
        .cfi_def_cfa sp, 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        .endm

        .macro  end_frame bytes=0
        ldp     x29, x30, [sp], #16+\bytes
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        .endm

        .macro  returns
        ret
        .endm

        .macro  zero
        mov     w0, #0
        .endm

        .macro  call_of function
        bl      \function
        .endm

        .macro  goto label
        b       \label
        .endm

#elif defined(__s390x__)

        .macro  nop
        nopr
        .endm

        .macro  frame bytes=0
        stmg    %r11, %r15, 88(%r15)
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160-\bytes
        .cfi_adjust_cfa_offset 160+\bytes
        .endm

        .macro  rules_of_frame
        .cfi_def_cfa %r15, 320
        .cfi_offset %r11, -72
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        .endm

        .macro  end_frame bytes=0
        lmg     %r11, %r15, 248+\bytes(%r15)
        .cfi_restore %r11
        .cfi_restore %r14
        .cfi_restore %r15
        .cfi_def_cfa_offset 160
        .endm

        .macro  returns
        br      %r14
        .endm

        .macro  zero
        lghi    %r2, 0
        .endm

        .macro  call_of function
        brasl   %r14, \function
        .endm

        .macro  goto label
        jg      \label
        .endm

#endif

#ifndef ONLY_MACROS

        .section .note.GNU-stack, "", %progbits
        .text

        function leaf
        nop
        returns
        end     leaf

        .macro  call_both name
        call_of \name\()_right
        call_of \name\()_wrong
        .endm

        /* `main` calls the functions whose names begin so, right and wrong.  */
        .macro  main_calls names:vararg
        function main
        frame
        .irp    name, \names
        call_both \name
        .endr
        zero
        end_frame
        returns
        end     main
        .endm

#endif
