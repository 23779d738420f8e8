/* Jumps over one frame to twenty, by a setjmp and a longjmp of its own: into
   the same buffer again and again, into one of two nested buffers, from a
   function that has no frame, and over arrays and alloca.  */

#include "runtime/path.h"

typedef struct {
    uint64_t words[22];
} Buffer;

__attribute__((returns_twice)) unsigned bench_setjmp(Buffer *buffer);
__attribute__((noreturn)) void bench_longjmp(const Buffer *buffer, unsigned value);
/* With VALUE + 1.  */
__attribute__((noreturn)) void jump_frameless(const Buffer *buffer, unsigned value);
/* 1 if a register is not what it was, otherwise 0.  */
unsigned saved_registers(Buffer *buffer);

enum { RETURN, JUMP, JUMP_FRAMELESS, WAYS };

static struct bench_path path;

/* Every jump ends in a call of this, from the function it went to.  */
NOIPA unsigned landed(unsigned x)
{
    ENTER(landed);
    x = x * 3 + 1;
    LEAVE();
    return x;
}

NOIPA unsigned finish(const Buffer *buffer, unsigned way, unsigned x)
{
    ENTER(finish);
    if (way != RETURN) {
        bench_path = NULL;
        if (way == JUMP)
            bench_longjmp(buffer, x * 2 + 1);
        jump_frameless(buffer, x * 2 + 1);
    }
    LEAVE();
    return x;
}

NOIPA unsigned descend(const Buffer *buffer, unsigned way, unsigned levels, unsigned x);

NOIPA unsigned with_array(const Buffer *buffer, unsigned way, unsigned levels, unsigned x)
{
    volatile unsigned words[40];

    ENTER(with_array);
    words[levels] = x + 1;
    x = descend(buffer, way, levels, words[levels]);
    x += words[levels];
    LEAVE();
    return x;
}

NOIPA unsigned with_alloca(const Buffer *buffer, unsigned way, unsigned levels, unsigned x)
{
    volatile unsigned *words;

    ENTER(with_alloca);
    words = __builtin_alloca((levels + 1) * sizeof *words);
    words[levels] = x + 2;
    x = descend(buffer, way, levels, words[levels]);
    x += words[levels];
    LEAVE();
    return x;
}

/* LEVELS more frames, and finish.  */
NOIPA unsigned descend(const Buffer *buffer, unsigned way, unsigned levels, unsigned x)
{
    ENTER(descend);
    if (levels == 0)
        x = finish(buffer, way, x);
    else if (levels % 4 == 1)
        x = with_array(buffer, way, levels - 1, x);
    else if (levels % 4 == 3)
        x = with_alloca(buffer, way, levels - 1, x);
    else
        x = descend(buffer, way, levels - 1, x);
    LEAVE();
    return x;
}

NOIPA unsigned attempt(unsigned way, unsigned levels, unsigned x)
{
    Buffer buffer;
    volatile uint64_t depth;
    unsigned value;

    ENTER(attempt);
    depth = path.depth;
    value = bench_setjmp(&buffer);
    if (value == 0) {
        value = descend(&buffer, way, levels, x);
    } else {
        path.depth = depth;
        bench_path = &path;
        value = landed(value);
    }
    LEAVE();
    return value;
}

/* One frame lies between the jump and its target, or none.  */
NOIPA unsigned at_once(unsigned x)
{
    Buffer buffer;
    volatile uint64_t depth;
    unsigned value;

    ENTER(at_once);
    depth = path.depth;
    value = bench_setjmp(&buffer);
    if (value == 0) {
        if (x % 2 == 0)
            finish(&buffer, JUMP, x);
        bench_path = NULL;
        jump_frameless(&buffer, x);
    }
    path.depth = depth;
    bench_path = &path;
    value = landed(value);
    LEAVE();
    return value;
}

/* One buffer, and one call of bench_setjmp that returns again and again.  */
NOIPA unsigned again_and_again(unsigned times)
{
    Buffer buffer;
    volatile uint64_t depth;
    volatile unsigned sum = 0;
    unsigned value;

    ENTER(again_and_again);
    depth = path.depth;
    value = bench_setjmp(&buffer);
    if (value > 0) {
        path.depth = depth;
        bench_path = &path;
    }
    sum = sum * 3 + landed(value);
    if (value / 2 < times)
        descend(&buffer, JUMP, 4, value / 2);
    LEAVE();
    return sum;
}

/* What jumps into the inner buffer may still jump into the outer one.  */
NOIPA unsigned inner(const Buffer *outer, unsigned levels, unsigned x)
{
    Buffer buffer;
    volatile uint64_t depth;
    unsigned value;

    ENTER(inner);
    depth = path.depth;
    value = bench_setjmp(&buffer);
    if (value == 0)
        descend(&buffer, x % 2 == 0 ? JUMP : RETURN, levels, x);
    path.depth = depth;
    bench_path = &path;
    value = landed(value);
    value = descend(outer, x % WAYS, levels / 2, value % 16);
    LEAVE();
    return value;
}

NOIPA unsigned nested(unsigned levels, unsigned x)
{
    Buffer buffer;
    volatile uint64_t depth;
    unsigned value;

    ENTER(nested);
    depth = path.depth;
    value = bench_setjmp(&buffer);
    if (value == 0) {
        value = inner(&buffer, levels, x);
    } else {
        path.depth = depth;
        bench_path = &path;
        value = landed(value);
    }
    LEAVE();
    return value;
}

int main(void)
{
    Buffer buffer;
    unsigned sum = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned levels = 0; levels <= 12; levels++) {
        for (unsigned way = levels % 4 == 0 ? RETURN : JUMP; way < WAYS; way++) {
            unsigned value = attempt(way, levels, levels + way);
            sum = sum * 31 + value;
        }
    }
    for (unsigned x = 0; x < 5; x++) {
        unsigned value = at_once(x);
        sum = sum * 31 + value;
    }
    sum += again_and_again(20);
    for (unsigned x = 0; x < 6; x++) {
        unsigned value = nested(x + 2, x);
        sum = sum * 31 + value;
    }
    sum += saved_registers(&buffer) << 16;
    LEAVE();
    return bench_check(sum + (unsigned)path.depth, 0x359df4a0);
}
