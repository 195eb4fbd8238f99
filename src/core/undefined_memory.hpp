#pragma once

// Memory that is given out again holds nothing that may be read. valgrind cannot see that by itself where the
// library keeps blocks; a build with APSIS_SANITIZE=valgrind tells it.

#include <cstddef>

#ifdef APSIS_VALGRIND
#include <valgrind/memcheck.h>
#endif

namespace apsis::detail {

#ifdef APSIS_VALGRIND
constexpr bool marks_memory = true;
static inline void mark_undefined(void* memory, std::size_t bytes) {
  (void)VALGRIND_MAKE_MEM_UNDEFINED(memory, bytes);
}
#else
constexpr bool marks_memory = false;
static inline void mark_undefined(void*, std::size_t) {}
#endif

}  // namespace apsis::detail
