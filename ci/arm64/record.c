/*
 * The only program of a virtual machine: it samples itself, as `perf record -e cpu-clock --call-graph dwarf` does, and
 * prints the recording (perf.data) in hexadecimal. It needs no C library. AArch64.
 */

#define NOINLINE __attribute__((noipa))

typedef unsigned long word;

enum {
    SYS_ioctl = 29, SYS_mknodat = 33, SYS_openat = 56, SYS_write = 64, SYS_reboot = 142, SYS_mmap = 222,
    SYS_perf_event_open = 241,
};

static word call(word number, word a, word b, word c, word d, word e, word f)
{
    register word x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                  x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;

    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

/* A compiler makes calls of these. */
void *memset(void *to, int byte, word count)
{
    volatile char *at = to;

    while (count--)
        *at++ = byte;
    return to;
}

void *memcpy(void *to, const void *from, word count)
{
    volatile char *at = to;
    const char *source = from;

    while (count--)
        *at++ = *source++;
    return to;
}

/* Which frames are sampled: fixed, aligned and variable ones, leaves, tail calls and calls through pointers. */

static volatile word sink;

NOINLINE word leaf(word n)
{
    word sum = n;

    for (int i = 0; i < 400; i++)
        sum = sum * 31 + (sum >> 7);
    return sum;
}

NOINLINE word tail(word n)
{
    return leaf(n + 1);
}

NOINLINE word aligned(word n)
{
    _Alignas(64) volatile word values[16];

    values[n % 16] = n;
    return leaf(values[n % 16]) + n;
}

NOINLINE word variable(word n)
{
    volatile word values[n % 20 + 1];

    values[n % 20] = leaf(n);
    return values[n % 20] + aligned(n);
}

NOINLINE word large(word n)
{
    volatile char bytes[3000];

    bytes[n % 3000] = (char)n;
    return variable(n) + bytes[n % 3000];
}

static word (*const functions[])(word) = {leaf, tail, aligned, variable, large};

NOINLINE word nested(word depth, word n)
{
    word sum = functions[n % 5](n);

    if (depth)
        sum += nested(depth - 1, n + 1) + leaf(sum);
    return sum;
}

/* A recording: the header, one attribute, the records, and the name of the machine. */

enum { STACK = 8192, RING = 256 * 4096, MOST = 3 << 20 };

static unsigned char file[MOST];
static word length = 104 + 128;

static void put(const void *from, word count)
{
    if (length + count <= MOST) {
        memcpy(file + length, from, count);
        length += count;
    }
}

static void put_at(word at, word value)
{
    memcpy(file + at, &value, 8);
}

static void mapping(void)
{
    extern char __ehdr_start[], __etext[];
    word start = (word)__ehdr_start & ~4095ul, end = ((word)__etext + 4095) & ~4095ul;
    struct {
        unsigned type;
        unsigned short misc, size;
        unsigned pid, tid;
        word start, length, offset;
        char name[8];
    } record = {1, 2, sizeof record, 1, 1, start, end - start, 0, "/init"};

    put(&record, sizeof record);
}

/* The records that the kernel has written. */
static void drain(unsigned char *ring)
{
    volatile word *head = (word *)(ring + 1024), *tail = (word *)(ring + 1032);
    word to = *head;

    __asm__ volatile("dmb ish" ::: "memory");
    for (word at = *tail; at < to; at += 8)
        put(ring + 4096 + at % RING, 8);
    *tail = to;
}

static void print(int console)
{
    static const char digits[] = "0123456789abcdef";
    char line[130];

    for (word at = 0; at < length;) {
        word count = 0;

        for (; count < 128 && at < length; at++) {
            line[count++] = digits[file[at] >> 4];
            line[count++] = digits[file[at] & 15];
        }
        line[count++] = '\n';
        call(SYS_write, console, (word)line, count, 0, 0, 0);
    }
}

static void finish(word size)
{
    static const struct {
        unsigned size;
        char text[8];
    } name = {8, "aarch64"};
    word at_end[2] = {length + 16, sizeof name};

    memcpy(file, "PERFILE2", 8);
    put_at(8, 104);
    put_at(16, 128); /* of an attribute, with where its IDs are */
    put_at(24, 104);
    put_at(32, 128);
    put_at(40, 232);
    put_at(48, size);
    put_at(72, 1 << 6); /* HEADER_ARCH */
    put(at_end, sizeof at_end);
    put(&name, sizeof name);
}

void _start(void)
{
    unsigned attribute[28] = {1, 112};
    word console, event;
    unsigned char *ring;

    call(SYS_mknodat, -100, (word)"/console", 020600, 5 << 8 | 1, 0, 0);
    console = call(SYS_openat, -100, (word)"/console", 1, 0, 0, 0);
    attribute[4] = 1000000;                      /* nanoseconds between samples */
    attribute[6] = 1 | 2 | 4 | 1 << 12 | 1 << 13; /* IP, TID, TIME, REGS_USER, STACK_USER */
    attribute[10] = 1 | 1 << 5 | 1 << 6;         /* disabled, without the kernel and hypervisor */
    attribute[20] = -1;                          /* X0 to LR, SP, PC */
    attribute[21] = 1;
    attribute[22] = STACK;
    event = call(SYS_perf_event_open, (word)attribute, 0, -1, -1, 0, 0);
    ring = (unsigned char *)call(SYS_mmap, 0, RING + 4096, 3, 1, event, 0);
    memcpy(file + 104, attribute, sizeof attribute);
    mapping();
    call(SYS_ioctl, event, 0x2400, 0, 0, 0, 0); /* enable */
    for (word n = 0; length < MOST - RING; n++) {
        sink += nested(n % 12, n);
        if (n % 64 == 0)
            drain(ring);
    }
    call(SYS_ioctl, event, 0x2401, 0, 0, 0, 0); /* disable */
    finish(length - 232);
    call(SYS_write, console, (word)"BEGIN\n", 6, 0, 0, 0);
    print((int)console);
    call(SYS_write, console, (word)"END\n", 4, 0, 0, 0);
    call(SYS_reboot, 0xfee1dead, 672274793, 0x4321fedc, 0, 0, 0); /* off */
    for (;;)
        ;
}
