# Flags for the emulator's C code, read by the build script of its package.
foreach(profile RELEASE RELWITHDEBINFO)
    set(CMAKE_C_FLAGS_${profile} "-O2 -DNDEBUG" CACHE STRING "")
endforeach()
