/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   Puts questions about sections to a reader, and compares its answers with those
   that are accepted: the runner of sframe-testbench export vectors.  */

#ifndef SFRAME_RUN_VECTORS_H
#define SFRAME_RUN_VECTORS_H

#include "run-moment.h"

#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

/* The most numbers of an answer.  */
#define RUN_VALUES 16

/* What is asked.  */
enum run_query { RUN_OPENING, RUN_HEADER, RUN_FDE, RUN_ROW, RUN_LOOK_UP, RUN_STEP };

/* Which answer is accepted: any, a section that opens, a rejection with a kind,
   any rejection, no row or no caller for whatever reason, or these numbers.  */
enum run_pattern
{
  RUN_ANYTHING, RUN_OPENS, RUN_REJECT, RUN_REFUSED, RUN_NO_ROW, RUN_NO_CALLER, RUN_NUMBERS
};

/* Why: the text says so, it can be read so, or there is a better answer.  */
enum run_class { RUN_MUST, RUN_READING, RUN_QUALITY };

struct run_accepted
{
  enum run_pattern pattern;
  enum run_class class;
  /* The kind of a rejection.  */
  const char *kind;
  int64_t values[RUN_VALUES];
};

struct run_question
{
  enum run_query query;
  /* The function and row, or the PC and whether it is a return address.  */
  uint64_t first, second;
  /* For steps.  */
  uint64_t sp, fp;
  bool is_topmost;
  unsigned address_bits, register_count, memory_count;
  const struct run_word *registers, *memory;
  const struct run_accepted *accepted;
  unsigned accepted_count;
};

struct run_vector
{
  const char *name;
  enum kit_abi abi;
  uint64_t address;
  const unsigned char *bytes;
  size_t size;
  const struct run_question *questions;
  unsigned question_count;
};

/* An answer: a rejection, or its numbers.  */
struct run_given
{
  bool is_there, is_refused, has_row, has_caller, is_outermost;
  const char *kind;
  int64_t values[RUN_VALUES];
};

static void
run_rule (int64_t *values, const struct kit_rule *rule)
{
  if (!rule->is_there)
    return;
  values[0] = 1;
  values[1] = rule->dereference;
  values[2] = rule->base == (int) kit_sp_number (run_abi) ? KIT_SP
	      : rule->base == (int) kit_fp_number (run_abi) ? KIT_FP : rule->base;
  values[3] = rule->offset;
}

static void
run_give_row (const struct kit_row *row, struct run_given *given)
{
  int64_t *v = given->values;
  given->is_refused = row->is_faulty;
  given->kind = row->fault.kind;
  v[0] = row->start;
  v[1] = row->is_undefined;
  v[2] = row->is_mangled;
  if (!row->is_undefined)
    {
      run_rule (v + 3, &row->cfa);
      run_rule (v + 7, &row->ra);
      run_rule (v + 11, &row->fp);
    }
}

static void
run_give_step (const struct kit_reader *reader, void *opened,
	       const struct run_question *question, struct run_given *given)
{
  static const char *const whats[] = { "", "cfa", "ra", "fp" };
  int64_t *v = given->values;
  struct kit_frame frame = { .pc = question->first, .sp = question->sp, .fp = question->fp,
			     .is_return = question->second, .is_topmost = question->is_topmost };
  struct kit_step step = { .kind = KIT_FAILED };
  run_registers = question->registers;
  run_register_count = question->register_count;
  run_memory = question->memory;
  run_memory_count = question->memory_count;
  run_address_bits = question->address_bits;
  reader->step (opened, &frame, &step);
  if (step.kind == KIT_CALLER && step.caller.fp_is_lost)
    {
      step.kind = KIT_UNREADABLE;
      step.what = "fp";
      step.address = step.caller.fp_address;
    }
  v[0] = step.kind;
  given->has_caller = step.kind == KIT_CALLER;
  given->is_outermost = step.kind == KIT_OUTERMOST;
  if (given->has_caller)
    {
      v[1] = (int64_t) step.caller.pc;
      v[2] = step.caller.is_return;
      v[3] = (int64_t) step.cfa;
      v[4] = (int64_t) step.caller.sp;
      v[5] = (int64_t) step.caller.fp;
    }
  bool has_what = step.kind == KIT_UNREADABLE || step.kind == KIT_UNSAFE_REGISTER
		  || step.kind == KIT_UNKNOWN_REGISTER;
  for (int i = 1; i < 4; i++)
    if (has_what && step.what && strcmp (step.what, whats[i]) == 0)
      v[1] = i;
  if (has_what)
    v[2] = step.kind == KIT_UNREADABLE ? (int64_t) step.address : step.number;
  if (step.kind == KIT_MISALIGNED || step.kind == KIT_NO_PROGRESS)
    v[2] = (int64_t) step.cfa;
}

/* The answer to a question about a section that was opened.  */
static void
run_ask (const struct kit_reader *reader, void *opened, const struct run_question *question,
	 struct run_given *given)
{
  int64_t *v = given->values;
  uint32_t index = (uint32_t) question->first;
  bool has_fdes = reader->fdes && reader->fde && reader->row;
  bool is_fde = question->query == RUN_FDE || question->query == RUN_ROW;
  struct kit_fde fde = { .fault = { .offset = -1 } };
  if (is_fde && has_fdes)
    {
      given->is_there = true;
      if (index < reader->fdes (opened))
	reader->fde (opened, index, &fde);
      else
	fde.is_faulty = true;
      given->is_refused = fde.is_faulty;
      given->kind = fde.fault.kind;
    }
  if (question->query == RUN_HEADER && reader->header)
    {
      struct kit_header h;
      memset (&h, 0, sizeof h);
      given->is_there = reader->header (opened, &h);
      int64_t values[] = { h.version, h.abi, h.flags, h.fixed_fp, h.fixed_ra, h.aux_len,
			   h.num_fdes, h.num_fres, h.fre_len, h.fdeoff, h.freoff };
      memcpy (v, values, sizeof values);
    }
  else if (question->query == RUN_FDE && has_fdes && !fde.is_faulty)
    {
      int64_t values[] = { (int64_t) fde.start, fde.size, fde.start_size, fde.is_mask, fde.is_flex,
			   fde.is_key_b, fde.is_signal, fde.rep_size, fde.is_outermost, fde.rows };
      memcpy (v, values, sizeof values);
    }
  else if (question->query == RUN_ROW && has_fdes && !fde.is_faulty)
    {
      struct kit_row row = { .fault = { .offset = -1 } };
      row.is_faulty = question->second >= fde.rows;
      if (!row.is_faulty)
	reader->row (opened, index, (uint32_t) question->second, &row);
      run_give_row (&row, given);
    }
  else if (question->query == RUN_LOOK_UP && reader->look_up)
    {
      struct kit_place place = { .found = KIT_NO_FDE, .wants_positions = true };
      reader->look_up (opened, question->first, question->second, &place);
      given->is_there = true;
      given->is_refused = place.found == KIT_FAULTY;
      given->kind = place.fault.kind;
      given->has_row = place.found == KIT_ROW || place.found == KIT_NO_ROWS_OUTERMOST;
      v[0] = place.found;
      v[1] = place.found == KIT_NO_FDE ? 0 : place.fde;
      v[2] = place.found == KIT_ROW ? place.row : 0;
    }
  else if (question->query == RUN_STEP && reader->step)
    {
      given->is_there = true;
      run_give_step (reader, opened, question, given);
    }
}

static bool
run_has (const struct run_question *question, const struct run_accepted *accepted,
	 const struct run_given *given)
{
  int64_t expected[RUN_VALUES];
  memcpy (expected, accepted->values, sizeof expected);
  /* The number of rows of a function that has a faulty one.  */
  if (question->query == RUN_FDE && expected[9] < 0)
    expected[9] = given->values[9];
  switch (accepted->pattern)
    {
    case RUN_ANYTHING:
      return true;
    case RUN_OPENS:
      return !given->is_refused;
    case RUN_REJECT:
      return given->is_refused && (!given->kind || strcmp (given->kind, accepted->kind) == 0);
    case RUN_REFUSED:
      return given->is_refused || (question->query == RUN_STEP && !given->has_caller
				   && !given->is_outermost);
    case RUN_NO_ROW:
      return given->is_refused || !given->has_row;
    case RUN_NO_CALLER:
      return !given->has_caller && !given->is_outermost;
    default:
      return !given->is_refused && memcmp (expected, given->values, sizeof expected) == 0;
    }
}

/* Whether a fault of the header shows in what the header describes.  */
static bool
run_shows_later (const struct kit_reader *reader, void *opened, const char *kind)
{
  if (strcmp (kind, "truncated") != 0 && strcmp (kind, "sub-section-out-of-bounds") != 0)
    return false;
  for (uint32_t i = 0; reader->fdes && i < reader->fdes (opened); i++)
    {
      struct run_question row = { .query = RUN_ROW, .first = i };
      struct run_given given;
      struct kit_fde fde = { .fault = { .offset = -1 } };
      reader->fde (opened, i, &fde);
      for (; row.second < fde.rows || fde.is_faulty; row.second++)
	{
	  memset (&given, 0, sizeof given);
	  run_ask (reader, opened, &row, &given);
	  if (given.is_refused)
	    return true;
	}
    }
  return false;
}

/* Asks about all vectors, and says what is wrong.  Returns the number of wrong
   answers, or -1 if there was none to any question.  */
static long
run_vectors (const struct kit_reader *reader, const struct run_vector *vectors, unsigned count)
{
  static const char *const queries[] = { "opening", "header", "FDE", "row", "look-up", "step" };
  long answered = 0, wrong = 0, classes[3] = { 0 }, skipped = 0;
  for (unsigned i = 0; i < count; i++)
    {
      const struct run_vector *vector = &vectors[i];
      struct kit_section section = { .bytes = (unsigned char *) vector->bytes,
				     .size = vector->size, .address = vector->address,
				     .abi = vector->abi };
      struct kit_fault fault = { .offset = -1 };
      void *opened = reader->open (&section, &fault);
      if (!opened && fault.unsupported)
	{
	  skipped++;
	  continue;
	}
      run_abi = section.abi;
      bool goes_on = true;
      unsigned long long refused_fde = -1;
      for (unsigned q = 0; q < vector->question_count && goes_on; q++)
	{
	  const struct run_question *question = &vector->questions[q];
	  struct run_given given;
	  memset (&given, 0, sizeof given);
	  if (question->query == RUN_OPENING)
	    {
	      const struct run_accepted *own = &question->accepted[0];
	      given.is_there = true;
	      given.is_refused = !opened || (own->pattern == RUN_REJECT
					     && run_shows_later (reader, opened, own->kind));
	      given.kind = opened ? NULL : fault.kind;
	      goes_on = opened != NULL;
	    }
	  else
	    run_ask (reader, opened, question, &given);
	  if (!given.is_there)
	    continue;
	  answered++;
	  unsigned a = 0;
	  while (a < question->accepted_count && !run_has (question, &question->accepted[a], &given))
	    a++;
	  /* What is refused with its function is said there.  */
	  if (question->query == RUN_FDE && given.is_refused)
	    refused_fde = question->first;
	  bool is_said = question->query == RUN_ROW && given.is_refused
			 && question->first == refused_fde;
	  if (a < question->accepted_count)
	    classes[question->accepted[a].class]++;
	  else if (!is_said)
	    {
	      wrong++;
	      goes_on = goes_on && question->query != RUN_OPENING;
	      KIT_SAY ("%s: %s %#llx %llu is wrong\n", vector->name, queries[question->query],
		       (unsigned long long) question->first,
		       (unsigned long long) question->second);
	    }
	}
      if (opened && reader->close)
	reader->close (opened);
    }
  KIT_SAY ("%s: %ld answers, %ld wrong; %ld by other readings, %ld could be better;"
	   " %ld of %u vectors not read\n",
	   reader->name, answered, wrong, classes[RUN_READING], classes[RUN_QUALITY], skipped,
	   count);
  return answered ? wrong : -1;
}

#endif
