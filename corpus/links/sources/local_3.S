#include "functions.h"
        function_of 2, of_3, of_each
        static  4, of_each
