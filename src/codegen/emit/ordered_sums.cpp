// Loops with sums, and with other reductions over some axes, in the order of ops/sum_order.hpp.

#include <algorithm>

#include "codegen/emit/combine.hpp"
#include "codegen/emit/fused_loop.hpp"
#include "ops/sum_order.hpp"

namespace apsis::detail {
namespace {

using Values = std::vector<Value>;

int partials_of(std::int64_t count) {
  return count < sum_sequential_below     ? 1
         : count < sum_few_partials_below ? sum_few_partials
                                          : sum_many_partials;
}

/// Writes the terms of all sums of a loop, where its nest is at a line of them. A partial result is a vector:
/// of the lines side by side that the nest is at, or, along a line, of neighbouring partial results.
class OrderedSums {
 public:
  OrderedSums(Builder& b, const FusedLoop& loop, LoopNest& nest) : b_(b), loop_(loop), nest_(nest) {
    for (const FusedLoop::Step& step : loop.steps) {
      if (!step.stores.empty()) continue;
      const Type& total = loop.totals[sums_.size()];
      sums_.push_back({Combine(b, *step.eqn->op, total.dtype), total, step.eqn->op->neutral(total.dtype)});
    }
  }

  Values totals() { return parts({}, loop_.walk.terms); }

 private:
  struct Sum {
    Combine combine;
    Type total;
    std::uint64_t neutral;
  };

  /// Partial results of a sum.
  struct Memory {
    Pointer first;
    std::int64_t bytes;  // of a vector of them
    int lanes;
  };

  /// `width`: neighbouring terms, or lines.
  int lanes_of(const Sum& sum, int width) const { return loop_.lanes > 1 ? sum.total.lanes : width; }

  Values neutral(int width) {
    Values values;
    for (const Sum& sum : sums_) {
      b_.set_lanes(lanes_of(sum, width));
      values.push_back(b_.constant(sum.total.dtype, sum.neutral));
    }
    return values;
  }

  void combine(Values& totals, const Values& more) {
    for (std::size_t i = 0; i < sums_.size(); ++i) totals[i] = sums_[i].combine(totals[i], more[i]);
  }

  /// `step` neighbouring terms from `first` on.
  Values terms(Value first, int step) {
    const FusedLoop::Walk& walk = loop_.walk;
    nest_.walk_to(first, walk.inner < walk.terms ? walk.inner : 0, walk.along ? step : 0);
    Values values(sums_.size());
    write_elements(b_, loop_, nest_, [&](std::size_t i, Value v) {
      const Sum& sum = sums_[i];
      b_.set_lanes(b_.lanes_of(v));
      if (v.dtype != sum.total.dtype) v = b_.convert(v, sum.total.dtype);
      b_.set_lanes(lanes_of(sum, loop_.walk.along ? step : nest_.width()));
      values[i] = b_.lanes_of(v) < b_.lanes() ? b_.splat(v) : v;
    });
    b_.set_lanes(1);
    return values;
  }

  Value after(Value start, Value i) {
    b_.set_lanes(1);
    return start.handle ? b_.add(start, i) : i;
  }

  /// `count` terms from `start` on; no handle: from the first one on.
  Values parts(Value start, std::int64_t count) {
    if (count <= sum_block) return block(start, count);
    const std::int64_t part = sum_part(count), full = count / part, rest = count % part;
    Values totals;
    if (full == 1) {
      totals = parts(start, part);
    } else {
      totals = neutral(loop_.walk.along ? 1 : nest_.width());
      CountedLoop loop(b_, full, 1, totals);
      combine(totals, parts(after(start, b_.mul(loop.index(), b_.index(part))), part));
      loop.close();
    }
    if (rest > 0) combine(totals, parts(after(start, b_.index(full * part)), rest));
    return totals;
  }

  /// A block, or a part of one.
  Values block(Value start, std::int64_t count) {
    const int partials = partials_of(count);
    const int step = loop_.walk.along ? std::min(partials, loop_.width) : 1;
    Values totals =
        partials == step ? in_registers(start, count, step) : in_memory(start, count, step, partials / step);
    if (step > 1)
      for (std::size_t i = 0; i < sums_.size(); ++i) totals[i] = sums_[i].combine.across(totals[i]);
    b_.set_lanes(1);
    return totals;
  }

  /// All partial results in one vector a sum.
  Values in_registers(Value start, std::int64_t count, int step) {
    constexpr std::int64_t most_unrolled = 32;  // operations
    const std::int64_t vectors = count / step;
    Values totals;
    if (vectors * static_cast<std::int64_t>(loop_.steps.size()) <= most_unrolled) {
      totals = terms(after(start, b_.index(0)), step);
      for (std::int64_t k = 1; k < vectors; ++k)
        combine(totals, terms(after(start, b_.index(k * step)), step));
    } else {
      totals = neutral(loop_.walk.along ? step : nest_.width());
      CountedLoop loop(b_, vectors, 1, totals);
      combine(totals, terms(after(start, b_.mul(loop.index(), b_.index(step))), step));
      loop.close();
    }
    if (count % step > 0) add_rest(totals, start, count, step);
    return totals;
  }

  /// `slots` vectors of partial results a sum, a power of two. Vector k of terms goes to slot k % slots.
  Values in_memory(Value start, std::int64_t count, int step, int slots) {
    Values values = neutral(loop_.walk.along ? step : nest_.width());
    std::vector<Memory> memory;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const auto bytes = static_cast<std::int64_t>(item_size(sums_[i].total.dtype)) * b_.lanes_of(values[i]);
      memory.push_back({b_.stack(static_cast<std::size_t>(bytes * slots)), bytes, b_.lanes_of(values[i])});
    }
    is_far(step) ? slot_by_slot(memory, values, start, count, step, slots)
                 : term_by_term(memory, values, start, count, step, slots);
    if (count % step > 0) {
      const Value last = b_.index(count / step % slots);
      for (std::size_t i = 0; i < sums_.size(); ++i) values[i] = load(i, memory[i], last);
      add_rest(values, start, count, step);
      for (std::size_t i = 0; i < sums_.size(); ++i) store(memory[i], last, values[i]);
    }
    for (int half = slots / 2; half > 0; half /= 2) {
      b_.set_lanes(1);
      CountedLoop pairs(b_, half, 1);
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        const Value upper = load(i, memory[i], after(pairs.index(), b_.index(half)));
        add(i, memory[i], pairs.index(), upper);
      }
      pairs.close();
    }
    for (std::size_t i = 0; i < sums_.size(); ++i) values[i] = load(i, memory[i], b_.index(0));
    return values;
  }

  /// Whether vectors of terms that follow one another lie in other lines of memory than what is beside them.
  bool is_far(int step) const {
    constexpr std::int64_t far = 1024;  // bytes
    return std::ranges::any_of(loop_.accesses, [&](const Access& a) {
      return a.walk.inner * step * static_cast<std::int64_t>(item_size(a.dtype)) * a.lanes >= far;
    });
  }

  /// In registers, one slot after the other.
  void slot_by_slot(const std::vector<Memory>& memory, const Values& neutral, Value start, std::int64_t count,
                    int step, int slots) {
    b_.set_lanes(1);
    CountedLoop each(b_, slots, 1);
    Values totals = neutral;
    const Value vectors =
        b_.integer_div(b_.sub(b_.index(count / step + slots - 1), each.index()), b_.index(slots));
    CountedLoop loop(b_, vectors, totals);
    const Value k = b_.add(b_.mul(loop.index(), b_.index(slots)), each.index());
    combine(totals, terms(after(start, b_.mul(k, b_.index(step))), step));
    loop.close();
    for (std::size_t i = 0; i < sums_.size(); ++i) store(memory[i], each.index(), totals[i]);
    each.close();
  }

  /// In the order of the terms.
  void term_by_term(const std::vector<Memory>& memory, const Values& neutral, Value start, std::int64_t count,
                    int step, int slots) {
    b_.set_lanes(1);
    CountedLoop clear(b_, slots, 1);
    for (std::size_t i = 0; i < sums_.size(); ++i) store(memory[i], clear.index(), neutral[i]);
    clear.close();
    CountedLoop loop(b_, count / step, 1);
    const Value at = b_.bit_and(loop.index(), b_.index(slots - 1));
    const Values more = terms(after(start, b_.mul(loop.index(), b_.index(step))), step);
    for (std::size_t i = 0; i < sums_.size(); ++i) add(i, memory[i], at, more[i]);
    loop.close();
  }

  /// The last terms along a line, fewer than a vector of them: the last vector of terms ends with them.
  void add_rest(Values& totals, Value start, std::int64_t count, int step) {
    const Values last = terms(after(start, b_.index(count - step)), step);
    const auto rest = static_cast<int>(count % step);
    std::vector<int> own, chosen;
    for (int j = 0; j < step; ++j) {
      own.push_back((j + step - rest) % step);
      chosen.push_back(j < rest ? step + j : j);
    }
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Value added = sums_[i].combine(totals[i], b_.shuffle(last[i], last[i], own));
      totals[i] = b_.shuffle(totals[i], added, chosen);
    }
    b_.set_lanes(1);
  }

  Pointer slot(const Memory& memory, Value i) {
    b_.set_lanes(1);
    return b_.offset(memory.first, b_.mul(i, b_.index(memory.bytes)));
  }
  Value load(std::size_t sum, const Memory& memory, Value i) {
    const Pointer at = slot(memory, i);
    b_.set_lanes(memory.lanes);
    const Value v = b_.load(at, sums_[sum].total.dtype);
    b_.set_lanes(1);
    return v;
  }
  void store(const Memory& memory, Value i, Value v) {
    b_.store(slot(memory, i), v);
    b_.set_lanes(1);
  }
  void add(std::size_t sum, const Memory& memory, Value i, Value v) {
    store(memory, i, sums_[sum].combine(load(sum, memory, i), v));
  }

  Builder& b_;
  const FusedLoop& loop_;
  LoopNest& nest_;
  std::vector<Sum> sums_;
};

}  // namespace

void write_sums(Builder& b, const FusedLoop& loop) {
  LoopNest nest(b, loop.shape, loop.accesses, loop.sinks, loop.walk.along || loop.lanes > 1 ? 1 : loop.width,
                loop.lanes);
  nest.open();
  OrderedSums sums(b, loop, nest);
  Values totals = sums.totals();
  nest.end_walk();
  const std::size_t first = loop.sinks.size() - totals.size();
  for (std::size_t i = 0; i < totals.size(); ++i) {
    b.set_lanes(b.lanes_of(totals[i]));
    const Dtype dtype = loop.sinks[first + i].dtype;
    nest.store(first + i, totals[i].dtype == dtype ? totals[i] : b.convert(totals[i], dtype));
  }
  nest.close();
}

}  // namespace apsis::detail
