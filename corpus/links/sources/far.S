/* Functions in sections that a script puts gigabytes apart. No call crosses.  */
#include "functions.h"
        main_of near
        function_of 1, near
        .section .text.far, "ax", %progbits
        function_of 2, far, far_inner
        static  3, far_inner
