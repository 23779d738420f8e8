; A function, and one that it calls, for link-time optimisation: the linker compiles them, without rows.
; ci/links writes the lines of the target before these.
define i32 @of_lto() noinline nounwind uwtable {
  %n = call i32 @of_lto_inner()
  ret i32 %n
}
define internal i32 @of_lto_inner() noinline nounwind uwtable {
  ret i32 0
}
