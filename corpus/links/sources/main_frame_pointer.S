#include "functions.h"
        main_of of_frame_pointer
