#include "functions.h"
        main_of of_1, of_2, of_3
