/* Code that a kernel replaces when it starts, with other instructions of the same length: rows describe both.  */

#define ONLY_MACROS
#include "frames.h"

#if defined(__x86_64__)
        .macro  place
        .byte   0x0f, 0x1f, 0x44, 0x00, 0x00
        .endm
        .macro  moves_sp
        pushq   %rax
        popq    %rax
        .endm
        .macro  calls
        call    helper
        .endm
        .macro  sets
        xorl    %ecx, %ecx
        .endm
        .macro  facts len, alternative_len
        .word   0, 0
        .byte   \len, \alternative_len
        .endm
#elif defined(__aarch64__)
        .macro  place
        nop
        nop
        .endm
        .macro  moves_sp
        sub     sp, sp, #16
        add     sp, sp, #16
        .endm
        .macro  calls
        bl      helper
        nop
        .endm
        .macro  sets
        mov     x1, #1
        nop
        .endm
        .macro  facts len, alternative_len
        .hword  0
        .byte   \len, \alternative_len
        .endm
#elif defined(__s390x__)
        .macro  place
        brcl    0, 0
        nopr
        .endm
        .macro  moves_sp
        aghi    %r15, -8
        aghi    %r15, 8
        .endm
        /* What an alternative names has to be right at its place: none here names anything.  */
        .macro  calls
        lghi    %r2, 2
        nopr
        nopr
        .endm
        .macro  sets
        lghi    %r1, 1
        nopr
        nopr
        .endm
        .macro  facts len, alternative_len
        .long   0
        .byte   \len
        .endm
#endif

        /* One alternative of the last place.  */
        .macro  alternative insn
        .pushsection .altinstr_replacement, "ax", %progbits
663:    \insn
664:
        .popsection
        .pushsection .altinstructions, "a", %progbits
        .long   661b - .
        .long   663b - .
        facts   (662b - 661b), (664b - 663b)
        .popsection
        .endm

        .section .modinfo, "a", %progbits
        .asciz  "license=GPL"

        .text
        function helper
        zero
        returns
        end     helper

        function is_right
        frame
661:    place
662:
        alternative calls
        end_frame
        returns
        end     is_right

        function is_wrong_with_alternative
        frame
661:    place
662:    alternative moves_sp
        end_frame
        returns
        end     is_wrong_with_alternative

        function is_wrong_with_second_alternative
        frame
661:    place
662:
        alternative sets
        alternative moves_sp
        end_frame
        returns
        end     is_wrong_with_second_alternative

        .section .note.GNU-stack, "", %progbits
