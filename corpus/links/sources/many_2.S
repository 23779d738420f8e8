#include "functions.h"
        function_of 2, many_2, many_2_inner
        static  3, many_2_inner
