/* What Clang and its assembler lack.  Every source of such a toolchain is
   compiled behind this file.  */

#ifdef __ASSEMBLER__
        /* No version of the GNU assembler.  */
        .set    .gasversion., 0
#else
/* The nearest that there is: functions of which not all callers are known.  */
#define noipa noinline, used
#endif
