/* An FDE whose rows are repeated for each block, which only linkers write, for their tables.  */
#include "handmade.h"
        /* The flags that assemblers write.  */
#if SFRAME_VERSION == 3
        .set    assembler_flags, 0x4
#else
        .set    assembler_flags, 0
#endif
        handmade of_blocks, assembler_flags, 0, own_ra, 0, 1
        .section .note.GNU-stack, "", %progbits
