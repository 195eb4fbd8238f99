#include "apsis/optim/wrap.hpp"

#include <algorithm>

#include "apsis/optim/masked.hpp"
#include "optim/support.hpp"

namespace apsis::optim::detail {

void choose(const Array& condition, std::vector<Array>& a, const std::vector<Array>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!a[i].is_empty() && !b[i].is_empty()) a[i] = where(condition, astype(a[i], b[i].dtype()), b[i]);
}

Array zeros_if_floating(const Array& x) { return Start::is_trained(x) ? zeros_like(x) : Array(); }

Array accumulated(const Array& g, const Array& sum, const Array& count, bool mean) {
  return astype(mean ? sum + (g - sum) / astype(count + 1, sum.dtype()) : sum + g, sum.dtype());
}

Array all_finite(const std::vector<Array>& leaves) {
  Array finite = true;
  for (const Array& x : leaves)
    if (!x.is_empty()) finite = finite && all(isfinite(x));
  return finite;
}

void check_count(const char* rule, const char* name, const Array& value, Loc loc) {
  if (value.ndim() != 0) fail(messages::optimizer_option_shape, {rule, name, to_string(value.aval())}, loc);
  const Array known = concrete_value(value);
  if (!known.is_empty() && known.item<double>() < 1)
    fail_option(rule, name, to_string(known), "1 or more", loc);
}

void fail_option(const char* rule, const char* name, const std::string& value, const char* range, Loc loc) {
  fail(messages::optimizer_option, {rule, name, value, range}, loc);
}

void check_labels(ConstTreeRef params, const std::vector<Array>& leaves,
                  const std::vector<std::string>& labels, const std::vector<std::string>& known, Loc loc) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (leaves[i].is_empty() || std::find(known.begin(), known.end(), labels[i]) != known.end()) continue;
    std::string list;
    for (const std::string& k : known) list += (list.empty() ? "'" : ", '") + k + "'";
    fail(messages::optimizer_label, {labels[i], leaf_paths(params, "params")[i], list}, loc);
  }
}

}  // namespace apsis::optim::detail
