/* Where a signal handler returns to: ends the signal by rt_sigreturn.  Its frame
   is the one that the kernel built, and its caller is what was interrupted:

            SP points to     the interrupted SP, PC and FP
    amd64   the ucontext     *(SP+160), *(SP+168), *(SP+120)
    aarch64 the siginfo      *(SP+560), *(SP+568), *(SP+544)
    s390x   a save area      SP+1320, *(SP+344), *(SP+440)

   The assembler has no call frame instructions that become such rules, so the
   function has none, and the section's part for it is written here.  There is
   none of it for assemblers that write a version without flexible FDEs and
   signal frames.

   On s390x the CFA is the interrupted SP and 160 bytes, and no rule adds after
   it has loaded.  So the rule is for frames on the stack that was interrupted,
   in the size that a kernel with vector registers gives them.  On another stack
   (-DALTERNATE_STACK) nothing would be right.  */

        .file   "bench_restorer.S"

#if defined(__s390x__) && defined(ALTERNATE_STACK)
        .set    describable, 0
#else
        .set    describable, .gasversion. >= 24600
#endif

        .text

        /* A handler's caller is looked up one byte before its return address.  */
        .type   bench_restorer.nop, %function
bench_restorer.nop:
#if defined(__s390x__)
        nopr    %r0
#else
        nop
#endif

        .size   bench_restorer.nop, . - bench_restorer.nop

        .globl  bench_restorer
        .hidden bench_restorer
        .type   bench_restorer, %function
bench_restorer:
#if defined(__x86_64__)
        movl    $15, %eax
        syscall
#elif defined(__aarch64__)
        mov     x8, #139
        svc     #0
#elif defined(__s390x__)
        svc     173
#endif
.Lend:
        .size   bench_restorer, . - bench_restorer

        .if     describable
        .section .sframe, "a", %0x6ffffff4
        .balign 8
        .2byte  0xdee2
        .byte   3                       /* version */
        .byte   4                       /* SFRAME_F_FDE_FUNC_START_PCREL */
#if defined(__x86_64__)
        .byte   3, 0, -8                /* ABI, fixed offsets of FP and RA */
#elif defined(__AARCH64EB__)
        .byte   1, 0, 0
#elif defined(__aarch64__)
        .byte   2, 0, 0
#elif defined(__s390x__)
        .byte   4, 0, 0
#endif
        .byte   0                       /* length of an auxiliary header */
        .4byte  1                       /* FDEs */
        .4byte  1                       /* FREs */
        .4byte  .Lfres_end - .Lfres
        .4byte  0                       /* where FDEs start, after the header */
        .4byte  .Lfres - .Lfdes
.Lfdes:
        .8byte  bench_restorer.nop - .
        .4byte  .Lend - bench_restorer.nop
        .4byte  0                       /* where its FREs start, after .Lfres */
.Lfres:
        .2byte  1                       /* FREs */
        .byte   0x80                    /* signal frame; FREs of type ADDR1 */
        .byte   1                       /* SFRAME_FDE_TYPE_FLEX */
        .byte   0                       /* repetition size */
        .byte   0                       /* start of the row */
        .byte   6 << 1 | 1 << 5         /* 6 data words of 2 bytes */
        /* Control words: DWARF register << 3, dereference, register.  */
#if defined(__x86_64__)
        .2byte  7 << 3 | 2 | 1, 160     /* CFA = *(SP+160) */
        .2byte  7 << 3 | 2 | 1, 168     /* RA = *(SP+168) */
        .2byte  7 << 3 | 2 | 1, 120     /* FP = *(SP+120) */
#elif defined(__aarch64__)
        .2byte  31 << 3 | 2 | 1, 560
        .2byte  31 << 3 | 2 | 1, 568
        .2byte  31 << 3 | 2 | 1, 544
#elif defined(__s390x__)
        .2byte  15 << 3 | 1, 1320 / 8   /* CFA = SP+1480, adjusted and scaled */
        .2byte  15 << 3 | 2 | 1, 344
        .2byte  15 << 3 | 2 | 1, 440
#endif
.Lfres_end:
        .endif

        .section .note.GNU-stack, "", %progbits
