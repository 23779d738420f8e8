#include "runtime.h"

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

/* Both are reached relative to the program counter: nothing in this function
   may itself need a relocation.  */
extern const Dynamic _DYNAMIC[] __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* Three functions, two of them so simple that they need no frame: in a single
   one, compilers give rows of their own to what only some programs execute.  */

static NOIPA uint64_t dynamic(int64_t tag)
{
    uint64_t value = 0;

    for (const Dynamic *entry = _DYNAMIC; entry->tag != 0; entry++)
        if (entry->tag == tag)
            value = entry->value;
    return value;
}

/* One formula for all types that these programs have: the address of a symbol,
   and an address without one, which names the symbol of index and value 0.  */
static NOIPA void relocate(uint64_t base, uint64_t table, uint64_t size, uint64_t symbols)
{
    const Rela *relocation = (const Rela *)(base + table);
    const Rela *end = (const Rela *)(base + table + size);

    for (; relocation < end; relocation++) {
        const Symbol *symbol = (const Symbol *)(base + symbols) + (relocation->info >> 32);
        uint64_t value = base + (uint64_t)relocation->addend + symbol->value;

        *(volatile uint64_t *)(base + relocation->offset) = value;
    }
}

NOIPA void runtime_relocate(void)
{
    uint64_t base = (uint64_t)__ehdr_start;
    uint64_t symbols = dynamic(DT_SYMTAB);
    uint64_t table = dynamic(DT_RELA);

    relocate(base, table, dynamic(DT_RELASZ), symbols);
    table = dynamic(DT_JMPREL);
    relocate(base, table, dynamic(DT_PLTRELSZ), symbols);
    BARRIER();
}
