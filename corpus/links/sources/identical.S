/* Functions with the same code and the same rows.  */
#include "functions.h"
        main_of same_1, same_2, same_3, different
        .section .text.same_1, "ax", %progbits
        function_of 2, same_1
        .section .text.same_2, "ax", %progbits
        function_of 2, same_2
        .section .text.different, "ax", %progbits
        function_of 3, different
        .section .text.same_3, "ax", %progbits
        function_of 2, same_3
