#include "functions.h"
        function_of 4, many_4, many_4_inner
        static  5, many_4_inner
