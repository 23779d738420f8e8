/* Functions of one file, before and after one of another that was assembled without `--gsframe`.  */

#include "frames.h"

        .irp    name, first, second, third
        function \name
        frame
        call_of leaf
        end_frame
        returns
        end     \name
        .endr

        function main
        frame
        call_of first
        call_of second
        call_of third
        call_of lost
        .rept   400
        call_of leaf
        .endr
        zero
        end_frame
        returns
        end     main
