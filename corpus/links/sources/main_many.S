#include "functions.h"
        main_of many_3, many_1, many_6, many_2, many_5, many_4
