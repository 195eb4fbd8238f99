#include "codegen/emit/loop_parts.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "codegen/emit/combine.hpp"
#include "codegen/support/share_loop.hpp"
#include "ops/sum_order.hpp"

namespace apsis::detail {
namespace {

/// Which part of the loop's axis `axis` each of `parts` parts is: so many entries. Those that are left over
/// are done by the caller.
struct Partition {
  std::size_t axis = 0;
  std::int64_t parts = 0, entries = 0;
  bool one_by_one = false;  // each entry is a loop of its own
};

/// What an element moves through memory: of elements that are a cache line or more apart, the lines they are
/// in.
double bytes_of_element(const FusedLoop& loop) {
  constexpr std::int64_t line = 64;
  const auto last = [&] {
    std::size_t axis = loop.shape.size();
    while (axis > 0 && loop.shape[axis - 1] == 1) --axis;
    return axis;
  }();
  double bytes = 0;
  std::set<std::pair<const void*, std::int64_t>> lines;
  const auto count = [&](const auto& access) {
    const auto moves = [](std::int64_t stride) { return stride != 0; };
    const bool walks = access.walk.outer != 0 || access.walk.inner != 0;
    if (std::ranges::none_of(access.view.strides, moves) && !walks) return;
    const auto size = static_cast<std::int64_t>(item_size(access.dtype));
    if (walks || last == 0 || std::abs(access.view.strides[last - 1]) * size < line)
      bytes += static_cast<double>(size);
    else if (lines.insert({access.base.handle, access.view.offset * size / line}).second)
      bytes += static_cast<double>(line);
  };
  std::ranges::for_each(loop.accesses, count);
  if (loop.walk.terms == 0) std::ranges::for_each(loop.sinks, count);
  return bytes;
}

/// What an element takes, in nanoseconds: its instructions or its way through memory.
double time_of_element(const FusedLoop& loop, std::int64_t cost) {
  constexpr double of_instruction = 0.17, of_byte = 0.05, of_pick = 1;
  return std::max(bytes_of_element(loop) * of_byte, static_cast<double>(cost) * of_instruction / loop.width) +
         of_pick * static_cast<double>(loop.tables.size());
}

/// Whether the code of a part is that of another at other addresses.
bool can_divide(const FusedLoop& loop, std::size_t axis) {
  return std::ranges::all_of(loop.accesses, [&](const Access& a) {
    return a.within.empty() || (a.within[axis].low == 0 && a.within[axis].high == loop.shape[axis]);
  });
}

double time_of(const FusedLoop& loop, std::int64_t cost) {
  return time_of_element(loop, cost) * static_cast<double>(loop.shape.product()) *
         static_cast<double>(std::max<std::int64_t>(loop.walk.terms, 1));
}
constexpr double worth_a_thread = 25000;

/// The fewest entries of an axis that are whole vectors of the widest kind, so that no part reads again what
/// it has written; one, if nothing can do that.
std::int64_t whole_vectors(const Shape& shape, std::size_t axis) {
  constexpr std::int64_t widest = 64;
  std::int64_t row = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) row *= shape[d];
  const bool divides = shape[axis] * row % widest == 0 && (row % widest == 0 || (row & (row - 1)) == 0);
  return divides ? widest / std::gcd(widest, row) : 1;
}

/// Threads get 25 µs each at least, and neighbours in memory by whole cache lines. Few columns stay together.
Partition partition_of(const FusedLoop& loop, std::int64_t cost) {
  constexpr std::int64_t fewest_parts = 4, fewest_entries = 64;
  const double all = time_of(loop, cost);
  const auto most =
      static_cast<std::int64_t>(std::min(all / worth_a_thread, static_cast<double>(most_loop_parts)));
  if (most < fewest_parts) return {};
  // Of sums along memory, a result is little beside its terms.
  const auto unit_of = [&](std::size_t axis) {
    if (axis + 1 == loop.shape.size()) return loop.walk.along ? std::int64_t{1} : fewest_entries;
    return loop.walk.terms > 0 ? std::int64_t{1} : whole_vectors(loop.shape, axis);
  };
  const auto first_axis = [&](std::int64_t entries) {
    std::size_t axis = 0;
    while (axis < loop.shape.size() &&
           (loop.shape[axis] < entries || loop.shape[axis] / unit_of(axis) < fewest_parts))
      ++axis;
    return axis;
  };
  Partition made;
  made.axis = first_axis(fewest_entries);
  if (made.axis == loop.shape.size() && loop.walk.terms == 0) made.axis = first_axis(fewest_parts);
  if (made.axis == loop.shape.size() || !can_divide(loop, made.axis)) return {};
  const std::int64_t unit = unit_of(made.axis), units = loop.shape[made.axis] / unit;
  made.parts = std::min(most, units);
  // Rather fewer parts than some entries left over, which are code of their own.
  for (std::int64_t parts = made.parts; parts >= std::max<std::int64_t>(made.parts / 2, 2); --parts)
    if (loop.shape[made.axis] % (parts * unit) == 0) {
      made.parts = parts;
      break;
    }
  made.entries = units / made.parts * unit;
  return made;
}

/// Reductions that come out the same in any order: each part has its own result, one after the other in
/// memory, and these are combined.
class PartResults {
 public:
  PartResults(Lowering& lowering, const FusedLoop& loop, std::int64_t parts) : b_(lowering.b), parts_(parts) {
    if (loop.walk.terms > 0) return;
    for (const FusedLoop::Step& step : loop.steps) {
      if (!step.stores.empty()) continue;
      const Dtype dtype = loop.totals[results_.size()].dtype;
      memory_.push_back(lowering.allocate(parts * static_cast<std::int64_t>(item_size(dtype))));
      b_.set_lanes(1);
      results_.push_back({step.eqn->op, dtype, lowering.scratch(memory_.back()->offset)});
    }
  }
  std::size_t size() const { return results_.size(); }
  Pointer at(std::size_t i) const { return results_[i].at; }

  void store(std::size_t i, Pointer at, Value number, Value result) {
    b_.store(place(i, at, number), result);
  }

  /// `left_over`: those of what is in no part, if there is any.
  std::vector<Value> all(std::vector<Value> left_over) {
    b_.set_lanes(1);
    if (left_over.empty())
      for (const Result& r : results_) left_over.push_back(b_.constant(r.dtype, r.op->neutral(r.dtype)));
    if (results_.empty()) return {};
    CountedLoop each(b_, parts_, 1, left_over);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const auto& [op, dtype, at] = results_[i];
      const Value result = b_.load_element(place(i, at, each.index()), dtype);
      left_over[i] = Combine(b_, *op, dtype)(left_over[i], result);
    }
    each.close();
    return left_over;
  }

 private:
  struct Result {
    const Op* op;
    Dtype dtype;
    Pointer at;
  };

  Pointer place(std::size_t i, Pointer at, Value number) {
    const auto item = static_cast<std::int64_t>(item_size(results_[i].dtype));
    return {b_.offset(at, b_.mul(number, b_.index(item))).handle};
  }

  Builder& b_;
  std::int64_t parts_;
  std::vector<BufferOwner> memory_;
  std::vector<Result> results_;
};

/// The function of a part: its loop, at addresses and with scalars from a table.
class LoopPart {
 public:
  LoopPart(Lowering& lowering, const FusedLoop& loop, const Partition& partition)
      : lowering_(lowering),
        b_(lowering.b),
        part_(part_of(loop, partition.axis, 0, partition.one_by_one ? 1 : partition.entries)),
        partition_(partition),
        results_(lowering, loop, partition.parts) {}

  /// `left_over`: what reductions of the rest of the loop come to. Gives that of the whole loop.
  std::vector<Value> call(std::vector<Value> left_over = {}) {
    b_.set_lanes(1);
    const Pointer table = b_.stack(entry_bytes * std::max<std::size_t>(1, entries()));
    std::size_t at = 0;
    const auto next = [&] { return b_.offset(table, static_cast<std::int64_t>(entry_bytes * at++)); };
    each_address([&](auto& access) { b_.store_pointer(next(), access.base); });
    for (Value v : part_.scalars)
      if (!b_.is_constant(v)) b_.store(next(), v);
    for (std::size_t i = 0; i < results_.size(); ++i) b_.store_pointer(next(), results_.at(i));
    const Operand arguments[] = {b_.address_of(function()), table, b_.index(partition_.parts)};
    b_.call_runtime_void("apsis_share_loop", arguments);
    return results_.all(std::move(left_over));
  }

 private:
  static constexpr std::size_t entry_bytes = 8;

  template <class F>
  void each_address(F&& f) {
    for (Access& a : part_.accesses)
      if (a.base.handle) f(a);
    for (Access& t : part_.tables) f(t);
    for (Sink& s : part_.sinks) f(s);
  }
  std::size_t entries() {
    std::size_t count = part_.scalars.size() + results_.size();
    each_address([&](auto&) { ++count; });
    return count;
  }

  Function function() {
    const Type parameters[] = {pointer_type, {Dtype::I64, 1}};
    const Function f = b_.declare("part", parameters, {});
    const FusedLoop outer = part_;
    b_.begin(f);
    b_.set_lanes(1);
    const Pointer table = b_.pointer_parameter(0);
    Value number = b_.parameter(1);
    const std::int64_t loops = partition_.entries / part_.shape[partition_.axis];
    std::optional<CountedLoop> each;
    if (loops > 1) {
      each.emplace(b_, loops, 1);
      number = b_.add(b_.mul(number, b_.index(loops)), each->index());
    }
    std::size_t at = 0;
    const auto next = [&] { return b_.offset(table, static_cast<std::int64_t>(entry_bytes * at++)); };
    // Arrays that lie in one stay so for the loop: parts of complex numbers are stored together.
    std::map<std::pair<void*, std::int64_t>, Pointer> bases;
    const auto bind = [&](auto& access) {
      const auto item = static_cast<std::int64_t>(item_size(access.dtype));
      const std::int64_t apart = access.view.strides[partition_.axis] * part_.shape[partition_.axis] * item;
      const ConstPointer entry = next();
      auto [known, is_new] = bases.try_emplace({access.base.handle, apart});
      if (is_new) {
        known->second = b_.load_pointer(entry);
        if (apart != 0) known->second = {b_.offset(known->second, b_.mul(number, b_.index(apart))).handle};
      }
      access.base = known->second;
    };
    for (Access& a : part_.accesses)
      if (a.base.handle) bind(a);
    for (Access& a : part_.accesses)
      if (const std::int64_t apart = a.view.strides[partition_.axis] * part_.shape[partition_.axis];
          !a.base.handle && apart != 0)
        a.first = b_.mul(number, b_.index(apart));
    for (Access& t : part_.tables) t.base = b_.load_pointer(next());
    for (Sink& s : part_.sinks) bind(s);
    for (Value& v : part_.scalars)
      if (!b_.is_constant(v)) v = b_.load_element(next(), v.dtype);
    std::vector<Pointer> results;
    for (std::size_t i = 0; i < results_.size(); ++i) results.push_back(b_.load_pointer(next()));
    const std::vector<Value> totals = write_loop(b_, part_, lowering_.options().optimized);
    b_.set_lanes(1);
    for (std::size_t i = 0; i < totals.size(); ++i) results_.store(i, results[i], number, totals[i]);
    if (each) each->close();
    b_.return_values({});
    b_.end();
    part_ = outer;
    return f;
  }

  Lowering& lowering_;
  Builder& b_;
  FusedLoop part_;
  Partition partition_;
  PartResults results_;
};

/// Sums of many terms are made of sums of parts of them, one after the other, and these again
/// (ops/sum_order.hpp). Where there are few sums, threads take such parts, several each if they are small.
class SharedSums {
 public:
  SharedSums(Lowering& lowering, const FusedLoop& loop, std::int64_t cost)
      : lowering_(lowering), b_(lowering.b), loop_(loop), terms_(sum_part(loop.walk.terms)) {
    constexpr std::int64_t enough_parts = 8;
    const auto most = static_cast<std::int64_t>(
        std::min(time_of(loop, cost) / worth_a_thread, static_cast<double>(most_loop_parts)));
    const auto count = [&](std::int64_t terms) { return loop_.walk.terms / terms; };
    while (terms_ > sum_block && count(terms_) < enough_parts) terms_ /= sum_group;
    parts_ = count(terms_);
    shares_.entries = most > 0 ? (parts_ + most - 1) / most : parts_;
    shares_.parts = parts_ / std::max<std::int64_t>(shares_.entries, 1);
  }

  bool is_worth_it() const {
    constexpr std::int64_t fewest_shares = 3, most_sums = 256;
    const FusedLoop::Walk& walk = loop_.walk;
    return loop_.shape.product() <= most_sums && shares_.parts >= fewest_shares &&
           (walk.inner == walk.terms || terms_ % walk.inner == 0) &&
           std::ranges::all_of(loop_.accesses, [](const Access& a) { return a.within.empty(); });
  }

  void write() {
    const std::int64_t sums = loop_.shape.product();
    for (const Type& total : loop_.totals) {
      memory_.push_back(
          lowering_.allocate((parts_ + 1) * sums * static_cast<std::int64_t>(item_size(total.dtype))));
      b_.set_lanes(1);
      sums_.push_back(lowering_.scratch(memory_.back()->offset));
    }
    const FusedLoop all = some(0, terms_, parts_);
    LoopPart(lowering_, all, shares_).call();
    const auto write = [&](const FusedLoop& loop) { write_loop(b_, loop, lowering_.options().optimized); };
    const std::int64_t shared = shares_.parts * shares_.entries, left = loop_.walk.terms % terms_;
    if (shared < parts_) write(part_of(all, 0, shared, parts_ - shared));
    if (left > 0) write(some(parts_, left, 1));
    std::size_t i = 0;
    for (const FusedLoop::Step& step : loop_.steps)
      if (step.stores.empty()) add_up(*step.eqn->op, i++);
  }

 private:
  /// The loop over `count` parts of so many terms, from part `first` on: an axis before the others.
  FusedLoop some(std::int64_t first, std::int64_t terms, std::int64_t count) {
    FusedLoop made = loop_;
    made.shape.insert(0, count);
    made.walk.terms = terms;
    if (loop_.walk.inner == loop_.walk.terms) made.walk.inner = terms;
    const auto view = [&](auto& access) {
      const std::int64_t stride = loop_.walk.inner == loop_.walk.terms
                                      ? terms_ * access.walk.inner
                                      : terms_ / loop_.walk.inner * access.walk.outer;
      access.view.offset += first * stride;
      access.view.shape = made.shape;
      access.view.strides.insert(0, stride);
    };
    std::ranges::for_each(made.accesses, view);
    std::ranges::for_each(made.sinks, view);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      Sink& sink = made.sinks[made.sinks.size() - sums_.size() + i];
      sink = {View::contiguous(made.shape), sums_[i], loop_.totals[i].dtype, 1, {}};
      sink.view.offset = first * loop_.shape.product();
    }
    return made;
  }

  /// The parts of so many terms, from part `first` on, in their order.
  template <class Get>
  Value in_order(const Combine& combine, const Get& get, std::int64_t first, std::int64_t terms) const {
    if (terms <= terms_) return get(first);
    const std::int64_t part = sum_part(terms);
    Value total = in_order(combine, get, first, part);
    for (std::int64_t i = part; i < terms; i += part)
      total = combine(total, in_order(combine, get, first + i / terms_, std::min(part, terms - i)));
    return total;
  }

  void add_up(const Op& op, std::size_t i) {
    const Dtype dtype = loop_.totals[i].dtype;
    const Combine combine(b_, op, dtype);
    const std::int64_t sums = loop_.shape.product();
    const Sink& sink = loop_.sinks[loop_.sinks.size() - sums_.size() + i];
    LoopNest nest(b_, loop_.shape, {{View::contiguous(loop_.shape), sums_[i], dtype}}, {&sink, 1},
                  lowering_.vector_lanes(item_size(dtype)));
    nest.open();
    const auto part = [&](std::int64_t number) { return nest.load(0, number * sums); };
    Value total = in_order(combine, part, 0, loop_.walk.terms);
    if (dtype != sink.dtype) total = b_.convert(total, sink.dtype);
    nest.store(0, total);
    nest.close();
  }

  Lowering& lowering_;
  Builder& b_;
  const FusedLoop& loop_;
  std::int64_t terms_, parts_;            // of a part, but for the last one, which `parts_` does not count
  Partition shares_{.one_by_one = true};  // of the parts, by thread: their sums may lie between one another
  std::vector<BufferOwner> memory_;
  std::vector<Pointer> sums_;  // by total: of each part
};

}  // namespace

std::optional<std::vector<Value>> write_in_parts(Lowering& lowering, const FusedLoop& loop,
                                                 std::int64_t cost) {
  // What is put somewhere (`in_order`) may be at one place twice.
  if (!lowering.options().parallel || lowering.is_inner() || loop.lanes > 1 || loop.in_order) return {};
  const Partition partition = partition_of(loop, cost);
  if (partition.parts == 0) {
    if (loop.walk.terms == 0) return {};
    SharedSums sums(lowering, loop, cost);
    if (!sums.is_worth_it()) return {};
    sums.write();
    return std::vector<Value>();
  }
  const std::int64_t done = partition.parts * partition.entries, left = loop.shape[partition.axis] - done;
  LoopPart part(lowering, loop, partition);
  std::vector<Value> left_over;
  if (left > 0)
    left_over =
        write_loop(lowering.b, part_of(loop, partition.axis, done, left), lowering.options().optimized);
  return part.call(std::move(left_over));
}

}  // namespace apsis::detail
