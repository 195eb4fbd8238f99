// Branches. With one index for all lanes the branch taken runs alone; where lanes differ, each branch that
// some lane takes runs under a mask, and results are selected.

#include <algorithm>

#include "codegen/emit/region.hpp"
#include "passes/analysis/lane_variance.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {

namespace {

/// The operand in whose memory a result is made: one that is lent, that every branch passes on or updates in
/// place, and that no other result has taken. -1: none.
std::ptrdiff_t borrow(std::span<const GraphRef> branches, std::size_t result, int lanes,
                      std::span<const Place> in, std::vector<char>& lent) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!lent[i] || in[i].lanes != lanes) continue;
    const bool kept = std::ranges::all_of(branches, [&](const GraphRef& g) {
      return carry_use(*g, static_cast<ValueId>(i), g->outputs()[result]) != CarryUse::Replaced;
    });
    if (!kept) continue;
    lent[i] = 0;
    return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace

/// All lanes take one branch. Results meet in phis, or in one place in memory: that of an operand, else a new
/// one.
class Region::CondWriter {
 public:
  CondWriter(Region& outer, const Eqn& e, std::span<const Place> in, std::vector<char> lent)
      : outer_(outer),
        b_(outer.b_),
        e_(e),
        branches_(e.params.as<CondParams>().branches),
        in_(in),
        lent_(std::move(lent)) {
    plan_results();
  }

  void write(Value index) {
    std::vector<Block> starts;
    for (std::size_t k = 0; k < branches_.size(); ++k) starts.push_back(b_.make_block("branch"));
    const Block after = b_.make_block("join");
    b_.set_lanes(1);
    if (branches_.size() == 1)
      b_.jump(starts[0]);
    else if (branches_.size() == 2)
      b_.branch(b_.compare(Compare::Eq, index, b_.index(0)), starts[0], starts[1]);
    else
      b_.switch_to(index, starts, starts.back());
    for (std::size_t k = 0; k < branches_.size(); ++k) {
      b_.set_position(starts[k]);
      write_branch(*branches_[k]);
      ends_.push_back(b_.position());
      b_.jump(after);
    }
    b_.set_position(after);
    for (std::uint32_t r = 0; r < results_.size(); ++r)
      outer_.define(e_.first_result + r, joined(results_[r]));
  }

 private:
  struct Result {
    Aval aval;
    int lanes;
    Place place;
    bool borrowed = false;
    std::vector<std::vector<Value>> elements;  // by branch
    std::vector<Place> lists;                  // by branch
    bool in_memory() const { return place.kind == Place::Kind::Memory; }
  };

  void plan_results() {
    std::vector<char> flags{0};
    for (const Place& place : in_) flags.push_back(static_cast<char>(outer_.lanes_of(place) > 1));
    const std::vector<char> varying =
        outer_.lanes_ > 1 ? varying_results(outer_.graph_, e_, flags) : std::vector<char>(e_.result_count, 0);
    for (std::uint32_t r = 0; r < e_.result_count; ++r) {
      const ValueId v = e_.first_result + r;
      Result& result = results_.emplace_back();
      result.aval = outer_.graph_.aval(v);
      result.lanes = varying[r] ? outer_.lanes_ : 1;
      if (result.aval.is_list() || outer_.in_registers(result.aval)) continue;
      const std::ptrdiff_t i = borrow(branches_, r, result.lanes, in_, lent_);
      result.borrowed = i >= 0;
      result.place = i >= 0 ? in_[static_cast<std::size_t>(i)] : outer_.destination(v, result.lanes).place();
    }
    for (Result& r : results_)
      if (r.place.buffer) ++r.place.buffer->holders;
  }

  void write_branch(const Graph& graph) {
    Region branch(outer_.lowering_, graph, outer_.lanes_, outer_.mask_);
    for (std::size_t i = 0; i < in_.size(); ++i) branch.bind_input(static_cast<ValueId>(i), in_[i]);
    for (std::uint32_t r = 0; r < results_.size(); ++r)
      if (results_[r].in_memory() && !results_[r].borrowed) branch.hint_output(r, results_[r].place);
    branch.run();
    for (std::uint32_t r = 0; r < results_.size(); ++r) {
      Result& result = results_[r];
      if (result.aval.is_list()) {
        result.lists.push_back(branch.output(r));
      } else if (result.in_memory()) {
        if (!result.borrowed) branch.write_output(r, result.place);
      } else {
        result.elements.push_back(outer_.registers(branch.output(r), result.aval));
        b_.set_lanes(result.lanes);
        for (Value& v : result.elements.back())
          if (result.lanes > b_.lanes_of(v)) v = b_.splat(v);
      }
    }
    // Last, as another result may be a view of what is overwritten.
    for (std::uint32_t r = 0; r < results_.size(); ++r)
      if (results_[r].borrowed) branch.write_output(r, results_[r].place);
  }

  Place joined(Result& result) {
    if (result.aval.is_list()) return joined_list(result);
    if (result.in_memory()) {
      --result.place.buffer->holders;
      return std::move(result.place);
    }
    Place place;
    place.kind = Place::Kind::Registers;
    b_.set_lanes(result.lanes);
    for (std::size_t i = 0; i < result.elements[0].size(); ++i) {
      const Value phi = b_.phi(result.aval.dtype());
      for (std::size_t k = 0; k < ends_.size(); ++k) b_.add_incoming(phi, result.elements[k][i], ends_[k]);
      place.elements.push_back(phi);
    }
    return place;
  }

  Place joined_list(const Result& result) {
    Place place = result.lists[0];
    // Which list it is shows at run time only: none of them may be given back before the call ends.
    place.buffer = std::make_shared<Buffer>();
    for (const Place& list : result.lists) place.buffer->parts.push_back(list.buffer);
    const Pointer base = b_.pointer_phi();
    place.base = base;
    b_.set_lanes(1);
    place.offset = b_.phi(Dtype::I64);
    for (std::size_t k = 0; k < ends_.size(); ++k) {
      b_.add_incoming(base, result.lists[k].base, ends_[k]);
      b_.add_incoming(place.offset, result.lists[k].offset, ends_[k]);
    }
    return place;
  }

  Region& outer_;
  Builder& b_;
  const Eqn& e_;
  const std::vector<GraphRef>& branches_;
  const std::span<const Place> in_;
  std::vector<char> lent_;
  std::vector<Result> results_;
  std::vector<Block> ends_;
};

void Region::emit_cond(const Eqn& e) {
  const auto operands = graph_.operands(e);
  const auto branches = static_cast<std::int64_t>(e.params.as<CondParams>().branches.size());
  const Value index = clamped_index(operands[0], branches - 1);
  // An array used for the last time may be overwritten by the branches.
  std::vector<Place> in(operands.size() - 1);
  std::vector<char> lent(in.size(), 0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    bool last = false;
    in[i] = take(operands[i + 1], last);
    if (!last || !may_update(in[i])) continue;
    lent[i] = 1;
    ++in[i].buffer->holders;
  }
  if (b_.lanes_of(index) > 1)
    emit_cond_lanes(e, index, in, lent);
  else
    CondWriter(*this, e, in, lent).write(index);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (lent[i]) --in[i].buffer->holders;
}

/// Each branch that some lane takes runs under a mask.
void Region::emit_cond_lanes(const Eqn& e, Value index, std::span<const Place> in, std::vector<char> lent) {
  const auto& branches = e.params.as<CondParams>().branches;
  struct Result {
    Place place;                // in memory
    bool borrowed = false;      // that of an operand
    std::vector<Value> values;  // in registers, as known so far
  };
  std::vector<Result> results(e.result_count);
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const Aval& aval = graph_.aval(e.first_result + r);
    APSIS_ASSERT(!aval.is_list());
    if (!in_registers(aval)) {
      const std::ptrdiff_t i = borrow(branches, r, lanes_, in, lent);
      results[r].borrowed = i >= 0;
      results[r].place =
          i >= 0 ? in[static_cast<std::size_t>(i)] : destination(e.first_result + r, lanes_).place();
      ++results[r].place.buffer->holders;
      continue;
    }
    b_.set_lanes(lanes_);
    results[r].values.assign(static_cast<std::size_t>(aval.size()), b_.constant(aval.dtype(), 0));
  }
  for (std::size_t k = 0; k < branches.size(); ++k) {
    b_.set_lanes(lanes_);
    Value taken = b_.compare(Compare::Eq, index, b_.constant(Dtype::I64, k));
    if (mask_.handle) taken = b_.bit_and(taken, mask_);
    Block before = b_.position(), start = b_.make_block("branch"), after = b_.make_block("next");
    b_.set_lanes(1);
    b_.branch(b_.any(taken), start, after);
    b_.set_position(start);
    Region branch(lowering_, *branches[k], lanes_, taken);
    for (std::size_t i = 0; i < in.size(); ++i) branch.bind_input(static_cast<ValueId>(i), in[i]);
    branch.run();
    std::vector<std::vector<Value>> chosen(results.size());
    for (std::uint32_t r = 0; r < results.size(); ++r) {
      const Aval& aval = graph_.aval(e.first_result + r);
      if (results[r].place.kind == Place::Kind::Memory) {
        if (!results[r].borrowed) branch.copy(branch.output(r), aval, branch.update(results[r].place));
        continue;
      }
      std::vector<Value> values = registers(branch.output(r), aval);
      b_.set_lanes(lanes_);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (b_.lanes_of(values[i]) == 1) values[i] = b_.splat(values[i]);
        chosen[r].push_back(b_.select(taken, values[i], results[r].values[i]));
      }
    }
    for (std::uint32_t r = 0; r < results.size(); ++r)
      if (results[r].borrowed && !same_memory(branch.output(r), results[r].place))
        branch.copy(branch.output(r), graph_.aval(e.first_result + r), branch.update(results[r].place));
    Block end = b_.position();
    b_.jump(after);
    b_.set_position(after);
    b_.set_lanes(lanes_);
    for (std::uint32_t r = 0; r < results.size(); ++r) {
      for (std::size_t i = 0; i < chosen[r].size(); ++i) {
        Value phi = b_.phi(graph_.aval(e.first_result + r).dtype());
        b_.add_incoming(phi, results[r].values[i], before);
        b_.add_incoming(phi, chosen[r][i], end);
        results[r].values[i] = phi;
      }
    }
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    if (results[r].place.kind == Place::Kind::None) {
      results[r].place.kind = Place::Kind::Registers;
      results[r].place.elements = std::move(results[r].values);
    } else {
      --results[r].place.buffer->holders;
    }
    define(e.first_result + r, std::move(results[r].place));
  }
}

}  // namespace apsis::detail
