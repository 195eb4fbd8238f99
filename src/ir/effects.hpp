#pragma once

// What the rooms share about ops with effects.

#include "ir/graph.hpp"

namespace apsis::detail {

/// error_if: operands (code, values…), no results. The code is boolean or i64; where an element k of it is
/// not zero, row k (clamped) of `texts` is thrown, with {0}, {1}, … replaced by the values. The first
/// `lane_axes` axes of all operands count lanes.
struct ErrorIfParams {
  std::vector<std::string> ids, texts;
  std::string place;  // of the user's call, as errors end; may be empty
  std::int64_t lane_axes = 0;
  static void each(auto& self, auto&& visit) {
    visit("ids", self.ids);
    visit("texts", self.texts);
    visit("place", self.place);
    visit("lane_axes", self.lane_axes);
  }
};
extern const Op error_if_op;

/// Whether something in the graph, in regions too, calls a function of the host: then lanes run one after the
/// other.
bool calls_host(const Graph& graph);

/// While it lives, this thread runs lane `index` of a map_lanes, which errors name.
class LaneScope {
 public:
  explicit LaneScope(std::int64_t index);
  ~LaneScope();
  LaneScope(const LaneScope&) = delete;
  LaneScope& operator=(const LaneScope&) = delete;

 private:
  friend std::vector<std::int64_t> current_lanes();
  std::int64_t index_;
  const LaneScope* outer_;
};
/// The lanes this thread is in, the outermost first.
std::vector<std::int64_t> current_lanes();

}  // namespace apsis::detail
