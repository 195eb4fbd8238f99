#pragma once

// What the rooms share about ops with effects.

#include <atomic>
#include <memory>

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

/// raise_when: operands (condition: bool[], values…), no results. Where the condition holds, `region` runs on
/// the values: it has error_ifs alone for effects, one of which raises its error. No function stages it: code
/// generation puts it in the place of a group of error_ifs.
struct RaiseWhenParams {
  GraphRef region;
  static void each(auto& self, auto&& visit) { visit("region", self.region); }
};
extern const Op raise_when_op;

/// Where a loop reports how far it is; shared by the programs that do.
class ProgressMeter {
 public:
  virtual ~ProgressMeter() = default;
  /// Whether a report is due by the clock; the one who is told so makes it.
  virtual bool time_is_up() = 0;
  virtual void report(std::int64_t steps, double fraction) = 0;
  virtual std::uint64_t hash() const = 0;
  virtual bool equals(const ProgressMeter& other) const = 0;

  /// One less than a power of two: compiled code asks for the time only where these bits of the count of
  /// steps are zero.
  std::atomic<std::int64_t> skipped_steps{0};
};
using ProgressMeterRef = std::shared_ptr<ProgressMeter>;
inline bool equal_field(const ProgressMeterRef& a, const ProgressMeterRef& b) { return a->equals(*b); }
inline std::uint64_t hash_field(std::uint64_t seed, const ProgressMeterRef& m) {
  return hash_word(seed, m->hash());
}
inline void print_field(std::string& out, const ProgressMeterRef&) { out += "host"; }

/// progress: operands (steps: i64[], fraction: f64[]), no results. Reports where the steps are a multiple of
/// `every_steps`, unless that is 0, and where the time is up, if `timed`. In a packet of lanes the first that
/// is at work reports.
struct ProgressParams {
  std::int64_t every_steps = 0;
  bool timed = false;
  ProgressMeterRef meter;
  static void each(auto& self, auto&& visit) {
    visit("every_steps", self.every_steps);
    visit("timed", self.timed);
    visit("meter", self.meter);
  }
};
// Without a parse rule, as a function of the host has no text: so programs that report are not kept on disk.
extern const Op progress_op;

/// Whether something in the graph, in regions too, may not run for lanes that have ended already.
bool has_effect_in_lanes(const Graph& graph);

/// Whether something in the graph, in regions too, calls a function of the host for each lane: then lanes run
/// one after the other.
bool calls_host(const Graph& graph);

/// While it lives, this thread runs lane `index` of a map_lanes, which errors name: by an index for each vmap
/// if the lanes are those of several, which `nest` are the lengths of (see MapLanesParams).
class LaneScope {
 public:
  explicit LaneScope(std::int64_t index, std::span<const std::int64_t> nest = {});
  ~LaneScope();
  LaneScope(const LaneScope&) = delete;
  LaneScope& operator=(const LaneScope&) = delete;

 private:
  friend std::vector<std::int64_t> current_lanes();
  std::int64_t index_;
  std::span<const std::int64_t> nest_;
  const LaneScope* outer_;
};
/// The lanes this thread is in, one for each vmap, the outermost first.
std::vector<std::int64_t> current_lanes();

}  // namespace apsis::detail
