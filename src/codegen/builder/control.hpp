#pragma once

// Control flow as it reads: `if_`, `if_else`, `choose` and `loop` write what their arguments write, in place.
// After them a variable is what was set last on the way that control took. The phis for that are made here
// and nowhere else, as in Braun et al., "Simple and Efficient Construction of Static Single Assignment Form"
// (2013). Since all ways are known where they meet, and a loop says what it carries, none has to be taken
// back.

#include <map>
#include <span>
#include <vector>

#include "codegen/builder/builder.hpp"

namespace apsis::detail {

/// Ways that part and meet again.
class Ways {
 public:
  /// One or two, the first of them where `condition` holds.
  Ways(Builder& b, Value condition, int count, Likely likely);
  /// The one with a number that a scalar I64 gives; the last where there is none.
  Ways(Builder& b, Value number, int count);
  /// What is written from here on is on the next way,
  void begin();
  /// up to here.
  void end();
  /// After all of them.
  void meet();

 private:
  struct End {
    Block block;
    std::map<int, void*> set;  // variables, and what they are
  };
  Builder& b_;
  std::vector<Block> starts_;
  Block after_;
  std::vector<End> ends_;
  std::size_t next_ = 0;
};

/// The blocks of a loop.
class LoopBlocks {
 public:
  /// Opens an iteration. `carried`: the variables that iterations set.
  LoopBlocks(Builder& b, std::span<const Variable> carried);
  /// Leaves the loop unless `go_on`; at most once.
  void test(Value go_on, Likely likely);
  /// The end of an iteration; and of a loop without test, unless `again`.
  void close();
  void close(Value again, Likely likely);

 private:
  void carry_on();
  void leave();
  Builder& b_;
  const std::vector<Variable> carried_;
  std::vector<void*> phis_, last_;  // of what is carried: at the head, and where the loop is left
  Block head_, after_;
};

/// Where control leaves the function that is written, from anywhere in it, with an I32.
class FunctionExit {
 public:
  void leave_if(Builder& b, Value condition, Value result);
  /// What is written on this way from here on is never reached.
  void leave(Builder& b, Value result);
  /// Whether anything leaves.
  bool is_used() const { return block_.handle != nullptr; }

 private:
  void open(Builder& b);
  Block block_;
  void* result_ = nullptr;
};

template <class Then>
void if_(Builder& b, Value condition, Then&& then, Likely likely = Likely::Unknown) {
  Ways ways(b, condition, 1, likely);
  ways.begin();
  then();
  ways.end();
  ways.meet();
}

template <class Then, class Else>
void if_else(Builder& b, Value condition, Then&& then, Else&& otherwise, Likely likely = Likely::Unknown) {
  Ways ways(b, condition, 2, likely);
  ways.begin();
  then();
  ways.end();
  ways.begin();
  otherwise();
  ways.end();
  ways.meet();
}

/// Takes `way(k)` where a scalar I64 is k, the last of `count` ways where it is beyond.
template <class Way>
void choose(Builder& b, Value number, int count, Way&& way) {
  Ways ways(b, number, count);
  for (int k = 0; k < count; ++k) {
    ways.begin();
    way(k);
    ways.end();
  }
  ways.meet();
}

/// while (test()) body(); `carried`: the variables that these set.
template <class Test, class Body>
void loop(Builder& b, std::span<const Variable> carried, Test&& test, Body&& body,
          Likely likely = Likely::Unknown) {
  LoopBlocks blocks(b, carried);
  blocks.test(test(), likely);
  body();
  blocks.close();
}

/// `body(lane)` for the bits that are set in a scalar I64, from the lowest.
template <class Body>
void each_bit(Builder& b, Value bits, Body&& body) {
  const Variable rest = b.make_variable(bits);
  const auto some = [&] {
    b.set_lanes(1);
    return b.compare(Compare::Ne, b.get(rest), b.index(0));
  };
  loop(b, {&rest, 1}, some, [&] {
    const Value now = b.get(rest);
    body(b.trailing_zeros(now));
    b.set_lanes(1);
    b.set(rest, b.bit_and(now, b.sub(now, b.index(1))));
  });
}

}  // namespace apsis::detail
