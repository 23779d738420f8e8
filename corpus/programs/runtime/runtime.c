#include "runtime.h"

/* The barriers keep the compiler from recognising these loops as calls of the
   very functions that they implement.  */

NOIPA void *memcpy(void *target, const void *source, size_t size)
{
    unsigned char *to = target;
    const unsigned char *from = source;

    for (size_t i = 0; i < size; i++) {
        to[i] = from[i];
        BARRIER();
    }
    return target;
}

NOIPA void *memmove(void *target, const void *source, size_t size)
{
    unsigned char *to = target;
    const unsigned char *from = source;

    if ((uintptr_t)to <= (uintptr_t)from) {
        for (size_t i = 0; i < size; i++) {
            to[i] = from[i];
            BARRIER();
        }
    } else {
        for (size_t i = size; i > 0; i--) {
            to[i - 1] = from[i - 1];
            BARRIER();
        }
    }
    return target;
}

NOIPA void *memset(void *target, int value, size_t size)
{
    unsigned char *to = target;

    for (size_t i = 0; i < size; i++) {
        to[i] = (unsigned char)value;
        BARRIER();
    }
    return target;
}

NOIPA int memcmp(const void *left, const void *right, size_t size)
{
    const unsigned char *a = left;
    const unsigned char *b = right;

    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
        BARRIER();
    }
    return 0;
}

#if defined(__x86_64__)
enum { SYS_WRITE = 1, SYS_EXIT_GROUP = 231 };

static long system_call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { SYS_WRITE = 64, SYS_EXIT_GROUP = 94 };

static long system_call(long number, long a, long b, long c)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#elif defined(__s390x__)
enum { SYS_WRITE = 4, SYS_EXIT_GROUP = 248 };

static long system_call(long number, long a, long b, long c)
{
    register long r1 __asm__("r1") = number;
    register long r2 __asm__("r2") = a;
    register long r3 __asm__("r3") = b;
    register long r4 __asm__("r4") = c;
    __asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4) : "memory");
    return r2;
}
#endif

NOIPA long bench_write(int descriptor, const void *bytes, size_t size)
{
    return system_call(SYS_WRITE, descriptor, (long)bytes, (long)size);
}

static void put_hex(char *text, unsigned value)
{
    for (int i = 7; i >= 0; i--) {
        unsigned digit = value & 15;
        text[i] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
        value >>= 4;
    }
}

NOIPA int bench_check(unsigned got, unsigned want)
{
    char message[] = "got 0x........, expected 0x........\n";

    if (got == want)
        return 0;
    put_hex(message + 6, got);
    put_hex(message + 27, want);
    bench_write(2, message, sizeof message - 1);
    return 1;
}

NOIPA void bench_exit(int status)
{
    system_call(SYS_EXIT_GROUP, status, 0, 0);
    __builtin_trap();
}

#ifdef __PIC__

typedef struct {
    int64_t tag;
    uint64_t value;
} Dynamic;

typedef struct {
    uint64_t offset;
    uint64_t info;
    int64_t addend;
} Rela;

typedef struct {
    uint32_t name;
    unsigned char info;
    unsigned char other;
    uint16_t section;
    uint64_t value;
    uint64_t size;
} Symbol;

enum { DT_PLTRELSZ = 2, DT_SYMTAB = 6, DT_RELA = 7, DT_RELASZ = 8, DT_JMPREL = 23 };

#if defined(__x86_64__)
enum { R_ABS64 = 1, R_GLOB_DAT = 6, R_JUMP_SLOT = 7, R_RELATIVE = 8 };
#elif defined(__aarch64__)
enum { R_ABS64 = 257, R_GLOB_DAT = 1025, R_JUMP_SLOT = 1026, R_RELATIVE = 1027 };
#elif defined(__s390x__)
enum { R_ABS64 = 22, R_GLOB_DAT = 10, R_JUMP_SLOT = 11, R_RELATIVE = 12 };
#endif

/* Both are reached relative to the program counter: nothing in this function
   may itself need a relocation.  */
extern const Dynamic _DYNAMIC[] __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static void apply(uint64_t base, uint64_t table, uint64_t size, uint64_t symbols)
{
    const Rela *relocation = (const Rela *)(base + table);
    const Rela *end = (const Rela *)(base + table + size);

    for (; relocation < end; relocation++) {
        uint32_t type = (uint32_t)relocation->info;
        uint64_t value = base + (uint64_t)relocation->addend;

        if (type == R_ABS64 || type == R_GLOB_DAT || type == R_JUMP_SLOT) {
            const Symbol *symbol = (const Symbol *)(base + symbols) + (relocation->info >> 32);
            value = symbol->section == 0 ? 0 : value + symbol->value;
        } else if (type != R_RELATIVE) {
            __builtin_trap();
        }
        *(volatile uint64_t *)(base + relocation->offset) = value;
    }
}

NOIPA void runtime_relocate(void)
{
    uint64_t base = (uint64_t)__ehdr_start;
    uint64_t rela = 0, rela_size = 0, plt = 0, plt_size = 0, symbols = 0;

    for (const Dynamic *entry = _DYNAMIC; entry->tag != 0; entry++) {
        if (entry->tag == DT_RELA)
            rela = entry->value;
        else if (entry->tag == DT_RELASZ)
            rela_size = entry->value;
        else if (entry->tag == DT_JMPREL)
            plt = entry->value;
        else if (entry->tag == DT_PLTRELSZ)
            plt_size = entry->value;
        else if (entry->tag == DT_SYMTAB)
            symbols = entry->value;
    }
    apply(base, rela, rela_size, symbols);
    apply(base, plt, plt_size, symbols);
}

#endif
