# Flags every room is built with. No contraction by the host compiler: a multiply-add is an op of its own,
# so that the evaluator and the compiled code agree bit for bit.
add_library(apsis_options INTERFACE)
target_compile_options(apsis_options INTERFACE -march=x86-64-v3 -ffp-contract=off -Wall -Wextra)
if(APSIS_WERROR)
  target_compile_options(apsis_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 in inlined small-buffer containers.
  target_compile_options(apsis_options INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-maybe-uninitialized
                                                 -Wno-missing-field-initializers)
else()
  target_compile_options(apsis_options INTERFACE -Wno-missing-field-initializers -Wno-missing-designated-field-initializers
                                                 -Wno-unknown-warning-option)
  # libstdc++ 12 uses in its stable sorts what C++17 deprecated.
  target_compile_options(apsis_options INTERFACE -Wno-deprecated-declarations)
endif()
if(APSIS_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # clang looks for the type of a function in front of its code, where compiled functions have none.
    add_compile_options(-fno-sanitize=function)
  endif()
  add_link_options(-fsanitize=address,undefined)
elseif(APSIS_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=thread)
endif()
if(APSIS_SANITIZE AND NOT APSIS_SANITIZE STREQUAL "valgrind")
  add_compile_definitions(APSIS_SANITIZED)
endif()
find_program(APSIS_CCACHE ccache)
if(APSIS_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # What it must be told to take precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${APSIS_CCACHE})
endif()
