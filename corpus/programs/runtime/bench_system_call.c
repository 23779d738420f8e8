#include "signals.h"

NOIPA long bench_system_call(long number, long first, long second, long third, long fourth)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = fourth;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    register long x3 __asm__("x3") = fourth;

    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#elif defined(__s390x__)
    register long r1 __asm__("r1") = number;
    register long r2 __asm__("r2") = first;
    register long r3 __asm__("r3") = second;
    register long r4 __asm__("r4") = third;
    register long r5 __asm__("r5") = fourth;

    __asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4), "d"(r5) : "memory");
    return r2;
#endif
}
