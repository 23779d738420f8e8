#include "functions.h"
        function_of 6, many_6, many_6_inner
        static  7, many_6_inner
