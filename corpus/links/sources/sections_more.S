/* An object of which nothing is live.  */
#include "functions.h"
        .section .text.dead_other, "ax", %progbits
        function_of 2, dead_other, dead_beside
        .section .text.dead_beside, "ax", %progbits
        function_of 4, dead_beside
