/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only

   A kit for readers in C: it speaks the protocol of the SFrame test bench
   (harness/protocol/README.md), so that a reader is hooked in by three
   functions: open, look_up and step.  It needs POSIX and no library.

     static const struct kit_reader reader = {
       .name = "mine", .version = "1", .open = my_open,
       .look_up = my_look_up, .step = my_step,
     };

     int main (void) { return kit_main (&reader); }

   Copy it with sframe-kit.c beside the reader, or name its folder:

     cc -I harness/adapters/c mine.c harness/adapters/c/sframe-kit.c -o mine
     sframe-testbench vectors --unwinder ./mine
     sframe-testbench check --unwinder ./mine PROGRAM

   A hook that is left out leaves its part unanswered; the bench counts that.
   A reader that decodes rows and has no steps gives the rules with each
   look-up instead, and the kit walks with them.  */

#ifndef SFRAME_KIT_H
#define SFRAME_KIT_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Unknown: the header of a malformed section may say anything.  */
enum kit_abi { KIT_UNKNOWN, KIT_AMD64, KIT_AARCH64, KIT_AARCH64_BE, KIT_S390X };

/* A section.  Its first byte has any alignment.  Where the kit gives it, in an
   adapter, the byte after its last one can't be read: it is the end of an
   allocation that AddressSanitizer watches or, without the sanitizer, the
   start of a guard page.  In tables of sframe-testbench export it is the end
   of an array, which nothing but AddressSanitizer watches.  */
struct kit_section
{
  unsigned char *bytes;
  size_t size;
  /* Where it is loaded.  PCs are compared with this.  */
  uint64_t address;
  /* Open corrects it if the header says otherwise.  */
  enum kit_abi abi;
  /* The bytes that are loaded with it, in their file; null in vectors.  */
  const char *path;
};

/* Why something is refused.  A kind of corpus/vectors/README.md, or null: it is
   refused, and the reader does not say why.  */
struct kit_fault
{
  const char *kind;
  /* The place in the section, or -1.  */
  int64_t offset;
  /* The reader does not claim to read this: the reason.  The vector, or the
     program, is skipped.  */
  const char *unsupported;
  /* What the reader says about it, for findings; or null.  */
  const char *message;
};

/* A value is the base plus an offset, or the 8 bytes loaded from there.  Other
   bases than these are registers by their DWARF numbers.  */
enum { KIT_CFA = -1, KIT_SP = -2, KIT_FP = -3 };

struct kit_rule
{
  /* False: the value is still in its register.  Always true for the CFA.  */
  bool is_there;
  bool dereference;
  int base;
  int64_t offset;
};

/* A row.  Offsets of s390x are not scaled any more, and fixed offsets of the
   header are rules as others.  */
struct kit_row
{
  bool is_faulty;
  struct kit_fault fault;
  uint32_t start;
  /* RA is undefined: an outermost frame, without rules.  */
  bool is_undefined;
  bool is_mangled;
  struct kit_rule cfa, ra, fp;
};

/* A function.  */
struct kit_fde
{
  bool is_faulty;
  struct kit_fault fault;
  uint64_t start;
  uint32_t size;
  /* Bytes of a row's start: 1, 2 or 4.  */
  unsigned start_size;
  bool is_mask, is_flex, is_key_b, is_signal;
  /* It has no rows because it is an outermost frame.  */
  bool is_outermost;
  uint8_t rep_size;
  uint32_t rows;
};

struct kit_header
{
  uint8_t version, flags, aux_len;
  enum kit_abi abi;
  int8_t fixed_fp, fixed_ra;
  uint32_t num_fdes, num_fres, fre_len, fdeoff, freoff;
};

enum kit_found { KIT_NO_FDE, KIT_NO_ROW, KIT_NO_ROWS_OUTERMOST, KIT_ROW, KIT_FAULTY };

/* The result of a look-up.  */
struct kit_place
{
  enum kit_found found;
  /* Positions, from 0, of the function and its row; if the kit asks for them,
     which it does for vectors only.  */
  bool wants_positions;
  uint32_t fde, row;
  /* The reader has no positions, as one that keeps rows in a private list: its
     answer is the rules, and it finds no function without rows.  */
  bool is_flat;
  struct kit_fault fault;
  /* For readers without step or without positions: the row, and what is used of
     its function.  */
  struct kit_row rules;
  bool is_signal, is_key_b;
};

/* A frame.  */
struct kit_frame
{
  uint64_t pc, sp, fp;
  /* The PC is a return address: look up the byte before it.  Otherwise it
     executes next, as in the topmost frame and in the caller of a signal
     frame.  */
  bool is_return;
  /* Registers other than SP and FP are known: kit_register.  */
  bool is_topmost;
  /* Where FP could not be read from, if fp_is_lost.  */
  bool fp_is_lost;
  uint64_t fp_address;
  /* Calls in a row that have left SP alone; for the reader to count.  */
  unsigned same_sp;
  /* For readers with reliable: something on the way here makes the walk one
     that is not to be relied on.  A step says so of the caller, and the kit
     keeps it.  */
  bool is_doubtful;
};

/* How a step ends.  */
enum kit_end_kind
{
  KIT_CALLER, KIT_OUTERMOST, KIT_END_NO_FDE, KIT_END_NO_ROW, KIT_MALFORMED,
  KIT_UNREADABLE, KIT_UNSAFE_REGISTER, KIT_UNKNOWN_REGISTER,
  KIT_RA_NOT_SAVED, KIT_MISALIGNED, KIT_NO_PROGRESS, KIT_FAILED
};

struct kit_step
{
  enum kit_end_kind kind;
  /* KIT_CALLER: the caller.  */
  struct kit_frame caller;
  /* The CFA of the frame (not of the caller), if it is known.  */
  bool has_cfa;
  uint64_t cfa;
  /* The return address before its authentication code was stripped.  */
  bool is_mangled, is_key_b;
  uint64_t mangled;
  /* What could not be had, "cfa", "ra" or "fp", and where.  */
  const char *what;
  uint64_t address;
  unsigned number;
  /* Anything that findings should quote, or null.  */
  const char *message;
};

/* A reader.  An opened section is whatever open returns.  */
struct kit_reader
{
  const char *name, *version;
  /* What stacks are walked with: "sframe" if null.  */
  const char *data;

  /* Opens a section, or returns null and says why not.  */
  void *(*open) (struct kit_section *, struct kit_fault *);
  void (*close) (void *);
  /* The function and row for a PC, or for the byte before a return address.  */
  void (*look_up) (void *, uint64_t pc, bool is_return, struct kit_place *);
  /* From a frame, whose PC is in the section's image, to its caller.  */
  void (*step) (void *, const struct kit_frame *, struct kit_step *);

  /* For vectors.  The rows of a function are asked for in their order: with
     many of them, a reader remembers where the last one ended.  */
  /* False, if there is none to be shown, is a wrong answer; a reader without
     headers leaves the pointer null.  */
  bool (*header) (void *, struct kit_header *);
  uint32_t (*fdes) (void *);
  void (*fde) (void *, uint32_t index, struct kit_fde *);
  void (*row) (void *, uint32_t fde, uint32_t index, struct kit_row *);

  /* Whether a walk may be relied on, for a live patch: its last frame, and how
     it has ended there.  Null: the reader has no such notion.  */
  bool (*reliable) (const struct kit_frame *, const struct kit_step *);
  /* Sections that come and go while a program runs: open and close are called
     at those moments, and nothing is asked before they return.  */
  bool follows;
};

/* Answers requests on standard input until it ends.  Returns an exit status.
   Standard output is for the answers: what the reader prints there goes to
   standard error from now on.  */
int kit_main (const struct kit_reader *);

/* For step.  Memory as it is at the moment of the walk: false if it can't be
   read.  The number is in the byte order of the program.  */
bool kit_read_u64 (uint64_t address, uint64_t *);
bool kit_read (uint64_t address, void *, size_t);
/* A register of the topmost frame by its DWARF number, if it is known.  */
bool kit_register (unsigned number, uint64_t *);
/* An address without its authentication code.  */
uint64_t kit_strip (uint64_t address);
/* The DWARF numbers of an ABI's registers.  */
static inline unsigned
kit_sp_number (enum kit_abi of)
{
  return of == KIT_AMD64 ? 7 : of == KIT_S390X ? 15 : 31;
}

static inline unsigned
kit_fp_number (enum kit_abi of)
{
  return of == KIT_AMD64 ? 6 : of == KIT_S390X ? 11 : 29;
}

static inline unsigned
kit_ra_number (enum kit_abi of)
{
  return of == KIT_AMD64 ? 16 : of == KIT_S390X ? 14 : 30;
}

#ifdef __cplusplus
}
#endif

#endif
