/* A function with a section written by hand: one FDE, one row.

     handmade NAME, FLAGS, AUX=0, RA=..., DEPTH=0, MASK=0
         AUX bytes of auxiliary header; RA the fixed offset of the return address, which is DEPTH words above SP; MASK is 1 for
         rows that are repeated for each block, of which there is one  */

#define ONLY_MACROS
#include "frames.h"
#include "sframe.h"

        .macro  handmade name, flags, aux=0, ra=own_ra, depth=0, mask=0
        .text
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        nop
        returns
end_of_\name:
        .size   \name, . - \name
#if SFRAME_VERSION >= 2
        sframe_section
        sframe_header \flags, 1, 1, 3 + attribute_bytes, fde_bytes, \aux, \ra
        .fill   \aux, 1, 0x5a
#if SFRAME_VERSION == 3
        .set    fde_bytes, 16
        .set    attribute_bytes, 5
        .8byte  \name - .
        .4byte  end_of_\name - \name, 0
        .2byte  1
        .byte   \mask << 4, 0, \mask * (end_of_\name - \name)
#else
        .set    fde_bytes, 20
        .set    attribute_bytes, 0
        .4byte  \name - .
        .4byte  end_of_\name - \name, 0, 1
        .byte   \mask << 4, \mask * (end_of_\name - \name), 0, 0
#endif
#if defined(__x86_64__)
        .byte   0, 3, 8 + 8 * \depth
#else
        .byte   0, 3, 0
#endif
#endif
        .endm
