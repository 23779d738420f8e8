/* `f` saves FP, uses FP as a scratch register, reloads it, and reuses the slot as an out parameter (0 = no error).
   Its row stays at FP = *(CFA-16): wrong from the callee's store on. Then `fatal` longjmps to `catches`,
   whose FP is 0 as the start code left it; f never loads FP from that slot again.  */
#include "frames.h"
        .bss
        .balign 8
saved:  .skip   16
        .text

        function get_status
        movq    $0, (%rdi)
        nop
        ret
        end     get_status

        function fatal          /* longjmp */
        nop
        nop
        nop
        leaq    .Llands(%rip), %rax
        movq    saved(%rip), %rsp
        rules_of_frame
        movq    saved+8(%rip), %rbp
        jmp     *%rax
        end     fatal

        function f
        frame   24
        movl    $7, %ebp           /* FP is scratch here, so the rule is right here */
        nop
        movq    24(%rsp), %rbp      /* reloaded: FP is the caller's again; row should say FP unchanged */
        nop
        leaq    24(%rsp), %rdi      /* slot reused */
        call    get_status
        nop
        nop
        call    leaf
        nop
        call    fatal
        ud2
        end     f

        function keeps
        frame
        movl    $0x222, %ebp
        call    f
        nop
        end_frame
        ret
        end     keeps

        function catches
        frame
        movq    %rsp, saved(%rip)
        movq    %rbp, saved+8(%rip)
        call    keeps
        nop
.Llands:
        nop
        call    leaf
        nop
        end_frame
        ret
        end     catches

        function spin
        frame
        movl    $1000, %ecx
1:      decl    %ecx
        jnz     1b
        end_frame
        ret
        end     spin

        function main
        frame
        xorl    %ebp, %ebp
        call    spin
        call    catches
        xorl    %eax, %eax
        end_frame
        ret
        end     main
