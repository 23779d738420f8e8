#include "functions.h"
        function_of 1, many_1, many_1_inner
        static  2, many_1_inner
