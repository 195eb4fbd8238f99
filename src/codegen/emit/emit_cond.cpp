// Branches. With one index for all lanes the branch taken runs alone; where lanes differ, each branch that
// some lane takes runs under a mask, and results are selected.

#include <algorithm>

#include "codegen/emit/equations.hpp"
#include "passes/analysis/lane_variance.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {
namespace {

struct BranchOperand {
  Place kept;          // read after the branches too, or
  Home lent;           // used for the last time: the branches may overwrite it
  bool taken = false;  // a result is made there
  const Location& where() const { return lent ? static_cast<const Location&>(lent) : kept; }
  Place value() const { return lent ? lent.value() : kept; }
};

/// The operand in whose memory a result is made: one that is lent, that every branch passes on or updates in
/// place, and that no other result has taken. No home: none.
Home borrow(std::span<const GraphRef> branches, std::size_t result, int lanes, std::span<BranchOperand> in) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].lent || in[i].taken || in[i].lent.lanes != lanes) continue;
    const bool kept = std::ranges::all_of(branches, [&](const GraphRef& g) {
      return carry_use(*g, static_cast<ValueId>(i), g->outputs()[result]) != CarryUse::Replaced;
    });
    if (!kept) continue;
    in[i].taken = true;
    return in[i].lent;
  }
  return {};
}

/// All lanes take one branch. Results are variables, or meet in one place in memory: that of an operand, else
/// a new one.
class CondWriter {
 public:
  CondWriter(Region& outer, const Eqn& e, std::span<BranchOperand> in)
      : outer_(outer), b_(outer.b()), e_(e), branches_(e.params.as<CondParams>().branches), in_(in) {
    plan_results();
  }

  void write(Value index) {
    b_.set_lanes(1);
    choose(b_, index, static_cast<int>(branches_.size()),
           [&](int k) { write_branch(*branches_[static_cast<std::size_t>(k)]); });
    for (std::uint32_t r = 0; r < results_.size(); ++r)
      outer_.define(e_.first_result + r, joined(results_[r]));
  }

 private:
  struct Result {
    Aval aval;
    int lanes;
    Home home;                       // in memory
    bool borrowed = false;           // that of an operand
    std::vector<Variable> elements;  // in registers
    Variable list, offset;
    std::vector<Place> lists;  // by branch
  };

  void plan_results() {
    std::vector<char> flags{0};
    for (const BranchOperand& operand : in_)
      flags.push_back(static_cast<char>(outer_.lanes_of(operand.where()) > 1));
    const std::vector<char> varying = outer_.lanes() > 1 ? varying_results(outer_.graph(), e_, flags)
                                                         : std::vector<char>(e_.result_count, 0);
    for (std::uint32_t r = 0; r < e_.result_count; ++r) {
      const ValueId v = e_.first_result + r;
      Result& result = results_.emplace_back();
      result.aval = outer_.aval(v);
      result.lanes = varying[r] ? outer_.lanes() : 1;
      if (result.aval.is_list()) {
        result.list = b_.make_variable(pointer_type);
        result.offset = b_.make_variable(Type{Dtype::I64, 1});
        continue;
      }
      if (outer_.in_registers(result.aval)) {
        for (std::int64_t i = 0; i < result.aval.size(); ++i)
          result.elements.push_back(b_.make_variable(Type{result.aval.dtype(), result.lanes}));
        continue;
      }
      result.home = borrow(branches_, r, result.lanes, in_);
      result.borrowed = static_cast<bool>(result.home);
      if (!result.home) result.home = Home(outer_.destination(v, result.lanes).place());
    }
  }

  void write_branch(const Graph& graph) {
    Region branch(outer_.lowering(), graph, outer_.lanes(), outer_.mask());
    for (std::size_t i = 0; i < in_.size(); ++i) branch.bind_input(static_cast<ValueId>(i), in_[i].value());
    for (std::uint32_t r = 0; r < results_.size(); ++r)
      if (results_[r].home && !results_[r].borrowed) branch.hint_output(r, results_[r].home.value());
    branch.run();
    for (std::uint32_t r = 0; r < results_.size(); ++r) {
      Result& result = results_[r];
      if (result.aval.is_list()) {
        result.lists.push_back(branch.output(r));
        b_.set(result.list, branch.output(r).base);
        b_.set(result.offset, branch.output(r).offset);
      } else if (result.home) {
        if (!result.borrowed) branch.write_output(r, result.home.value());
      } else {
        const Values elements = outer_.registers(branch.output(r), result.aval);
        b_.set_lanes(result.lanes);
        for (std::size_t i = 0; i < elements.size(); ++i)
          b_.set(result.elements[i],
                 result.lanes > b_.lanes_of(elements[i]) ? b_.splat(elements[i]) : elements[i]);
      }
    }
    // Last, as another result may be a view of what is overwritten.
    for (std::uint32_t r = 0; r < results_.size(); ++r)
      if (results_[r].borrowed) branch.write_output(r, results_[r].home.value());
  }

  Place joined(Result& result) {
    if (result.aval.is_list()) return joined_list(result);
    if (result.home) return result.home.value();
    Place place;
    place.kind = Place::Kind::Registers;
    for (Variable v : result.elements) place.elements.push_back(b_.get(v));
    return place;
  }

  Place joined_list(const Result& result) {
    Place place = result.lists[0];
    // Which list it is shows at run time only: none of them may be given back before the call ends.
    const auto buffer = std::make_shared<Buffer>();
    for (const Place& list : result.lists) buffer->parts.push_back(list.buffer);
    place.buffer = BufferReader(buffer);
    place.base = b_.get_pointer(result.list);
    place.offset = b_.get(result.offset);
    return place;
  }

  Region& outer_;
  Builder& b_;
  const Eqn& e_;
  const std::vector<GraphRef>& branches_;
  const std::span<BranchOperand> in_;
  std::vector<Result> results_;
};

/// Each branch that some lane takes runs under a mask.
void emit_cond_lanes(Region& region, const Eqn& e, Value index, std::span<BranchOperand> in) {
  Builder& b = region.b();
  const auto& branches = e.params.as<CondParams>().branches;
  struct Result {
    Home home;                       // in memory
    bool borrowed = false;           // that of an operand
    std::vector<Variable> elements;  // in registers
  };
  std::vector<Result> results(e.result_count);
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const Aval& aval = region.aval(e.first_result + r);
    APSIS_ASSERT(!aval.is_list());
    if (!region.in_registers(aval)) {
      results[r].home = borrow(branches, r, region.lanes(), in);
      results[r].borrowed = static_cast<bool>(results[r].home);
      if (!results[r].home)
        results[r].home = Home(region.destination(e.first_result + r, region.lanes()).place());
      continue;
    }
    b.set_lanes(region.lanes());
    for (std::int64_t i = 0; i < aval.size(); ++i)
      results[r].elements.push_back(b.make_variable(b.constant(aval.dtype(), 0)));
  }
  const auto write_branch = [&](const Graph& graph, Value taken) {
    Region branch(region.lowering(), graph, region.lanes(), taken);
    for (std::size_t i = 0; i < in.size(); ++i) branch.bind_input(static_cast<ValueId>(i), in[i].value());
    branch.run();
    for (std::uint32_t r = 0; r < results.size(); ++r) {
      const Aval& aval = region.aval(e.first_result + r);
      if (const Home& home = results[r].home) {
        if (!results[r].borrowed) branch.copy(branch.output(r), aval, branch.update(home.value()));
        continue;
      }
      const Values values = region.registers(branch.output(r), aval);
      b.set_lanes(region.lanes());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Value v = b.lanes_of(values[i]) == 1 ? b.splat(values[i]) : values[i];
        b.set(results[r].elements[i], b.select(taken, v, b.get(results[r].elements[i])));
      }
    }
    for (std::uint32_t r = 0; r < results.size(); ++r)
      if (results[r].borrowed && !same_memory(branch.output(r), results[r].home))
        branch.copy(branch.output(r), region.aval(e.first_result + r),
                    branch.update(results[r].home.value()));
  };
  for (std::size_t k = 0; k < branches.size(); ++k) {
    b.set_lanes(region.lanes());
    Value taken = b.compare(Compare::Eq, index, b.constant(Dtype::I64, k));
    if (region.mask().handle) taken = b.bit_and(taken, region.mask());
    b.set_lanes(1);
    if_(b, b.any(taken), [&] { write_branch(*branches[k], taken); });
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    Place place;
    if (results[r].home) {
      place = results[r].home.value();
    } else {
      place.kind = Place::Kind::Registers;
      for (Variable v : results[r].elements) place.elements.push_back(b.get(v));
    }
    region.define(e.first_result + r, std::move(place));
  }
}

}  // namespace

void emit_cond(Region& region, const Eqn& e) {
  Builder& b = region.b();
  const auto operands = region.operands(e);
  const auto branches = static_cast<std::int64_t>(e.params.as<CondParams>().branches.size());
  const Value index = clamped_index(region, operands[0], branches - 1);
  // An array used for the last time may be overwritten by the branches.
  std::vector<BranchOperand> in;
  for (ValueId v : operands.subspan(1)) {
    bool last = false;
    Place place = region.take(v, last);
    if (last && region.may_update(place))
      in.push_back({{}, Home(std::move(place))});
    else
      in.push_back({std::move(place), {}});
  }
  if (b.lanes_of(index) > 1)
    emit_cond_lanes(region, e, index, in);
  else
    CondWriter(region, e, in).write(index);
}

}  // namespace apsis::detail
