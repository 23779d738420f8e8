/* What assembly sources share. `end` closes a function whose last instruction
   has call frame information; where some at its end have none, because no rule
   could be right there, `uncovered` comes before them and `end_uncovered` after
   them.  */

        .macro  function name
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .cfi_startproc
        .endm

        .macro  end name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .macro  uncovered
        .cfi_endproc
        .endm

        .macro  end_uncovered name
        .size   \name, . - \name
        .endm
