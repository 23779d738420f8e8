/* A function deep down overwrites what frames further out have saved, as tools do
   that want to see a function return, and something deeper still puts it back
   before it is used. Until then the stack does not hold what unwind data of any
   kind says it does.  */

#include "runtime/path.h"

typedef unsigned Function(unsigned);

unsigned saves_return_address(Function *function, unsigned x);
unsigned uses_frame_pointer(Function *function, unsigned x);
unsigned keeps_frame_pointer(Function *function, unsigned x);

/* Where they are saved; overwritten.S writes them.  */
volatile uint64_t *return_slot;
volatile uint64_t *frame_pointer_slot;

/* What is written there instead: an address that nothing ever returns to, and
   one of memory that can be read, and is no stack.  */
extern const char hook[];
static uint64_t decoy[64];

static struct bench_path path;

NOIPA void plant(volatile uint64_t *slot, uint64_t value, uint64_t *saved)
{
    ENTER(plant);
    *saved = *slot;
    *slot = value;
    LEAVE();
}

NOIPA void put_back(volatile uint64_t *slot, const uint64_t *saved)
{
    ENTER(put_back);
    *slot = *saved;
    LEAVE();
}

/* Runs while the stack is not what it should be.  */
NOIPA unsigned watch(unsigned x)
{
    ENTER(watch);
    x = x * 3 + 1;
    LEAVE();
    return x;
}

NOIPA unsigned below_return(unsigned x)
{
    uint64_t saved;

    ENTER(below_return);
    x = watch(x);
    plant(return_slot, (uint64_t)(uintptr_t)hook, &saved);
    x = watch(x);
    put_back(return_slot, &saved);
    LEAVE();
    return x;
}

NOIPA unsigned below_frame_pointer(unsigned x)
{
    uint64_t saved;

    ENTER(below_frame_pointer);
    x = watch(x);
    plant(frame_pointer_slot, (uint64_t)(uintptr_t)&decoy[32], &saved);
    x = watch(x);
    put_back(frame_pointer_slot, &saved);
    LEAVE();
    return x;
}

/* X / 16 more frames.  */
NOIPA unsigned descend_return(unsigned x)
{
    ENTER(descend_return);
    x = x / 16 == 0 ? below_return(x) : descend_return(x - 16);
    LEAVE();
    return x;
}

NOIPA unsigned descend_frame_pointer(unsigned x)
{
    ENTER(descend_frame_pointer);
    x = x / 16 == 0 ? below_frame_pointer(x) : descend_frame_pointer(x - 16);
    LEAVE();
    return x;
}

int main(void)
{
    unsigned sum = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned x = 0; x < 12; x++) {
        unsigned value = saves_return_address(descend_return, x * 17);
        sum = sum * 31 + value;
        value = uses_frame_pointer(descend_frame_pointer, x * 17);
        sum = sum * 31 + value;
        value = keeps_frame_pointer(descend_frame_pointer, x * 17);
        sum = sum * 31 + value;
    }
    LEAVE();
    return bench_check(sum + (unsigned)path.depth, 0xf0df82f6);
}
