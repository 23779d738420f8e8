/* The entry point of every program: _start calls main(argc, argv, envp) and
   ends the process with the value main returns.

   Every instruction has exact call frame information.  Where the assembler
   can mark a frame as outermost in SFrame (binutils 2.46 and later) the return
   address is declared undefined; where it cannot, _start looks like an ordinary
   function whose return address leads nowhere.  */

        /* Without it the linker names the symbols' file after a temporary one.  */
        .file   "start.S"

        .set    marks_outermost, .gasversion. >= 24600

        .text
        .globl  _start
        .hidden main
        .type   _start, %function

#if defined(__x86_64__)

_start:
        .cfi_startproc
        .if     marks_outermost
        .cfi_undefined %rip
        .endif
#if defined(__PIC__) && !defined(DYNAMIC)
        call    runtime_relocate
#endif
        movq    (%rsp), %rdi            /* argc */
        leaq    8(%rsp), %rsi           /* argv */
        leaq    8(%rsi,%rdi,8), %rdx    /* envp */
        call    main
        movl    %eax, %edi
        movl    $231, %eax              /* exit_group */
        syscall
        ud2
        .cfi_endproc

#elif defined(__aarch64__)

        /* The link register says nothing useful after the first call, so the
           return address is kept in a frame record from the start.  */
_start:
        .cfi_startproc
        .if     marks_outermost
        .cfi_undefined x30
        .endif
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .if     !marks_outermost
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        .endif
#if defined(__PIC__) && !defined(DYNAMIC)
        bl      runtime_relocate
#endif
        ldr     x0, [sp, #16]           /* argc */
        add     x1, sp, #24             /* argv */
        add     x2, x1, x0, lsl #3
        add     x2, x2, #8              /* envp */
        bl      main
        mov     x8, #94                 /* exit_group */
        svc     #0
        brk     #1
        .cfi_endproc

#elif defined(__s390x__)

_start:
        .cfi_startproc
        .if     marks_outermost
        .cfi_undefined %r14
        .endif
        aghi    %r15, -160              /* the callee's register save area */
        .cfi_adjust_cfa_offset 160
#if defined(__PIC__) && !defined(DYNAMIC)
        brasl   %r14, runtime_relocate
#endif
        lg      %r2, 160(%r15)          /* argc */
        la      %r3, 168(%r15)          /* argv */
        sllg    %r4, %r2, 3
        la      %r4, 8(%r4,%r3)         /* envp */
        brasl   %r14, main
        lgfr    %r2, %r2
        svc     248                     /* exit_group */
        j       .+2
        .cfi_endproc

#else
#error "no entry point for this architecture"
#endif

        .size   _start, . - _start

        .section .note.GNU-stack, "", %progbits
