/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   Puts questions of sframe-testbench export vectors to a reader of the kit, and
   writes its answers as numbers.  */

#ifndef SFRAME_RUN_READER_H
#define SFRAME_RUN_READER_H

#include "run-vectors.h"

/* A function and a row of which nothing is known.  */
static void
run_clear (struct kit_fde *fde, struct kit_row *row)
{
  memset (fde, 0, sizeof *fde);
  memset (row, 0, sizeof *row);
  fde->fault.offset = row->fault.offset = -1;
}

/* Whether it is there, is loaded, its base, its offset.  */
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
run_header (const struct kit_reader *reader, void *opened, struct run_given *given)
{
  struct kit_header h;
  memset (&h, 0, sizeof h);
  given->is_there = true;
  given->is_refused = !reader->header (opened, &h);
  int64_t values[RUN_VALUES] = { h.version, h.abi, h.flags, h.fixed_fp, h.fixed_ra, h.aux_len,
				 h.num_fdes, h.num_fres, h.fre_len, h.fdeoff, h.freoff };
  memcpy (given->values, values, sizeof values);
}

static void
run_fde (const struct kit_reader *reader, void *opened, uint32_t index, struct kit_fde *fde,
	 struct run_given *given)
{
  given->is_there = true;
  fde->is_faulty = index >= reader->fdes (opened);
  if (!fde->is_faulty)
    reader->fde (opened, index, fde);
  given->is_refused = fde->is_faulty;
  given->kind = fde->fault.kind;
  given->message = fde->fault.message;
  int64_t values[RUN_VALUES] = { (int64_t) fde->start, fde->size, fde->start_size, fde->is_mask,
				 fde->is_flex, fde->is_key_b, fde->is_signal, fde->rep_size,
				 fde->is_outermost, fde->rows };
  memcpy (given->values, values, sizeof values);
}

/* The numbers of a row after its start.  */
static void
run_rules (int64_t *values, const struct kit_row *row)
{
  values[1] = row->is_undefined;
  values[2] = row->is_mangled;
  if (row->is_undefined)
    return;
  run_rule (values + 3, &row->cfa);
  run_rule (values + 7, &row->ra);
  run_rule (values + 11, &row->fp);
}

static void
run_row (const struct kit_reader *reader, void *opened, const struct run_question *question,
	 struct run_given *given)
{
  struct kit_fde fde;
  struct kit_row row;
  run_clear (&fde, &row);
  run_fde (reader, opened, (uint32_t) question->first, &fde, given);
  if (fde.is_faulty)
    return;
  given->is_no_row = question->second >= fde.rows;
  if (!given->is_no_row)
    reader->row (opened, (uint32_t) question->first, (uint32_t) question->second, &row);
  memset (given->values, 0, sizeof given->values);
  given->is_refused = row.is_faulty;
  given->kind = row.fault.kind;
  given->message = row.fault.message;
  given->values[0] = row.start;
  run_rules (given->values, &row);
}

static void
run_look_up (const struct kit_reader *reader, void *opened, const struct run_question *question,
	     struct run_given *given)
{
  struct kit_place place;
  memset (&place, 0, sizeof place);
  place.wants_positions = true;
  place.fault.offset = -1;
  reader->look_up (opened, question->first, question->second != 0, &place);
  given->is_there = true;
  given->is_refused = place.found == KIT_FAULTY;
  given->kind = place.fault.kind;
  given->message = place.fault.message;
  given->has_row = place.found == KIT_ROW || place.found == KIT_NO_ROWS_OUTERMOST;
  given->is_flat = place.is_flat && given->has_row;
  if (given->is_flat)
    {
      place.rules.is_undefined |= place.found == KIT_NO_ROWS_OUTERMOST;
      run_rules (given->values, &place.rules);
      return;
    }
  if (place.is_flat)
    place.found = KIT_NO_FDE;
  given->values[0] = place.found;
  given->values[1] = place.found == KIT_NO_FDE ? 0 : place.fde;
  given->values[2] = place.found == KIT_ROW ? place.row : 0;
}

static void
run_step (const struct kit_reader *reader, void *opened, const struct run_question *question,
	  struct run_given *given)
{
  static const char *const whats[] = { "", "cfa", "ra", "fp" };
  int64_t *v = given->values;
  struct kit_frame frame;
  struct kit_step step;
  memset (&frame, 0, sizeof frame);
  memset (&step, 0, sizeof step);
  frame.pc = question->first;
  frame.sp = question->sp;
  frame.fp = question->fp;
  frame.is_return = question->second != 0;
  frame.is_topmost = question->is_topmost;
  step.kind = KIT_FAILED;
  run_registers = question->registers;
  run_register_count = question->register_count;
  run_memory = question->memory;
  run_memory_count = question->memory_count;
  run_address_bits = question->address_bits;
  reader->step (opened, &frame, &step);
  /* A walk may go on without FP.  The question is for all of the caller.  */
  if (step.kind == KIT_CALLER && step.caller.fp_is_lost)
    {
      step.kind = KIT_UNREADABLE;
      step.what = "fp";
      step.address = step.caller.fp_address;
    }
  given->is_there = true;
  given->message = step.message;
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

/* Whether a fault of the header shows in what the header describes.  */
static bool
run_shows_later (const struct kit_reader *reader, void *opened, const char *kind)
{
  if (strcmp (kind, "truncated") != 0 && strcmp (kind, "sub-section-out-of-bounds") != 0)
    return false;
  bool has_fdes = reader->fdes && reader->fde && reader->row;
  for (uint32_t i = 0; has_fdes && i < reader->fdes (opened); i++)
    {
      struct run_question row;
      struct run_given given;
      struct kit_fde fde;
      struct kit_row unused;
      memset (&row, 0, sizeof row);
      memset (&given, 0, sizeof given);
      run_clear (&fde, &unused);
      row.query = RUN_ROW;
      row.first = i;
      run_fde (reader, opened, i, &fde, &given);
      for (; row.second < fde.rows && !given.is_refused; row.second++)
	run_row (reader, opened, &row, &given);
      if (given.is_refused)
	return true;
    }
  return false;
}

static bool
run_open (const struct kit_reader *reader, const struct run_vector *vector, void **opened,
	  struct run_given *given)
{
  const struct run_accepted *own = &vector->questions[0].accepted[0];
  struct kit_section section;
  struct kit_fault fault;
  memset (&section, 0, sizeof section);
  memset (&fault, 0, sizeof fault);
  section.bytes = (unsigned char *) vector->bytes;
  section.size = vector->size;
  section.address = vector->address;
  section.abi = vector->abi;
  fault.offset = -1;
  *opened = reader->open (&section, &fault);
  run_abi = section.abi;
  given->is_refused = !*opened || (own->pattern == RUN_REJECT
				   && run_shows_later (reader, *opened, own->kind));
  given->kind = *opened ? NULL : fault.kind;
  given->message = fault.message;
  return *opened || !fault.unsupported;
}

/* The answer to a question about a section that was opened.  */
static void
run_ask (const struct kit_reader *reader, void *opened, const struct run_question *question,
	 struct run_given *given)
{
  struct kit_fde fde;
  struct kit_row row;
  run_clear (&fde, &row);
  bool has_fdes = reader->fdes && reader->fde && reader->row;
  if (question->query == RUN_HEADER && reader->header)
    run_header (reader, opened, given);
  else if (question->query == RUN_FDE && has_fdes)
    run_fde (reader, opened, (uint32_t) question->first, &fde, given);
  else if (question->query == RUN_ROW && has_fdes)
    run_row (reader, opened, question, given);
  else if (question->query == RUN_LOOK_UP && reader->look_up)
    run_look_up (reader, opened, question, given);
  else if (question->query == RUN_STEP && reader->step)
    run_step (reader, opened, question, given);
}

#endif
