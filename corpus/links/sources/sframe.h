/* Sections of .sframe that assemblers do not write: see the specification, 2.1 (header) and 2.3 (FDEs).

     sframe_section            begins the section
     sframe_header FLAGS, FDES, FRES, FRE_BYTES, FRE_AT, AUX=0, RA=...   a header of the version that is compiled for  */

#if defined(__x86_64__)
        .set    own_abi, 3
        .set    own_ra, -8
#elif defined(__aarch64__) && defined(__AARCH64EB__)
        .set    own_abi, 1
        .set    own_ra, 0
#elif defined(__aarch64__)
        .set    own_abi, 2
        .set    own_ra, 0
#elif defined(__s390x__)
        .set    own_abi, 4
        .set    own_ra, 0
#endif

        .macro  sframe_section
#if SFRAME_VERSION == 0
        .section .unused, "", %progbits
#elif SFRAME_VERSION == 3
        .section .sframe, "a", %0x6ffffff4
#else
        .section .sframe, "a", %progbits
#endif
        .endm

        .macro  sframe_header flags, fdes, fres, bytes, at, aux=0, ra=own_ra
        .2byte  0xdee2
        .byte   SFRAME_VERSION, \flags, own_abi, 0, \ra, \aux
        .4byte  \fdes, \fres, \bytes, 0, \at
        .endm
