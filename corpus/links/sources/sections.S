/* Each function in a section of its own: some that nothing refers to.  */
#include "functions.h"
        main_of live_1, live_2
        .section .text.dead_first, "ax", %progbits
        function_of 5, dead_first
        .section .text.live_1, "ax", %progbits
        function_of 1, live_1, live_inner
        .section .text.dead_middle, "ax", %progbits
        function_of 6, dead_middle, dead_first
        .section .text.live_2, "ax", %progbits
        function_of 2, live_2
        .section .text.live_inner, "ax", %progbits
        static  3, live_inner
        .section .text.dead_last, "ax", %progbits
        function_of 7, dead_last
