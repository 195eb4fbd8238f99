#pragma once

// Writes the function that runs the lanes of one chunk of a map_lanes: in packets of `width` lanes, one
// vector lane each. Where the region has a loop, a lane that leaves it is replaced at once by the next of the
// chunk, so that the packet stays full. A loop that records lists leaves one tape a chunk: a record of the
// whole packet a step, and the events that say when which slot held which lane. A scan over such lists
// replays the events, forwards or backwards.

#include "codegen/lanes/lane_chunk.hpp"

namespace apsis::detail {

class LaneCode {
 public:
  /// `width`: lanes of a packet; with `choose`, two or four times as many where that pays. `tapes`: for each
  /// operand that is a list of the lanes, a number that those from one tape share.
  LaneCode(Lowering& lowering, const MapLanesParams& params, LaneSplit split, std::vector<std::size_t> tapes,
           int width, bool choose);
  /// The chunk function; its arguments are a table of pointers: the operands' elements, then the results'.
  Function write();
  int width() const { return chunk_.width; }
  /// Scratch memory that it needs.
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  /// Of a result that is a list of the lanes: where its values are in the records of the packets' tapes.
  std::int64_t tape_offset(std::size_t output) const { return tape_offsets_[output]; }

 private:
  int registers_a_value(std::int64_t lanes) const;
  bool is_small_loop() const;
  void write_loop();
  void write_packets();
  void write_lane(Value id);
  void write_packet(Value start);

  LaneChunk chunk_;
  Builder& b_;
  std::vector<std::size_t> tapes_;
  std::vector<std::int64_t> tape_offsets_;
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace apsis::detail
