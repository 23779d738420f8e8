/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   The moment of a step, for tables of sframe-testbench export: what the kit
   gives to step, from tables instead of the bench.  */

#ifndef SFRAME_RUN_MOMENT_H
#define SFRAME_RUN_MOMENT_H

#include "sframe-kit.h"

/* In a kernel, -DKIT_SAY=pr_info will do.  */
#ifndef KIT_SAY
#include <stdio.h>
#define KIT_SAY printf
#endif

/* A register by its DWARF number, or a word of memory by its address.  */
struct run_word
{
  uint64_t at, value;
};

/* The exit status of the bench for what a runner returns: 0 if all is right, 1
   if something is wrong, 3 if too little was compared to say so.  */
static inline int
run_status (long wrong)
{
  return wrong < 0 ? 3 : wrong != 0;
}

static const struct run_word *run_registers, *run_memory;
static size_t run_register_count, run_memory_count;
static enum kit_abi run_abi;
static unsigned run_address_bits;

static bool
run_find (const struct run_word *words, size_t count, uint64_t at, uint64_t *value)
{
  for (size_t i = 0; i < count; i++)
    if (words[i].at == at)
      {
	*value = words[i].value;
	return true;
      }
  return false;
}

bool
kit_read_u64 (uint64_t address, uint64_t *value)
{
  return run_find (run_memory, run_memory_count, address, value);
}

/* Whole words of memory, in the byte order of the program.  */
bool
kit_read (uint64_t address, void *to, size_t size)
{
  bool is_big = run_abi == KIT_AARCH64_BE || run_abi == KIT_S390X;
  unsigned char *bytes = (unsigned char *) to;
  for (size_t i = 0; i < size; i++)
    {
      uint64_t value, at = address + i;
      if (!kit_read_u64 (at & ~(uint64_t) 7, &value))
	return false;
      bytes[i] = (unsigned char) (value >> 8 * (is_big ? 7 - at % 8 : at % 8) & 255);
    }
  return true;
}

bool
kit_register (unsigned number, uint64_t *value)
{
  return run_find (run_registers, run_register_count, number, value);
}

uint64_t
kit_strip (uint64_t address)
{
  if ((run_abi != KIT_AARCH64 && run_abi != KIT_AARCH64_BE) || run_address_bits >= 64)
    return address;
  uint64_t mask = ~(uint64_t) 0 << run_address_bits;
  return address >> 55 & 1 ? address | mask : address & ~mask;
}

#endif
