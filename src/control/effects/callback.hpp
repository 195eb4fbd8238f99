#pragma once

#include "apsis/control/host_function.hpp"
#include "apsis/core/make_params.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

/// The callback ops: results of these dtypes and shapes. The first `lane_axes` axes of all operands and
/// results count lanes, for each of which the function is called.
struct CallbackParams {
  HostFunction function;
  std::string name;
  std::vector<Dtype> dtypes;
  std::vector<Shape> shapes;
  std::int64_t vmap_method = 0, lane_axes = 0;
  bool ordered = false;
  std::string file, called_in;  // where the user calls it, which errors name
  std::int64_t line = 0;
  static void each(auto& self, auto&& visit) {
    visit("name", self.name);
    visit("dtypes", self.dtypes);
    visit("shapes", self.shapes);
    visit("vmap_method", self.vmap_method);
    visit("lane_axes", self.lane_axes);
    visit("ordered", self.ordered);
    visit("file", self.file);
    visit("called_in", self.called_in);
    visit("line", self.line);
    visit("function", self.function);
  }
};

inline std::uint64_t hash_field(std::uint64_t seed, const HostFunction& f) {
  return hash_word(seed, f.hash());
}
inline void print_field(std::string& out, const HostFunction&) { out += "host"; }

// Without parse rules, as a function of the host has no text: so programs that call one are not kept on disk.
extern const Op pure_callback_op, io_callback_op;

/// Throws if the graph has an ordered callback, in regions too: lanes have no one order.
void refuse_ordered(const Graph& graph);

}  // namespace apsis::detail
