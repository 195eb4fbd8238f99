#include "apsis/core/outside_library.hpp"

#include <dlfcn.h>

#include "core/messages.hpp"

namespace apsis::detail {

void* OutsideLibrary::find(const char* function) const {
  // Never closed: it may keep threads and buffers.
  void* library = dlopen(file_, RTLD_LAZY | RTLD_LOCAL);
  void* found = library ? dlsym(library, function) : nullptr;
  if (!found) {
    const char* reason = dlerror();
    fail(messages::no_library, {file_, reason ? reason : "it is another library"});
  }
  return found;
}

}  // namespace apsis::detail
