#include "runtime.h"

NOIPA void bench_exit(int status)
{
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(231), "D"(status) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long number __asm__("x8") = 94;
    register long argument __asm__("x0") = status;
    __asm__ volatile("svc #0" : : "r"(number), "r"(argument) : "memory");
#elif defined(__s390x__)
    register long argument __asm__("r2") = status;
    __asm__ volatile("svc 248" : : "d"(argument) : "memory");
#endif
    __builtin_trap();
}
