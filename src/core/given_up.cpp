#include "core/given_up.hpp"

#include "core/messages.hpp"

namespace apsis::detail {
namespace {

constexpr std::uint64_t given_up_tag = ~std::uint64_t{0};  // no trace has it

}  // namespace

Array given_up_array(const Aval& aval) {
  auto* node = new AbstractNode(aval);
  node->tag = given_up_tag;
  return Array::adopt(node);
}

void fail_abstract(const Array& a, const char* where, Loc loc) {
  auto* node = static_cast<AbstractNode*>(a.node());
  fail(node->tag == given_up_tag ? messages::given_up : messages::abstract_value,
       {where, to_string(node->aval)}, loc);
}

}  // namespace apsis::detail
