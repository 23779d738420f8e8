/* An empty function at the start of another: two FDEs with one start.  */
#include "functions.h"
        main_of full, after
        .type   nothing, %function
nothing:
        .cfi_startproc
        .cfi_endproc
        .size   nothing, . - nothing
        function_of 2, full
        function_of 1, after
