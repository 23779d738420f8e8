#include "functions.h"
        function_of 3, many_3, many_3_inner
        static  4, many_3_inner
