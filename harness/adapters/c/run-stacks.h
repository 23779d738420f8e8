/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   Walks stacks from tables, and compares them with the frames that there were:
   the runner of sframe-testbench export stacks.  */

#ifndef SFRAME_RUN_STACKS_H
#define SFRAME_RUN_STACKS_H

#include "run-apart.h"

#define RUN_IMAGES 16

struct run_image
{
  uint64_t start, end, address;
  const unsigned char *bytes;
  size_t size;
};

/* The CFA of the last frame is not known.  */
struct run_frame
{
  uint64_t pc, cfa, fp;
};

/* How a walk ends that makes no mistake: marked as outermost, with any end
   where all frames were found, or at a frame whose caller can't be found.  */
enum run_end { RUN_OUTERMOST, RUN_ANY, RUN_STOPS };

struct run_moment
{
  const struct run_word *registers, *memory;
  unsigned register_count, memory_count;
  const struct run_frame *frames;
  unsigned frame_count;
  enum run_end end;
  unsigned end_frame;
};

struct run_program
{
  const char *name;
  enum kit_abi abi;
  unsigned address_bits;
  const struct run_image *images;
  unsigned image_count;
  const struct run_moment *moments;
  unsigned moment_count;
};

/* Walks from a moment.  Returns what is wrong, or null; and at which frame.  */
static const char *
run_walk (const struct kit_reader *reader, const struct run_program *program,
	  const struct run_moment *moment, void **opened, unsigned *at)
{
  struct kit_frame frame;
  memset (&frame, 0, sizeof frame);
  frame.pc = moment->frames[0].pc;
  frame.fp = moment->frames[0].fp;
  frame.is_topmost = true;
  run_abi = program->abi;
  run_address_bits = program->address_bits;
  run_registers = moment->registers;
  run_register_count = moment->register_count;
  run_memory = moment->memory;
  run_memory_count = moment->memory_count;
  kit_register (kit_sp_number (run_abi), &frame.sp);
  for (*at = 0; ; ++*at)
    {
      const struct run_frame *expected = &moment->frames[*at];
      bool is_last = *at + 1 == moment->frame_count;
      bool may_stop = is_last || (moment->end == RUN_STOPS && *at == moment->end_frame);
      struct kit_step step;
      memset (&step, 0, sizeof step);
      step.kind = KIT_END_NO_FDE;
      for (unsigned i = 0; i < program->image_count; i++)
	if (opened[i] && frame.pc - frame.is_return - program->images[i].start
			   < program->images[i].end - program->images[i].start)
	  {
	    step.kind = KIT_CALLER;
	    reader->step (opened[i], &frame, &step);
	    break;
	  }
      if (is_last && moment->end == RUN_OUTERMOST)
	return step.kind == KIT_OUTERMOST ? NULL : "it does not end as outermost";
      if (is_last && step.kind == KIT_CALLER)
	return moment->end == RUN_ANY ? NULL : "there is one frame more";
      if (step.kind == KIT_OUTERMOST && moment->end == RUN_STOPS)
	return "it ends as outermost";
      if (step.kind != KIT_CALLER && !may_stop)
	return "it ends here";
      /* Only the section's mark makes a walk whole.  */
      if (step.kind != KIT_CALLER)
	return step.kind != KIT_OUTERMOST && reader->reliable && reader->reliable (&frame, &step)
		 ? "it is called reliable" : NULL;
      if (step.has_cfa && step.cfa != expected->cfa)
	return "another CFA";
      step.caller.is_doubtful |= frame.is_doubtful;
      frame = step.caller;
      frame.is_topmost = false;
      if (frame.pc != expected[1].pc)
	return "another return address";
      /* An FP that the reader does not know is not compared: a walk that needs it
	 ends too early.  */
      if (!frame.fp_is_lost && frame.fp != expected[1].fp)
	return may_stop ? NULL : "another FP of the caller";
    }
}

/* What has become of the moments of programs.  */
struct run_walks
{
  const struct run_program *program;
  long asked, wrong, skipped;
};

/* An event of programs: the reader does not read its sections.  */
enum { RUN_UNREAD = RUN_OWN };

static inline void
run_hear_walk (void *of, const struct run_news *news)
{
  struct run_walks *walks = (struct run_walks *) of;
  const struct run_program *program = walks->program;
  bool is_walk = news->at > 0 && news->at <= program->moment_count;
  if ((int) news->event == RUN_UNREAD)
    walks->skipped += program->moment_count;
  walks->asked += is_walk && news->event == RUN_ASKED;
  if (news->event != RUN_WRONG && news->event != RUN_CRASHED)
    return;
  walks->wrong++;
  if (news->event == RUN_WRONG)
    KIT_SAY (RUN_NOTE "%s, moment %u, frame %u: %s\n", program->name, news->at - 1, news->more,
	     news->what);
  else if (is_walk)
    KIT_SAY (RUN_NOTE "%s, moment %u: %s %u\n", program->name, news->at - 1, news->what, news->more);
  else
    KIT_SAY (RUN_NOTE "%s, %s: %s %u\n", program->name, news->at ? "closing" : "opening",
	     news->what, news->more);
}

/* Walks from the moments of a program, from one on: they count from 1.  */
static inline void
run_program_from (const struct kit_reader *reader, const void *table, unsigned from,
		  struct run_listener *listener)
{
  const struct run_program *program = (const struct run_program *) table;
  struct kit_section sections[RUN_IMAGES];
  struct kit_fault fault;
  void *opened[RUN_IMAGES];
  memset (sections, 0, sizeof sections);
  memset (&fault, 0, sizeof fault);
  memset (opened, 0, sizeof opened);
  fault.offset = -1;
  bool is_open = program->image_count <= RUN_IMAGES;
  if (from == 0)
    run_tell (listener, run_about (0, RUN_ASKED));
  for (unsigned i = 0; i < program->image_count && is_open; i++)
    {
      const struct run_image *image = &program->images[i];
      sections[i].bytes = (unsigned char *) image->bytes;
      sections[i].size = image->size;
      sections[i].address = image->address;
      sections[i].abi = program->abi;
      if (image->size)
	opened[i] = reader->open (&sections[i], &fault);
      is_open = opened[i] || !image->size;
    }
  if (from == 0 && !is_open)
    run_tell (listener, run_about (0, (enum run_event) RUN_UNREAD));
  for (unsigned m = from ? from : 1; m <= program->moment_count && is_open; m++)
    {
      struct run_news news = run_about (m, RUN_ASKED);
      run_tell (listener, news);
      news.what = run_walk (reader, program, &program->moments[m - 1], opened, &news.more);
      news.event = news.what ? RUN_WRONG : RUN_RIGHT;
      run_tell (listener, news);
    }
  run_tell (listener, run_about (program->moment_count + 1, RUN_ASKED));
  for (unsigned i = 0; i < RUN_IMAGES; i++)
    if (opened[i] && reader->close)
      reader->close (opened[i]);
}

/* Walks from all moments, and says what is wrong.  Returns the number of
   moments at which something is, or -1 if the reader was asked about none.  */
static inline long
run_stacks (const struct kit_reader *reader, const struct run_program *programs,
	    unsigned count)
{
  struct run_walks walks = { NULL, 0, 0, 0 };
  run_tests (count);
  for (unsigned p = 0; p < count; p++)
    {
      const struct run_program *program = &programs[p];
      long wrong = walks.wrong, skipped = walks.skipped;
      walks.program = program;
      run_apart (reader, run_program_from, program, program->moment_count + 1, program->name,
		 run_hear_walk, &walks);
      run_test (p, program->name, walks.wrong == wrong, walks.skipped != skipped);
    }
  KIT_SAY (RUN_NOTE "%s: asked at %ld moments, %ld wrong; %ld not read\n", reader->name,
	   walks.asked, walks.wrong, walks.skipped);
  return walks.asked || walks.wrong ? walks.wrong : -1;
}

#endif
