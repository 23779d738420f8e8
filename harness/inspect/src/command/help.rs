//! The end of each command's `--help` text: examples with the name of the program,
//! and exit statuses if they have a special meaning.

/// Returns the text for `dump`.
#[must_use]
pub fn dump(program: &str) -> String {
    format!(
        "\
Examples:
  {program} dump corpus/builds/gnu-2.44/amd64/leaf.O2
  {program} dump section.bin --address 0x400b00 --json

Exit status:
  0  the section is well-formed
  1  a part of it is malformed: what can be decoded is printed, and standard error says what is
     wrong, at which offset of the section and against which clause
  2  there is nothing to decode
  4  interrupted, or what was found can't be written"
    )
}

/// Returns the text for `lint`.
#[must_use]
pub fn lint(program: &str) -> String {
    format!(
        "\
Examples:
  {program} lint corpus/builds/gnu-2.40/amd64/leaf.O2
  {program} lint object.o --sarif lint.sarif
  {program} lint --json build/ libx.a
  {program} lint --as-module module.ko

Exit status:
  0  no rule is broken: there may be warnings and notes
  1  an error; with --coverage also that too little has an FDE
  2  the file can't be used
  3  with --coverage: no call frame information says what could have an FDE
  4  interrupted, or what was found can't be written

specs/lints.md has all rules."
    )
}

/// Returns the text for `diff`.
#[must_use]
pub fn diff(program: &str) -> String {
    format!(
        "\
Examples:
  {program} diff corpus/builds/gnu-2.47/amd64/realign.O2
  {program} diff object.o --json

Exit status:
  0  no difference
  1  differences, or functions without an FDE that could have one (--coverage)
  2  one of the two is missing, or can't be read
  3  no instruction is described by both
  4  interrupted, or what was found can't be written

Functions without call frame information, those that can't be expressed in SFrame, and hazards are listed too; none of them changes the
status."
    )
}

/// Returns the text for `convert`.
#[must_use]
pub fn convert(program: &str) -> String {
    format!(
        "\
Examples:
  {program} convert corpus/builds/gnu-2.47/amd64/leaf.O2 --to 2 --output section.bin
  {program} convert --from eh-frame ./program --to 3 --elf program.sframe

Exit status:
  0  everything was carried over
  1  something was not
  2  nothing can be converted, as from the .eh_frame of a relocatable object
  3  there is no function
  4  interrupted, or the result can't be written

What could not be carried over is listed on standard error, and in the JSON: each function that was
left out, with each row that the version can't express, and what of call frame information is
malformed."
    )
}
