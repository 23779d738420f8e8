#include "runtime/assembly.h"

        .text
saves:  stmg    %r14, %r15, 112(%r15)
copies: mvc     160(8,%r15), 168(%r15)

function saver
        exrl    %r0, saves
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        brasl   %r14, copier
        lmg     %r14, %r15, 272(%r15)
        .cfi_restore %r15
        .cfi_restore %r14
        .cfi_adjust_cfa_offset -160
        br      %r14
end saver

function copier
        exrl    %r0, copies
        br      %r14
end copier

function main
        stmg    %r14, %r15, 112(%r15)
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -176
        .cfi_adjust_cfa_offset 176
        brasl   %r14, saver
        brasl   %r14, copier
        brasl   %r14, ends
end main

        /* Right behind its call, which it does not return from.  */
function ends
        exrl    %r0, saves
        .cfi_offset %r14, -48
        .cfi_offset %r15, -40
        aghi    %r15, -160
        .cfi_adjust_cfa_offset 160
        lghi    %r2, 0
        svc     248                     /* exit_group */
end ends
