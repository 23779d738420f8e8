/* Functions in sections that a script puts into several output sections.  */
#include "functions.h"
        main_of init_1, hot_1, cold_1
        .section .text.cold, "ax", %progbits
        function_of 3, cold_1
        .section .text.hot, "ax", %progbits
        function_of 2, hot_1
        .section .init.text, "ax", %progbits
        function_of 1, init_1
        .section .text.dead, "ax", %progbits
        function_of 4, dead_1, dead_2
        static  5, dead_2
