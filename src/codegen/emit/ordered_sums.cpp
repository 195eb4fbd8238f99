// Loops with sums, and with other reductions over some axes, in the order of ops/sum_order.hpp.

#include <algorithm>
#include <bit>
#include <iterator>

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

/// How often parts are made of parts.
int levels_of(std::int64_t count) { return count <= sum_block ? 1 : 1 + levels_of(sum_part(count)); }

/// Whether the terms of each sum lie between those of the others: the first and the last of three axes
/// disappear, and the last one is short. Not if there are more sums than the first cache has partial results
/// of.
bool alternate(const FusedLoop& loop) {
  constexpr std::int64_t most_bytes = 1 << 15, short_walk = 1024;
  const FusedLoop::Walk& walk = loop.walk;
  if (!walk.along || walk.inner == walk.terms || walk.terms < sum_few_partials_below) return false;
  std::int64_t bytes = 0;
  for (const Type& total : loop.totals)
    bytes += loop.shape.product() * sum_many_partials * static_cast<std::int64_t>(item_size(total.dtype));
  const auto lies_between = [&](const auto& access) {
    if (access.walk.outer == 0) return true;
    std::int64_t last = walk.inner - 1;
    for (std::size_t d = 0; d < loop.shape.size(); ++d) {
      if (access.view.strides[d] < 0) return false;
      last += (loop.shape[d] - 1) * access.view.strides[d];
    }
    return last < access.walk.outer &&
           walk.inner * static_cast<std::int64_t>(item_size(access.dtype)) <= short_walk;
  };
  return bytes <= most_bytes && loop.shape.product() > 1 && std::ranges::all_of(loop.accesses, lies_between);
}

/// Writes the terms of all sums of a loop, where its nest is at a line of them. A partial result is a vector:
/// of the lines side by side that the nest is at, or, along a line, of neighbouring partial results.
class OrderedSums {
 public:
  OrderedSums(Builder& b, const FusedLoop& loop, LoopNest& nest, bool optimized)
      : b_(b), loop_(loop), nest_(nest), optimized_(optimized) {
    for (const FusedLoop::Step& step : loop.steps) {
      if (!step.stores.empty()) continue;
      const Type& total = loop.totals[sums_.size()];
      sums_.push_back({Combine(b, *step.eqn->op, total.dtype), total, step.eqn->op->neutral(total.dtype)});
      any_order_ = any_order_ && step.eqn->op->any_order;
    }
  }

  /// Whether all lines go down through memory side by side: what comes out the same in any order has no
  /// partial results, and the totals of all are in the second cache.
  bool goes_down() const {
    constexpr std::int64_t fewest = 16, most_bytes = 1 << 18;
    const FusedLoop::Walk& walk = loop_.walk;
    if (!any_order_ || walk.along || walk.turned || loop_.lanes > 1 || walk.terms < fewest || !is_far(1))
      return false;
    const std::size_t first = loop_.sinks.size() - sums_.size();
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Sink& sink = loop_.sinks[first + i];
      if (sink.dtype != sums_[i].total.dtype || !sink.view.is_contiguous() || sink.mask.handle) return false;
      if (loop_.shape.product() * static_cast<std::int64_t>(item_size(sink.dtype)) > most_bytes) return false;
    }
    return true;
  }
  /// Combines term after term with the totals, where these are to be.
  void write_downwards() {
    const std::size_t first = loop_.sinks.size() - sums_.size();
    each_line([&] {
      const Values none = neutral(nest_.width());
      for (std::size_t i = 0; i < sums_.size(); ++i) nest_.store(first + i, none[i]);
    });
    b_.set_lanes(1);
    CountedLoop terms(b_, loop_.walk.terms, 1);
    walk_to(terms.index(), 1);
    each_line([&] {
      const Values more = terms_here(1);
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        const ConstPointer total = nest_.current_sink(first + i);
        b_.set_lanes(nest_.width());
        nest_.store(first + i, sums_[i].combine(b_.load(total, sums_[i].total.dtype), more[i]));
      }
    });
    terms.close();
  }

  /// How many lines are walked side by side, their partial results becoming one vector of totals: of short
  /// lines, most of the work is in putting partial results together.
  int lines_at_once() const {
    constexpr int lines = 8;
    constexpr std::int64_t most = 160;  // operations, where loops are slow
    const std::int64_t count = loop_.walk.terms;
    if (!loop_.walk.along || !loop_.walk.cheap || count > sum_block) return 1;
    const int step = step_of(count);
    const bool fits = step >= lines && is_in_registers(count, step) && is_unrolled(count, step);
    return fits && (optimized_ || operations(count, step) * lines <= most) ? lines : 1;
  }

  /// Of so many lines of the nest.
  Values totals(int lines) {
    if (lines == 1) return parts({}, loop_.walk.terms);
    const int step = step_of(loop_.walk.terms);
    const auto partials = [&] {
      Values partial = in_registers({}, loop_.walk.terms, step);
      for (std::size_t i = 0; i < sums_.size(); ++i)
        partial[i] = sums_[i].combine.across(partial[i], 2 * lines);
      b_.set_lanes(1);
      return partial;
    };
    std::vector<Values> of_lines(sums_.size());
    constexpr std::int64_t few = 4;  // of a line: what goes through memory would take as long as they do
    const int weight = any_order_ ? 8 : 1;  // an extremum that keeps NaN is many instructions
    const std::int64_t of_line = operations(loop_.walk.terms, step);
    if (!optimized_ || of_line < few || weight * of_line * lines <= most_unrolled) {
      for (int line = 0; line < lines; ++line) {
        nest_.set_line(b_.index(line));
        const Values partial = partials();
        for (std::size_t i = 0; i < sums_.size(); ++i) of_lines[i].push_back(partial[i]);
      }
    } else {
      // Code for one line takes an eighth of the time to compile. Its partial results go through memory.
      std::vector<Memory> memory;
      for (const Sum& sum : sums_) {
        const int lanes = std::min(step, 2 * lines);
        const auto bytes = static_cast<std::int64_t>(item_size(sum.total.dtype)) * lanes;
        memory.push_back({b_.stack(static_cast<std::size_t>(bytes * lines)), bytes, lanes});
      }
      CountedLoop each(b_, lines, 1);
      nest_.set_line(each.index());
      const Values partial = partials();
      for (std::size_t i = 0; i < sums_.size(); ++i) store(memory[i], each.index(), partial[i]);
      each.close();
      for (std::size_t i = 0; i < sums_.size(); ++i)
        for (int line = 0; line < lines; ++line) of_lines[i].push_back(load(i, memory[i], b_.index(line)));
    }
    Values totals;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      totals.push_back(sums_[i].combine.across(std::move(of_lines[i])));
    b_.set_lanes(1);
    return totals;
  }

  /// The memory of sums that alternate, by sum and line: totals of each level of parts, then partial results.
  static std::vector<Sink> memory(Builder& b, const FusedLoop& loop) {
    std::vector<Sink> sinks;
    for (const Type& total : loop.totals)
      for (int level = levels_of(loop.walk.terms); level >= 0; --level) {
        const int each = level > 0 ? 1 : sum_many_partials;
        View view = View::contiguous(loop.shape);
        for (std::int64_t& stride : view.strides) stride *= each;
        const auto bytes = static_cast<std::size_t>(loop.shape.product() * each) * item_size(total.dtype);
        sinks.push_back({std::move(view), b.stack(bytes), total.dtype, 1, {}});
      }
    return sinks;
  }

  /// Goes through memory once, for all lines, and stores their totals. The nest has the above sinks.
  void write_alternating() {
    clear(0, 1);
    add_parts({}, loop_.walk.terms, 0);
    nest_.end_walk();
    each_line([&] {
      const std::size_t first = loop_.sinks.size() - sums_.size();
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        const Value total = b_.load_element(place(i, 0), sums_[i].total.dtype);
        const Dtype dtype = loop_.sinks[first + i].dtype;
        nest_.store(first + i, total.dtype == dtype ? total : b_.convert(total, dtype));
      }
    });
  }

 private:
  static constexpr std::int64_t most_unrolled = 32;  // operations

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
    walk_to(first, step);
    return terms_here(step);
  }
  void walk_to(Value first, int step) {
    const FusedLoop::Walk& walk = loop_.walk;
    nest_.walk_to(first, walk.inner < walk.terms ? walk.inner : 0, walk.along ? step : 0);
  }
  Values terms_here(int step) {
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
    if (any_order_ || count <= sum_block) return block(start, count);
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

  /// How many partial results a vector has.
  int step_of(std::int64_t count) const {
    const int widest = loop_.walk.along ? loop_.width : 1;
    if (!any_order_) return std::min(partials_of(count), widest);
    return static_cast<int>(
        std::bit_floor(static_cast<std::uint64_t>(std::min<std::int64_t>(count, widest))));
  }
  /// Whether they are all of them.
  bool is_in_registers(std::int64_t count, int step) const {
    return any_order_ || step == partials_of(count);
  }
  std::int64_t operations(std::int64_t count, int step) const {
    return (count + step - 1) / step * static_cast<std::int64_t>(loop_.steps.size());
  }
  bool is_unrolled(std::int64_t count, int step) const {
    return count / step * static_cast<std::int64_t>(loop_.steps.size()) <= most_unrolled;
  }

  /// A block, or a part of one.
  Values block(Value start, std::int64_t count) {
    const int step = step_of(count);
    Values totals = is_in_registers(count, step) ? in_registers(start, count, step)
                                                 : in_memory(start, count, step, partials_of(count) / step);
    if (step > 1)
      for (std::size_t i = 0; i < sums_.size(); ++i) totals[i] = sums_[i].combine.across(totals[i]);
    b_.set_lanes(1);
    return totals;
  }

  /// All partial results in one vector a sum.
  Values in_registers(Value start, std::int64_t count, int step) {
    const std::int64_t vectors = count / step;
    Values totals;
    if (loop_.walk.turned) {
      for (int k = 0; k < static_cast<int>(count); ++k) {
        nest_.walk_to_term(k, static_cast<int>(count));
        Values more = terms_here(1);
        k == 0 ? totals.swap(more) : combine(totals, more);
      }
    } else if (is_unrolled(count, step)) {
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

  /// The last terms along a line, fewer than a vector of them: the last vector of terms ends with them. What
  /// comes out the same in any order does so if terms come twice.
  void add_rest(Values& totals, Value start, std::int64_t count, int step) {
    const Values last = terms(after(start, b_.index(count - step)), step);
    if (any_order_) return combine(totals, last);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      totals[i] = with_rest(i, totals[i], last[i], static_cast<int>(count % step), step);
    b_.set_lanes(1);
  }
  /// The first `rest` partial results with the last so many terms.
  Value with_rest(std::size_t sum, Value total, Value last, int rest, int step) {
    std::vector<int> own, chosen;
    for (int j = 0; j < step; ++j) {
      own.push_back((j + step - rest) % step);
      chosen.push_back(j < rest ? step + j : j);
    }
    const Value added = sums_[sum].combine(total, b_.shuffle(last, last, own));
    return b_.shuffle(total, added, chosen);
  }

  template <class F>
  void each_line(const F& f) {
    nest_.open();
    f();
    nest_.close();
  }

  /// Of the line that the nest is at: the total of a level, or, of the level after the last, partial results.
  Pointer place(std::size_t sum, int level) {
    const auto each = static_cast<std::size_t>(levels_of(loop_.walk.terms) + 1);
    return nest_.current_sink(loop_.sinks.size() + sum * each + static_cast<std::size_t>(level));
  }

  /// `each` numbers a line.
  void clear(int level, int each) {
    nest_.end_walk();
    each_line([&] {
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        b_.set_lanes(each);
        const Value neutral = b_.constant(sums_[i].total.dtype, sums_[i].neutral);
        b_.set_lanes(1);
        b_.store(place(i, level), neutral);
      }
    });
  }

  /// Of all lines, to the totals of a level, as one term each.
  void add_parts(Value start, std::int64_t count, int level) {
    if (count <= sum_block) return add_block(start, count, level);
    const std::int64_t part = sum_part(count), full = count / part, rest = count % part;
    clear(level + 1, 1);
    CountedLoop loop(b_, full, 1);
    add_parts(after(start, b_.mul(loop.index(), b_.index(part))), part, level + 1);
    loop.close();
    if (rest > 0) add_parts(after(start, b_.index(full * part)), rest, level + 1);
    nest_.end_walk();
    each_line([&] {
      for (std::size_t i = 0; i < sums_.size(); ++i)
        add_to_total(i, level, b_.load_element(place(i, level + 1), sums_[i].total.dtype));
    });
  }

  void add_block(Value start, std::int64_t count, int level) {
    const int partials = partials_of(count), step = std::min(partials, loop_.width), slots = partials / step;
    const int last = levels_of(loop_.walk.terms);
    const auto bytes = [&](std::size_t sum) {
      return step * static_cast<std::int64_t>(item_size(sums_[sum].total.dtype));
    };
    clear(last, sum_many_partials);
    CountedLoop vectors(b_, count / step, 1);
    const Value slot = b_.bit_and(vectors.index(), b_.index(slots - 1));
    const auto add_terms = [&](Value first, Value to, int rest) {
      walk_to(first, step);
      each_line([&] {
        const Values more = terms_here(step);
        for (std::size_t i = 0; i < sums_.size(); ++i) {
          const Pointer at = b_.offset(place(i, last), b_.mul(to, b_.index(bytes(i))));
          b_.set_lanes(step);
          const Value before = b_.load(at, sums_[i].total.dtype);
          b_.store(at,
                   rest > 0 ? with_rest(i, before, more[i], rest, step) : sums_[i].combine(before, more[i]));
          b_.set_lanes(1);
        }
      });
    };
    add_terms(after(start, b_.mul(vectors.index(), b_.index(step))), slot, 0);
    vectors.close();
    if (const auto rest = static_cast<int>(count % step); rest > 0)
      add_terms(after(start, b_.index(count - step)), b_.index(count / step % slots), rest);
    nest_.end_walk();
    each_line([&] {
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        Values partial;
        const Pointer first = place(i, last);
        b_.set_lanes(step);
        for (int k = 0; k < slots; ++k)
          partial.push_back(b_.load(b_.offset(first, k * bytes(i)), sums_[i].total.dtype));
        for (int half = slots / 2; half > 0; half /= 2)
          for (int k = 0; k < half; ++k)
            partial[static_cast<std::size_t>(k)] = sums_[i].combine(
                partial[static_cast<std::size_t>(k)], partial[static_cast<std::size_t>(k + half)]);
        const Value total = step > 1 ? sums_[i].combine.across(partial[0]) : partial[0];
        b_.set_lanes(1);
        add_to_total(i, level, total);
      }
    });
  }

  void add_to_total(std::size_t sum, int level, Value more) {
    const Pointer at = place(sum, level);
    b_.store(at, sums_[sum].combine(b_.load_element(at, more.dtype), more));
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
  bool optimized_;  // what loops carry stays in registers
  std::vector<Sum> sums_;
  bool any_order_ = true;  // of all of them
};

}  // namespace

void write_sums(Builder& b, const FusedLoop& loop, bool optimized) {
  if (alternate(loop)) {
    std::vector<Sink> sinks = loop.sinks;
    std::ranges::move(OrderedSums::memory(b, loop), std::back_inserter(sinks));
    LoopNest nest(b, loop.shape, loop.accesses, sinks, 1);
    return OrderedSums(b, loop, nest, optimized).write_alternating();
  }
  LoopNest nest(b, loop.shape, loop.accesses, loop.sinks, loop.walk.along || loop.lanes > 1 ? 1 : loop.width,
                loop.lanes);
  OrderedSums sums(b, loop, nest, optimized);
  if (sums.goes_down()) return sums.write_downwards();
  const int wanted = sums.lines_at_once(), lines = wanted > 1 && nest.take_lines(wanted) ? wanted : 1;
  nest.open();
  const Values totals = sums.totals(lines);
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
