# Flags for the emulator's C code, read by the build script of its package.
foreach(profile RELEASE RELWITHDEBINFO)
    set(CMAKE_C_FLAGS_${profile} "-O2 -DNDEBUG -ffile-prefix-map=${CMAKE_SOURCE_DIR}=unicorn" CACHE STRING "")
endforeach()
