/* Where a kernel goes on otherwise than its instructions say: at jump labels, which it patches, and after faults.  */

#define ONLY_MACROS
#include "frames.h"

#if defined(__x86_64__)
        .macro  label_off
        .byte   0x0f, 0x1f, 0x44, 0x00, 0x00
        .endm
        .macro  label_on to
        .byte   0xe9
        .long   \to - . - 4
        .endm
        .macro  loads
        movq    (%rdi), %rax
        .endm
        .macro  warns
        ud2
        .endm
#elif defined(__aarch64__)
        .macro  label_off
        nop
        .endm
        .macro  label_on to
        b       \to
        .endm
        .macro  loads
        ldr     x0, [x0]
        .endm
        .macro  warns
        brk     #0x800
        .endm
#elif defined(__s390x__)
        .macro  label_off
        brcl    0, 0
        .endm
        .macro  label_on to
        jg      \to
        .endm
        .macro  loads
        lg      %r2, 0(%r2)
        .endm
        .macro  warns
        mc      0, 0
        .endm
#endif

        .section .modinfo, "a", %progbits
        .asciz  "license=GPL"

        .text
        function helper
        zero
        returns
        end     helper

        .macro  all_forms form
        /* The code out of line runs if the label is on.  */
        function label_\form
        frame
1:      label_off
2:      .cfi_remember_state
        end_frame
        returns
        .cfi_restore_state
3:      off     8
        call_of helper
        off     -8
        goto    2b
        end     label_\form
        .pushsection __jump_table, "aw", %progbits
        .balign 8
        .long   1b - ., 3b - .
        .quad   helper - .
        .popsection

        /* The code in line runs if it is off.  */
        function likely_label_\form
        frame
1:      label_on 3f
        off     8
        call_of helper
        off     -8
3:      end_frame
        returns
        end     likely_label_\form
        .pushsection __jump_table
        .long   1b - ., 3b - .
        .quad   helper - .
        .popsection

        /* The code out of line runs after a fault.  */
        function fault_\form
        frame
1:      loads
2:      .cfi_remember_state
        end_frame
        returns
        .cfi_restore_state
3:      off     8
        call_of helper
        off     -8
        goto    2b
        end     fault_\form
        .pushsection __ex_table, "a", %progbits
        .balign 4
        .long   1b - ., 3b - .
        .long   0
        .popsection

        /* The code behind the trap runs after the warning.  */
        function warning_\form
        frame
1:      warns
        off     8
        call_of helper
        off     -8
        end_frame
        returns
        end     warning_\form
        .pushsection __bug_table, "aw", %progbits
        .balign 4
        .long   1b - ., helper - .
        .hword  1, 1
        .popsection
        .endm

        all_forms right
        .set    wrong, 1
        all_forms wrong

        .section .note.GNU-stack, "", %progbits
