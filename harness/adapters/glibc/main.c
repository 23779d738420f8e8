/* The reader of glibc as a reader of the kit (harness/adapters/c): its look-up,
   and the stack walk of backtrace.

   ci/adapters compiles it together with glibc's source, so that
   AddressSanitizer and UndefinedBehaviorSanitizer watch both.  What the walk
   takes from the process it runs in comes from here and from stub: the section
   of an address, the words of the stack, and the bytes that mark a signal
   frame.  Nothing else of it is changed.  */

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sframe-kit.h"
#include "sanitizer.h"
#include "stub.h"

#include <sframe-read.c>
#include <sframe.c>

#ifndef VERSION
#define VERSION "unknown"
#endif

#define OTHER_ORDER 0xe2de

/* An opened section.  */
struct opened
{
  struct kit_section copy;
  sframe_decoder_ctx decoder;
  /* Where the row is that was asked about last, and its function and position.  */
  const char *row;
  uint32_t index, position;
};

/* The step that is taken.  */
static struct opened *current;
static struct kit_step *result;
static jmp_buf given_up;
static unsigned reads;
static uint64_t pc_of_step;
static bool was_signal;

/* In place of _dl_find_object.  */
int
stub_find_object (void *address, struct dl_find_object *found)
{
  (void) address;
  found->dlfo_sframe = current->copy.bytes;
  found->dlfo_flags = DLFO_FLAG_SFRAME;
  return 0;
}

/* In place of glibc's own, which dereferences the address: the process would
   end where this gives up.  RA is the first word that a step reads.  */
_Unwind_Ptr
read_stack_value (_Unwind_Ptr address)
{
  uint64_t value = 0;
  bool is_fp = reads++ > 0;
  if (!kit_read_u64 (address, &value))
    {
      result->kind = KIT_UNREADABLE;
      result->what = is_fp ? "fp" : "ra";
      result->address = address;
      longjmp (given_up, 1);
    }
  return value;
}

/* glibc's functions for signal frames dereference PC and SP: they get copies
   of what is there.  */
_Unwind_Reason_Code
stub_decode_signal_frame (struct cframe *frame)
{
  _Alignas (16) unsigned char code[16];
  union stub_signal_frame context;
  bool is_aarch64 = current->copy.abi == KIT_AARCH64;
  size_t size = is_aarch64 ? sizeof context.aarch64 : sizeof context.x86_64;
  memset (code, 0, sizeof code);
  if (!kit_read (pc_of_step, code, 9) || !kit_read (frame->sp, &context, size))
    return _URC_END_OF_STACK;
  struct cframe copy = { (_Unwind_Ptr) code, (_Unwind_Ptr) &context, frame->fp };
  _Unwind_Reason_Code code_of = is_aarch64 ? aarch64_decode_signal_frame (&copy)
					   : x86_64_decode_signal_frame (&copy);
  was_signal = code_of == _URC_NO_REASON;
  if (was_signal)
    *frame = copy;
  return code_of;
}

_Unwind_Reason_Code
stub_detect_outermost_frame (struct cframe *frame)
{
  return current->copy.abi == KIT_AARCH64 ? aarch64_detect_outermost_frame (frame)
					  : x86_64_detect_outermost_frame (frame);
}

/* It reads version 2 in the byte order of the machine, and looks nothing up if
   functions are not sorted.  Other versions are not its own.  */
static void *
open_section (struct kit_section *section, struct kit_fault *fault)
{
  uint16_t magic = 0;
  struct opened *opened = calloc (1, sizeof *opened);
  if (opened == NULL)
    return NULL;
  if (section->size >= sizeof magic)
    memcpy (&magic, section->bytes, sizeof magic);
  if (magic == OTHER_ORDER)
    fault->unsupported = "__sframe_decode: the other byte order";
  else if (magic == SFRAME_MAGIC && section->size > 2
	   && (section->bytes[2] == 1 || section->bytes[2] == 3))
    fault->unsupported = section->bytes[2] == 1 ? "__sframe_decode: version 1"
						: "__sframe_decode: version 3";
  else if (__sframe_decode (&opened->decoder, (const char *) section->bytes) == _URC_NO_REASON)
    {
      const sframe_header *header = &opened->decoder.sfd_header;
      section->abi = header->sfh_abi_arch == SFRAME_ABI_AMD64_ENDIAN_LITTLE
		       ? KIT_AMD64 : KIT_AARCH64;
      if (header->sfh_preamble.sfp_flags & SFRAME_F_FDE_SORTED)
	{
	  opened->copy = *section;
	  return opened;
	}
      fault->unsupported = "__sframe_find_fre: FDEs that are not sorted";
    }
  free (opened);
  return NULL;
}

static void
close_section (void *of)
{
  free (of);
}

static bool
header (void *of, struct kit_header *header)
{
  const struct opened *opened = of;
  const sframe_header *read = &opened->decoder.sfd_header;
  *header = (struct kit_header) {
    .version = read->sfh_preamble.sfp_version, .flags = read->sfh_preamble.sfp_flags,
    .aux_len = read->sfh_auxhdr_len, .abi = opened->copy.abi,
    .fixed_fp = read->sfh_cfa_fixed_fp_offset, .fixed_ra = read->sfh_cfa_fixed_ra_offset,
    .num_fdes = read->sfh_num_fdes, .num_fres = read->sfh_num_fres,
    .fre_len = read->sfh_fre_len, .fdeoff = read->sfh_fdeoff, .freoff = read->sfh_freoff };
  return true;
}

static uint32_t
fdes (void *of)
{
  return ((struct opened *) of)->decoder.sfd_header.sfh_num_fdes;
}

static void
fde (void *of, uint32_t index, struct kit_fde *fde)
{
  struct opened *opened = of;
  sframe_func_desc_entry read = opened->decoder.sfd_funcdesc[index];
  fde->start_size = sframe_fre_start_addr_size (sframe_get_fre_type (&read));
  fde->is_faulty = fde->start_size == 0;
  fde->start = opened->copy.address
	       + (int64_t) sframe_decoder_get_secrel_func_start_addr (&opened->decoder, index);
  fde->size = read.sfde_func_size;
  fde->rep_size = read.sfde_func_rep_size;
  fde->rows = read.sfde_func_num_fres;
  fde->is_mask = sframe_get_fde_type (&read) == SFRAME_FDE_TYPE_PCMASK;
  fde->is_key_b = SFRAME_V1_FUNC_PAUTH_KEY (read.sfde_func_info) == SFRAME_AARCH64_PAUTH_KEY_B;
}

/* The row at a position of a function, as __sframe_find_fre goes through them.  */
static void
row_at (struct opened *opened, uint32_t index, uint32_t position,
	sframe_frame_row_entry *row)
{
  sframe_func_desc_entry read = opened->decoder.sfd_funcdesc[index];
  uint32_t type = sframe_get_fre_type (&read);
  size_t width = sframe_fre_start_addr_size (type);
  /* Rows are asked about in order, and there may be many.  */
  if (opened->row == NULL || opened->index != index || opened->position > position)
    {
      opened->row = opened->decoder.sfd_fres + read.sfde_func_start_fre_off;
      opened->index = index;
      opened->position = 0;
    }
  for (; ; opened->position++, opened->row += sframe_fre_entry_size (row, width))
    {
      sframe_decode_fre_start_address (opened->row, &row->fre_start_addr, type);
      row->fre_info = *(const uint8_t *) (opened->row + width);
      row->fre_offsets = opened->row + width + sizeof row->fre_info;
      if (opened->position == position)
	return;
    }
}

static struct kit_rule
saved (int32_t offset)
{
  return (struct kit_rule) { .is_there = true, .dereference = true, .base = KIT_CFA,
			     .offset = offset };
}

static void
row (void *of, uint32_t index, uint32_t position, struct kit_row *rules)
{
  struct opened *opened = of;
  sframe_decoder_ctx *decoder = &opened->decoder;
  sframe_frame_row_entry row;
  _Unwind_Reason_Code error;
  row_at (opened, index, position, &row);
  rules->start = row.fre_start_addr;
  rules->is_mangled = sframe_get_fre_ra_mangled_p (row.fre_info);
  int32_t offset = __sframe_fre_get_cfa_offset (decoder, &row, &error);
  rules->is_faulty = error != _URC_NO_REASON;
  rules->cfa = (struct kit_rule) {
    .is_there = true, .offset = offset,
    .base = __sframe_fre_get_base_reg_id (&row) == SFRAME_BASE_REG_SP ? KIT_SP : KIT_FP };
  offset = __sframe_fre_get_ra_offset (decoder, &row, &error);
  if (error == _URC_NO_REASON)
    rules->ra = saved (offset);
  offset = __sframe_fre_get_fp_offset (decoder, &row, &error);
  if (error == _URC_NO_REASON)
    rules->fp = saved (offset);
}

/* The row is the one whose words are where those of the found one are.  */
static void
look_up (void *of, uint64_t pc, bool is_return, struct kit_place *place)
{
  struct opened *opened = of;
  int64_t distance = pc - is_return - opened->copy.address;
  int32_t at = distance;
  sframe_frame_row_entry found, other;
  int error = 0;
  /* glibc asks about PCs of the object that has the section.  */
  if (at != distance)
    {
      place->found = KIT_NO_FDE;
      return;
    }
  _Unwind_Reason_Code code = __sframe_find_fre (&opened->decoder, at, &found);
  bool is_there
    = sframe_get_funcdesc_with_addr_internal (&opened->decoder, at, &error, &place->fde) != NULL;
  if (code != _URC_NO_REASON)
    {
      place->found = is_there ? KIT_NO_ROW : KIT_NO_FDE;
      return;
    }
  place->found = KIT_ROW;
  for (place->row = 0; ; place->row++)
    {
      row_at (opened, place->fde, place->row, &other);
      if (other.fre_offsets == found.fre_offsets)
	return;
    }
}

/* Why the walk has given up on a frame, which it does not say: it leaves the
   whole stack to the walk with .eh_frame then.  */
static void
explain (struct opened *opened, const struct kit_frame *frame, struct kit_step *step)
{
  struct kit_place place = { .found = KIT_NO_FDE };
  look_up (opened, frame->pc, false, &place);
  if (place.found != KIT_ROW)
    {
      step->kind = place.found == KIT_NO_ROW ? KIT_END_NO_ROW : KIT_END_NO_FDE;
      return;
    }
  sframe_frame_row_entry row;
  _Unwind_Reason_Code error;
  row_at (opened, place.fde, place.row, &row);
  __sframe_fre_get_cfa_offset (&opened->decoder, &row, &error);
  step->kind = error == _URC_NO_REASON ? KIT_RA_NOT_SAVED : KIT_FAILED;
  step->message = error == _URC_NO_REASON ? "no RA offset" : "no CFA offset";
}

/* One round of the loop of glibc's walk.  It takes the section to be where its
   bytes are, so the PC is moved there.  */
static void
step (void *of, const struct kit_frame *frame, struct kit_step *step)
{
  current = of;
  pc_of_step = frame->pc;
  struct cframe state = { frame->pc - current->copy.address + (uintptr_t) current->copy.bytes,
			  frame->sp, frame->fp };
  void *ra = NULL;
  result = step;
  reads = 0;
  was_signal = false;
  if (setjmp (given_up) != 0)
    return;
  if (__stacktrace_sframe (&ra, 1, &state) != 1)
    {
      explain (of, frame, step);
      return;
    }
  step->kind = KIT_CALLER;
  step->has_cfa = !was_signal;
  step->cfa = state.sp - SFRAME_SP_VAL_OFFSET;
  step->caller = (struct kit_frame) { .pc = state.pc, .sp = state.sp, .fp = state.fp,
				      .is_return = !was_signal };
}

int
main (void)
{
  report_memory_errors ();
  struct kit_reader reader
    = { .name = "glibc", .version = VERSION, .open = open_section, .close = close_section,
	.look_up = look_up, .step = step, .header = header, .fdes = fdes, .fde = fde,
	.row = row };
  return kit_main (&reader);
}
