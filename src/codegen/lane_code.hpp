#pragma once

// Writes the function that runs the lanes of one chunk of a map_lanes: in packets of `width` lanes, one vector lane each.
// Where the region has a loop, a lane that leaves it is replaced at once by the next of the chunk, so that the packet
// stays full.

#include "codegen/analysis.hpp"
#include "codegen/lane_split.hpp"
#include "codegen/region.hpp"

namespace apsis::detail {

class LaneCode {
 public:
  /// `width`: lanes of a packet; with `choose`, twice as many where that pays.
  LaneCode(Lowering& lowering, const MapLanesParams& params, int width, bool choose);
  /// The chunk function; its arguments are a table of pointers: the operands' elements, then the results'.
  Function write();
  int width() const { return width_; }
  /// Scratch memory that it needs.
  std::int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  using Values = std::vector<Value>;

  // An operand of the loop that each lane of the packet has its own of.
  struct Slot {
    std::size_t operand;
    Aval aval;
    CarryUse use = CarryUse::Unchanged;
    Values loading, now, updated;  // registers: phis of the load block and of the head, and what an iteration made
    Place home, spare;             // memory: `spare` takes turns with `home` when an iteration makes the array anew
    Pointer home_loading, spare_loading, home_now, spare_now;
  };

  bool latency_bound() const;
  void load_shared();
  void write_packets();
  void write_refilled();
  Values slot_phis(const Slot& slot);
  Place slot_place(const Slot& slot, bool writable) const;
  void blend(Slot& slot, const Place& fresh, Region& made_by, Value mask);
  void bind(Region& region, const LanePart& part, Value ids);
  Place input(ValueId v, Value ids);
  Place list_place(Pointer value, Pointer list);
  Place target(std::size_t output, Value id);
  void store_outputs(Region& region, Value ids, Value mask);
  Value splat_to_width(Value v);
  Pointer element_address(Pointer base, Value index, std::int64_t bytes);
  bool in_registers(const Aval& aval) const { return detail::in_registers(aval, lowering_.options().register_limit); }
  bool is_mapped(ValueId v) const { return params_.in_axes[v] >= 0; }

  Lowering& lowering_;
  Builder& b_;
  const MapLanesParams& params_;
  int width_;
  LaneSplit split_;
  std::int64_t scratch_bytes_ = 0;
  Value first_, last_;
  std::vector<Pointer> in_, out_;
  std::vector<Place> known_;  // by value of the region: what is the same for all lanes, and the loop's results
  std::vector<Slot> slots_;
};

}  // namespace apsis::detail
