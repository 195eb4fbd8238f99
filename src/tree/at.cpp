#include "apsis/tree/at.hpp"

#include "tree/messages.hpp"

namespace apsis::detail {

void fail_at_index(long long index, std::size_t size, std::string_view type) {
  fail(messages::at_index, {std::to_string(index), std::to_string(size), std::string(type)});
}

void fail_at_absent(const char* what) { fail(messages::at_absent, {what}); }

void fail_at_key(const std::string& key, std::size_t size) {
  fail(messages::at_key, {key, std::to_string(size)});
}

}  // namespace apsis::detail
