#include "runtime/assembly.h"

#if defined(__aarch64__)
        .arch   armv9-a+sve2
        .text
function main
        sqdmulh z0.s, z1.s, z2.s
        mov     w0, #0
        ret
end main
#elif defined(__s390x__)
        .text
function main
        didbr   %f0, %f2, %f4, 0
        lghi    %r2, 0
        br      %r14
end main
#endif
