/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   A small reader on the kit: version 3, amd64.  It is no library: it shows how
   one is hooked in, and tests the kit.  With -DWITHOUT_STEP, the kit walks with
   the rules of its look-ups; with -DWITHOUT_MAIN, it is for the tables of
   sframe-testbench export.

     cc -I harness/adapters/c harness/adapters/c/example.c harness/adapters/c/sframe-kit.c -o example
     sframe-testbench check --unwinder ./example corpus/builds/gnu-2.47/amd64/recursion.O2  */

#include <stdlib.h>
#include <string.h>
#include "sframe-kit.h"

#define HEADER 28

struct opened
{
  struct kit_section section;
  uint64_t fdes, fres, end, count;
  int8_t fixed_fp, fixed_ra;
};

/* A function: where its rows begin and how many there are.  */
struct function
{
  uint64_t start, size, rows, count, rep_size;
  unsigned start_size;
  bool is_faulty, is_mask, is_flex, is_signal;
};

/* A number of some bytes, or 0 if they are not all in the section.  */
static uint64_t
at (const struct opened *opened, uint64_t offset, unsigned size)
{
  uint64_t value = 0;
  if (offset > opened->section.size || opened->section.size - offset < size)
    return 0;
  for (unsigned i = 0; i < size; i++)
    value |= (uint64_t) opened->section.bytes[offset + i] << 8 * i;
  return value;
}

static int64_t
signed_at (const struct opened *opened, uint64_t offset, unsigned size)
{
  uint64_t sign = UINT64_C (1) << (8 * size - 1), value = at (opened, offset, size);
  return (int64_t) ((value ^ sign) - sign);
}

static void *
open_section (struct kit_section *section, struct kit_fault *fault)
{
  struct opened *opened = (struct opened *) calloc (1, sizeof *opened);
  if (opened == NULL)
    return NULL;
  opened->section = *section;
  uint64_t first = HEADER + at (opened, 7, 1);
  uint64_t index = 16 * at (opened, 8, 4), rows = at (opened, 16, 4);
  opened->fdes = first + at (opened, 20, 4);
  opened->fres = first + at (opened, 24, 4);
  opened->end = opened->fres + rows;
  opened->count = at (opened, 8, 4);
  opened->fixed_fp = (int8_t) signed_at (opened, 5, 1);
  opened->fixed_ra = (int8_t) signed_at (opened, 6, 1);
  if (section->size < HEADER)
    fault->kind = "truncated";
  else if (at (opened, 0, 2) != 0xdee2)
    {
      fault->kind = "bad-magic";
      fault->unsupported = at (opened, 0, 2) == 0xe2de ? "the other byte order" : NULL;
    }
  else if (at (opened, 2, 1) == 1 || at (opened, 2, 1) == 2)
    fault->unsupported = "an older version than 3";
  else if (at (opened, 2, 1) != 3)
    fault->kind = "unknown-version";
  else if (at (opened, 4, 1) == 2)
    fault->unsupported = "aarch64";
  else if (at (opened, 4, 1) != 3)
    fault->kind = "unknown-abi";
  else if (opened->fdes + index > section->size || opened->end > section->size)
    fault->kind = "sub-section-out-of-bounds";
  else
    {
      section->abi = KIT_AMD64;
      return opened;
    }
  free (opened);
  return NULL;
}

/* The rule of a pair of words in a flex row.  */
static struct kit_rule
rule_at (const struct opened *opened, uint64_t words, unsigned size)
{
  uint64_t control = at (opened, words, size);
  struct kit_rule rule = { true, (control & 2) != 0, KIT_CFA,
			   signed_at (opened, words + size, size) };
  if (control & 1)
    rule.base = (int) (control >> 3);
  return rule;
}

/* The rules of a flex row: pairs of words for CFA, RA and FP, or a 0 where
   there is none.  False if the words are no pairs.  */
static bool
flex_rules (const struct opened *opened, uint64_t words, unsigned count,
	    unsigned size, struct kit_row *row)
{
  struct kit_rule *rules[] = { &row->cfa, &row->ra, &row->fp };
  unsigned word = 0;
  for (unsigned i = 0; i < 3 && word < count; i++)
    if (i > 0 && at (opened, words + word * size, size) == 0)
      word++;
    else if (count - word < 2)
      return false;
    else
      {
	*rules[i] = rule_at (opened, words + word * size, size);
	word += 2;
      }
  return word == count && (count == 0 || row->cfa.base != KIT_CFA);
}

/* The function that contains an address, as a position; or -1.  Functions need
   not be sorted.  */
static int64_t
function_with (const struct opened *opened, uint64_t pc, struct function *f)
{
  for (uint64_t i = 0; i < opened->count; i++)
    {
      uint64_t fde = opened->fdes + 16 * i;
      uint64_t attributes = opened->fres + at (opened, fde + 12, 4);
      /* The start is relative to its field, or to the section.  */
      uint64_t from = opened->section.address + (at (opened, 3, 1) & 4 ? fde : 0);
      f->start = from + (uint64_t) signed_at (opened, fde, 8);
      f->size = at (opened, fde + 8, 4);
      if (pc - f->start >= f->size)
	continue;
      uint64_t info = at (opened, attributes + 2, 1);
      f->count = at (opened, attributes, 2);
      f->start_size = 1u << (info & 15);
      f->is_mask = info >> 4 & 1;
      f->is_signal = info >> 7 & 1;
      uint64_t type = at (opened, attributes + 3, 1) & 31;
      f->is_flex = type == 1;
      f->rep_size = at (opened, attributes + 4, 1);
      f->rows = attributes + 5;
      f->is_faulty = f->rows > opened->end || f->start_size > 4 || type > 1
		     || (f->is_mask && f->rep_size == 0);
      return (int64_t) i;
    }
  return -1;
}

static struct kit_rule
saved (int64_t offset)
{
  struct kit_rule rule = { true, true, KIT_CFA, offset };
  return rule;
}

static void
look_up (void *of, uint64_t pc, bool is_return, struct kit_place *place)
{
  const struct opened *opened = (const struct opened *) of;
  struct function f;
  int64_t index = function_with (opened, pc - is_return, &f);
  if (index < 0)
    return;
  place->fde = (uint32_t) index;
  place->is_signal = f.is_signal;
  place->found = f.count ? KIT_NO_ROW : KIT_NO_ROWS_OUTERMOST;
  if (f.is_faulty)
    {
      place->found = KIT_FAULTY;
      return;
    }
  uint64_t offset = pc - is_return - f.start, row = f.rows;
  if (f.is_mask)
    offset %= f.rep_size;
  for (uint32_t i = 0; i < f.count; i++)
    {
      uint64_t info = at (opened, row + f.start_size, 1), words = row + f.start_size + 1;
      unsigned count = info >> 1 & 15, size = 1u << (info >> 5 & 3);
      if (at (opened, row, f.start_size) > offset)
	return;
      struct kit_rule cfa = { true, false, info & 1 ? KIT_SP : KIT_FP,
			      signed_at (opened, words, size) };
      struct kit_row *rules = &place->rules;
      memset (rules, 0, sizeof *rules);
      rules->start = (uint32_t) at (opened, row, f.start_size);
      rules->is_undefined = count == 0;
      rules->cfa = cfa;
      rules->ra = saved (opened->fixed_ra);
      if (opened->fixed_fp)
	rules->fp = saved (opened->fixed_fp);
      if (!f.is_flex && count > 1)
	rules->fp = saved (signed_at (opened, words + size, size));
      if (size > 4 || words + count * size > opened->end
	  || (f.is_flex ? !flex_rules (opened, words, count, size, rules) : count > 2))
	{
	  place->found = KIT_FAULTY;
	  return;
	}
      place->found = KIT_ROW;
      place->row = i;
      row = words + count * size;
    }
}

#ifndef WITHOUT_STEP

/* The value of a rule, or why there is none.  Registers other than SP and FP
   are those of the topmost frame.  */
static enum kit_end_kind
value_of (struct kit_rule rule, const struct kit_frame *frame, uint64_t cfa,
	  struct kit_step *step, uint64_t *value)
{
  uint64_t base = rule.base == KIT_CFA ? cfa : frame->sp;
  step->number = (unsigned) rule.base;
  if (rule.base == KIT_FP || rule.base == (int) kit_fp_number (KIT_AMD64))
    base = frame->fp;
  else if (rule.base >= 0 && rule.base != (int) kit_sp_number (KIT_AMD64))
    {
      if (!frame->is_topmost)
	return KIT_UNSAFE_REGISTER;
      if (!kit_register (step->number, &base))
	return KIT_UNKNOWN_REGISTER;
    }
  step->address = *value = base + (uint64_t) rule.offset;
  return rule.dereference && !kit_read_u64 (step->address, value)
	   ? KIT_UNREADABLE : KIT_CALLER;
}

/* From a frame to its caller.  */
static void
step_to_caller (void *of, const struct kit_frame *frame, struct kit_step *step)
{
  static const enum kit_end_kind ends[]
    = { KIT_END_NO_FDE, KIT_END_NO_ROW, KIT_OUTERMOST, KIT_CALLER, KIT_MALFORMED };
  struct kit_place place;
  memset (&place, 0, sizeof place);
  look_up (of, frame->pc, frame->is_return, &place);
  step->kind = place.rules.is_undefined ? KIT_OUTERMOST : ends[place.found];
  if (step->kind != KIT_CALLER)
    return;
  struct kit_frame *caller = &step->caller;
  step->what = "cfa";
  step->kind = value_of (place.rules.cfa, frame, 0, step, &step->cfa);
  if (step->kind != KIT_CALLER)
    return;
  step->has_cfa = true;
  caller->sp = step->cfa;
  if (step->cfa % 8)
    step->kind = KIT_MISALIGNED;
  else if (!place.is_signal
	   && (step->cfa < frame->sp || (step->cfa == frame->sp && frame->is_return)))
    step->kind = KIT_NO_PROGRESS;
  if (step->kind != KIT_CALLER)
    return;
  step->what = "ra";
  step->kind = value_of (place.rules.ra, frame, step->cfa, step, &caller->pc);
  if (step->kind != KIT_CALLER)
    return;
  caller->fp = frame->fp;
  caller->fp_is_lost = frame->fp_is_lost;
  caller->fp_address = frame->fp_address;
  if (place.rules.fp.is_there)
    {
      enum kit_end_kind kind = value_of (place.rules.fp, frame, step->cfa, step, &caller->fp);
      caller->fp_is_lost = kind != KIT_CALLER;
      caller->fp_address = step->address;
    }
  caller->is_return = !place.is_signal;
}

#else
#define step_to_caller NULL
#endif

/* Only the section's own mark is an end that was meant.  */
static bool
is_reliable (const struct kit_frame *last, const struct kit_step *end)
{
  return end->kind == KIT_OUTERMOST && !last->is_doubtful;
}

static const struct kit_reader example_reader
  = { "example", "1", NULL, open_section, free, look_up, step_to_caller, NULL, NULL, NULL, NULL,
      is_reliable, true };

#ifndef WITHOUT_MAIN

int
main (void)
{
  return kit_main (&example_reader);
}

#endif
