#include "apsis/optim/optimizer.hpp"
#include "optim/messages.hpp"

namespace apsis::detail {
namespace {

bool holds(OptionRange range, double x) {
  switch (range) {
    case OptionRange::Finite:
      return x - x == 0;
    case OptionRange::NotNegative:
      return x >= 0;
    case OptionRange::Fraction:
      return x >= 0 && x < 1;
  }
  return false;
}

constexpr const char* texts[] = {"finite", "at least 0", "at least 0 and less than 1"};

}  // namespace

void check_option(const char* optimizer, const char* name, const Array& value, OptionRange range, Loc loc) {
  const Array known = concrete_value(value);
  if (known.is_empty()) return;
  for (double x : known.to_vector<double>())
    if (!holds(range, x))
      fail(messages::optimizer_option, {optimizer, name, to_string(known), texts[static_cast<int>(range)]},
           loc);
}

}  // namespace apsis::detail
