/* What only a kernel executes: it goes on behind most such instructions, and returns elsewhere by others.  */

#define ONLY_MACROS
#include "frames.h"

#if defined(__x86_64__)
        .macro  privileged
        cli
        movq    %cr3, %rax
        movq    %rax, %cr3
        wrmsr
        swapgs
        sti
        .endm
        .macro  returns_from_exception
        iretq
        .endm
        .macro  branches to
        testl   %edi, %edi
        jne     \to
        .endm
        .macro  switches_stack
        movq    %gs:0x10, %rsp
        .endm
#elif defined(__aarch64__)
        .macro  privileged
        msr     daifset, #2
        mrs     x0, ttbr0_el1
        msr     ttbr0_el1, x0
        tlbi    vmalle1
        dc      ivac, x1
        mrs     x2, sp_el0
        msr     daifclr, #2
        .endm
        .macro  returns_from_exception
        eret
        .endm
        .macro  branches to
        cbnz    w0, \to
        .endm
        .macro  switches_stack
        mrs     x0, tpidr_el1
        ldr     x0, [x0, #16]
        mov     sp, x0
        .endm
#elif defined(__s390x__)
        .macro  privileged
        stnsm   8(%r2), 0xfc
        stctg   %c1, %c1, 8(%r2)
        lctlg   %c1, %c1, 8(%r2)
        ptlb
        ssm     8(%r2)
        .endm
        .macro  returns_from_exception
        lpswe   8(%r2)
        .endm
        .macro  branches to
        ltgr    %r2, %r2
        jne     \to
        .endm
        .macro  switches_stack
        lg      %r15, 0x350
        .endm
#endif

        .section .modinfo, "a", %progbits
        .asciz  "license=GPL"

        .text
        function helper
        zero
        returns
        end     helper

        .macro  executes form
        function executes_\form
        frame
        privileged
        off     8
        call_of helper
        off     -8
        end_frame
        returns
        end     executes_\form
        .endm

        executes right

        /* Nothing calls it: whatever its rows say, no caller's frame can confirm.  */
        function enters
        frame
        off     8
        privileged
        end_frame
        returns_from_exception
        nop
        end     enters

        /* What runs on another stack is not judged.  */
        function switches
        frame
        switches_stack
        call_of helper
        end_frame
        returns
        end     switches

        .set    wrong, 1
        executes wrong

        function enters_wrong
        frame
        off     8
        privileged
        end_frame
        returns_from_exception
        end     enters_wrong

        /* What also returns to its caller has one.  */
        function returns_both_ways
        frame
        off     8
        call_of helper
        off     -8
        branches 1f
        .cfi_remember_state
        end_frame
        returns
        .cfi_restore_state
1:      end_frame
        returns_from_exception
        end     returns_both_ways

        .section .note.GNU-stack, "", %progbits
