#pragma once

// The loop in which one packet goes through the lanes of a chunk. At events lanes leave and others take their
// slots, so that the packet stays full; between events all slots step:
//
//     while there is an event:
//       while no event is due: step
//
// Two sources say when: `Refill` asks the loop's condition which lanes end, and may write its events down
// beside a tape of the packet's steps; `Replay` reads such events, forwards or backwards.

#include "codegen/lanes/lane_outer.hpp"
#include "codegen/lanes/lane_slots.hpp"

namespace apsis::detail {

class PacketLoop {
 public:
  virtual ~PacketLoop() = default;
  void write();
  /// Of a result that is a list of the lanes: where its values are in the records of the tape.
  const std::vector<std::int64_t>& tape_offsets() const { return tape_offsets_; }

 protected:
  explicit PacketLoop(LaneChunk& chunk);
  /// Before the loop.
  virtual void prepare() = 0;
  /// What is carried by the source: through events, and through steps too.
  virtual std::vector<Variable> carried_by_events() const = 0;
  virtual std::vector<Variable> carried_by_steps() const = 0;
  /// Whether there is another event.
  virtual Value find_event() = 0;
  virtual void begin_event() = 0;
  /// Whether a step comes before the next event.
  virtual Value goes_on() = 0;
  /// Before a step: the loop's inputs.
  virtual void begin_step() = 0;
  virtual void end_event() = 0;
  /// After the loop.
  virtual void finish() = 0;

  bool taped() const { return !values_.empty(); }
  /// Puts the chunk's tape in the tables of the results that it holds.
  void publish_tape(Pointer events);

  // Events in memory: a PacketEvent, and the lanes in the slots before and after it.
  static constexpr std::int64_t event_ids = sizeof(PacketEvent), id_bytes = sizeof(std::int64_t);
  std::int64_t event_bytes() const { return event_ids + 2 * id_bytes * width_; }

  LaneChunk& chunk_;
  Builder& b_;
  const int width_;
  const Loop loop_;
  Region homes_, body_;
  LaneSlots slots_;
  LaneOuterSums sums_;
  const std::vector<Aval> values_;  // that the loop records, in the order of its results
  ListWriter tape_;
  Variable resting_;  // by lane: the slot has one
  Variable steps_;    // so far

 private:
  void step();
  std::vector<std::int64_t> tape_offsets_;
};

class Refill final : public PacketLoop {
 public:
  explicit Refill(LaneChunk& chunk);

 private:
  void prepare() override;
  std::vector<Variable> carried_by_events() const override;
  std::vector<Variable> carried_by_steps() const override;
  Value find_event() override;
  void begin_event() override;
  Value goes_on() override;
  void begin_step() override;
  void end_event() override;
  void finish() override;
  void record_event();

  Region cond_;
  Pointer events_;
  Value zero_, one_, end_, below_;  // by lane; below: the bits of the lanes before it
  // free_: by lane: the slot's lane has ended. ids_, trips_: by lane: its number, its iterations so far.
  Variable free_, ids_, trips_, next_lane_, refills_;
  Value free_now_, active_, loaded_, free_bits_;  // of an event
  Value ids_before_, ids_after_, ended_;
  Value steps_before_;    // the event
  Variable steps_since_;  // the event before it
};

class Replay final : public PacketLoop {
 public:
  /// `tapes`: for each operand that is a list of the lanes, a number that those from one tape share.
  Replay(LaneChunk& chunk, std::span<const std::size_t> tapes);

 private:
  void prepare() override;
  std::vector<Variable> carried_by_events() const override;
  std::vector<Variable> carried_by_steps() const override;
  Value find_event() override;
  void begin_event() override;
  Value goes_on() override;
  void begin_step() override;
  void end_event() override;
  void finish() override;
  void open_tapes();
  void turn();
  Value mask_of(Value bits);

  const std::span<const std::size_t> tapes_;
  std::vector<ListReader> readers_;
  std::vector<std::size_t> reader_of_;  // by x
  std::vector<Place> fields_;           // by x
  Pointer cursor_;                      // in the events
  Value event_count_;
  Variable number_;                                                                   // of the event
  Value last_step_, leaving_, entering_, leaving_ids_, entering_ids_, active_after_;  // of the event
};

}  // namespace apsis::detail
