/* Call frame information that leads on for ever: a function is said to have been called from itself, with a register that
   is another one in each frame.  */

#include "frames.h"

        .text
        function endless
        .cfi_escape 0x0f, 2, 0x78, 0                    /* CFA = r8 */
        .cfi_escape 0x16, 8, 2, 0x78, 8                 /* r8 = r8 + 8 */
        .cfi_escape 0x16, 16, 2, 0x79, 0                /* RA = r9 */
        .rept   100
        nop
        .endr
        returns
        end     endless

        function main
        frame
        leaq    endless+4(%rip), %r9
        call_of endless
        zero
        end_frame
        returns
        end     main
