// The way back through a scan.

#include "control/flow/scan_transpose.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "control/common/call_rules.hpp"
#include "control/common/messages.hpp"
#include "control/flow/condition_unions.hpp"
#include "control/flow/late_sums.hpp"
#include "control/flow/loop_rules.hpp"
#include "control/tape/late_writes.hpp"
#include "core/list.hpp"
#include "ir/copy.hpp"
#include "ops/lax.hpp"
#include "transform/derivatives/guard.hpp"
#include "transform/derivatives/transpose.hpp"

namespace apsis::detail {
namespace {

/// What a transposed body takes, in its order: what is open of late carries, the constants and entries that
/// the body is not linear in, the cotangents of the carry and of the ys, the sums of those of the linear
/// constants, the conditions of cotangents, the same for all iterations or by entry.
enum Group : std::size_t { Open, Consts, Xs, Carry, Ys, Sums, Held, HeldXs };
constexpr std::size_t group_count = 8;
using GroupOrder = std::array<Group, group_count>;
constexpr GroupOrder body_order{Open, Consts, Xs, Carry, Ys, Sums, Held, HeldXs},
    loop_order{Consts, Held, Sums, Carry, Open, Xs, HeldXs, Ys};  // (constants | carry | entries)

template <class T>
using Groups = std::array<std::vector<T>, group_count>;

template <class T>
std::vector<T> joined(const Groups<T>& groups, const GroupOrder& order) {
  std::vector<T> all;
  for (Group g : order) all.insert(all.end(), groups[g].begin(), groups[g].end());
  return all;
}

/// What is in one order, in the other.
template <class T>
std::vector<T> reordered(std::span<const T> all, const std::array<std::size_t, group_count>& sizes,
                         const GroupOrder& from, const GroupOrder& to) {
  Groups<T> groups;
  for (Group g : from) {
    groups[g].assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(sizes[g]));
    all = all.subspan(sizes[g]);
  }
  return joined(groups, to);
}

/// The conditions of cotangents in an iteration. Those of sums and the carry stay as long as the body hands
/// them on.
struct HeldConditions {
  /// Empty for what has none.
  HeldConditions(std::span<const AxesCondition> of_sums, std::span<const AxesCondition> of_carry,
                 std::span<const AxesCondition> of_ys);
  GivenConditions given;
  std::vector<Array> constant, by_entry;
};

HeldConditions::HeldConditions(std::span<const AxesCondition> of_sums,
                               std::span<const AxesCondition> of_carry,
                               std::span<const AxesCondition> of_ys) {
  given.of_sums.resize(of_sums.size());
  given.of_outputs.resize(of_carry.size() + of_ys.size());
  const auto add_constant = [&](GivenConditions::Use& use, const AxesCondition& one) {
    std::size_t k = 0;
    while (k < constant.size() && constant[k].node() != one.holds.node()) ++k;
    if (k == constant.size()) constant.push_back(one.holds);
    use = {static_cast<int>(k), one.axes};
  };
  for (std::size_t s = 0; s < of_sums.size(); ++s)
    if (!of_sums[s].holds.is_empty()) add_constant(given.of_sums[s], of_sums[s]);
  for (std::size_t c = 0; c < of_carry.size(); ++c)
    if (!of_carry[c].holds.is_empty()) add_constant(given.of_outputs[c], of_carry[c]);
  std::vector<std::size_t> entries;
  for (std::size_t y = 0; y < of_ys.size(); ++y) {
    AxesCondition one = of_ys[y];
    if (one.holds.is_empty()) continue;
    GivenConditions::Use& use = given.of_outputs[of_carry.size() + y];
    const bool by_time = !one.axes.empty() && one.axes[0] == 0;
    if (by_time) one.axes.erase(0);
    for (std::int64_t& axis : one.axes) --axis;
    if (!by_time) {
      add_constant(use, one);
      continue;
    }
    use = {static_cast<int>(by_entry.size()), one.axes};
    by_entry.push_back(one.holds);
    entries.push_back(of_carry.size() + y);
  }
  for (std::size_t i : entries) given.of_outputs[i].which += static_cast<int>(constant.size());
  for (const Array& a : constant) given.avals.push_back(a.aval());
  for (const Array& a : by_entry) given.avals.push_back(unstacked(a.aval()));
}

/// Conditions given for some of an iteration's axes, laid out for the first axes up to the last of these:
/// only such ones are handed on. Axis 0 of entries is that of time, in lists too; a condition that has it has
/// it first.
std::vector<AxesCondition> for_first_axes(const TransposeRule& r, std::size_t carries) {
  std::vector<AxesCondition> found(r.given.begin(), r.given.end());
  found.resize(r.cotangents.size());
  struct Known {
    std::size_t from;
    Dims axes;
    Shape shape;
    Array holds;
  };
  std::vector<Known> known;
  for (std::size_t i = 0; i < found.size(); ++i) {
    AxesCondition& one = found[i];
    if (one.holds.is_empty()) continue;
    const bool list = r.cotangents[i].aval().is_list();
    const std::int64_t first = i < carries ? 0 : 1;
    if (list && first == 1) one.axes = after_time(one.axes);
    if (one.axes.contains(first - 1)) {
      const auto at = static_cast<std::size_t>(std::ranges::find(one.axes, 0) - one.axes.begin());
      if (at == 0) continue;
      one.holds = lax::move_axis(one.holds, static_cast<int>(at), 0);
      one.axes.erase(at);
      one.axes.insert(0, 0);
      continue;
    }
    Dims axes = one.axes;
    for (std::int64_t& axis : axes) axis -= first;
    if (leads(axes)) continue;
    const Shape& whole = r.cotangents[i].shape();
    const auto count = static_cast<std::size_t>(*std::ranges::max_element(axes)) + 1;
    const Shape shape(whole.data() + (list ? 0 : first), count);
    const auto same = std::ranges::find_if(known, [&](const Known& k) {
      return r.given[k.from].holds.node() == r.given[i].holds.node() && k.axes == axes && k.shape == shape;
    });
    if (same == known.end()) {
      one.holds = holds_in(Guard{one.holds, axes}, shape);
      known.push_back({i, axes, shape, one.holds});
    } else {
      one.holds = same->holds;
    }
    one.axes = Dims::counting(count);
    for (std::int64_t& axis : one.axes) axis += first;
  }
  return found;
}

bool is_for_first_axes(const Shape& part, const Aval& value) {
  const Shape& whole = value.shape();
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

/// What the cotangents of a loop are given with, as conditions for all iterations.
std::vector<Array> for_all_iterations(const HeldConditions& conditions, Unions& unions) {
  std::vector<Array> found;
  for (const Array& holds : conditions.by_entry) found.push_back(unions.made_of(unions.of_any(holds)));
  append(found, conditions.constant);
  return found;
}

/// The condition that each carry's cotangent has in all iterations, if the body hands it on: what it is given
/// with, or, if it is zero at first, what some other cotangent is given with.
std::vector<AxesCondition> conditions_of_carry(const TransposeRule& r, std::span<const AxesCondition> given,
                                               std::span<const Array> conditions, std::size_t first_carry,
                                               const std::vector<bool>& late) {
  std::vector<AxesCondition> found(late.size());
  for (std::size_t c = 0; c < late.size(); ++c) {
    if (late[c]) continue;
    if (!r.cotangents[c].is_empty()) {
      found[c] = given[c];
      continue;
    }
    for (const Array& holds : conditions) {
      if (is_for_first_axes(holds.shape(), r.out[first_carry + c].aval()))
        found[c] = AxesCondition::for_first_axes(holds);
    }
  }
  return found;
}

/// The condition that the cotangent of each linear const may have, if its entries along some axes have to do
/// with the same entries of what the loop carries, as those of lanes have. One for whole arrays needs nothing
/// of this.
std::vector<AxesCondition> conditions_of_sums(const TransposeRule& r, std::span<const Array> conditions,
                                              std::size_t consts, Unions& unions) {
  std::vector<AxesCondition> found;
  for (std::size_t i = 0; i < consts; ++i) {
    if (!r.out[i].is_linear()) continue;
    AxesCondition& own = found.emplace_back();
    if (r.out[i].has_sum()) continue;  // does not start from zero
    Union all;
    for (const Array& holds : conditions)
      if (holds.ndim() > 0 && is_for_first_axes(holds.shape(), r.out[i].aval()))
        all = either(all, unions.of(holds));
    if (!all.parts.empty()) own = AxesCondition::for_first_axes(unions.made_of(all));
  }
  return found;
}

/// For each value of a transposed body, whose first inputs say what of `open` still is, where that is a
/// condition, and then are `consts`, which may be conditions too; those from `first` on are the conditions of
/// the iteration.
std::vector<Implied> implied(const Graph& graph, std::span<const Array> open, std::span<const Array> consts,
                             std::size_t first, const HeldConditions& conditions, Unions& unions) {
  std::vector<Implied> inputs(graph.input_count());
  for (std::size_t g = 0; g < open.size(); ++g)
    if (unions.has(open[g])) inputs[g].as = unions.of(open[g]);
  for (const Array& holds : conditions.constant) inputs[first++] = {unions.of(holds), true};
  for (const Array& holds : conditions.by_entry) inputs[first++] = {unions.of_any(holds), false};
  for (std::size_t c = 0; c < consts.size(); ++c)
    if (unions.has(consts[c])) inputs[open.size() + c] = {unions.of(consts[c]), true};
  return implied(graph, inputs, unions);
}

/// For a group of late carries: where the cotangents of all count, if that is one condition for as many axes
/// as what is open. Else true, and each is held to its own.
Array open_at_first(const LateWrites& late, std::size_t group, std::span<const AxesCondition> given,
                    std::span<AxesCondition> held, Unions& unions) {
  const AxesCondition* common = nullptr;
  bool same = true;
  for (std::size_t c = 0; c < late.group.size(); ++c) {
    if (late.group[c] != static_cast<int>(group)) continue;
    same =
        same && (!common || (common->holds.node() == given[c].holds.node() && common->axes == given[c].axes));
    common = &given[c];
  }
  const Shape& shape = late.open[group].shape();
  if (common && same && !common->holds.is_empty() && common->axes.size() <= shape.size()) {
    const Array open = holds_in(guard_of(common->holds), shape);
    unions.add(open, unions.of(common->holds));
    return open;
  }
  for (std::size_t c = 0; c < late.group.size(); ++c)
    if (late.group[c] == static_cast<int>(group)) held[c] = given[c];
  return lax::full(shape, Dtype::Bool, 1);
}

/// Which inputs of the body are linear. A carry that starts from known zeros is, too, if the body makes it
/// so.
std::vector<bool> linear_inputs(const TransposeRule& r, const Loop& loop) {
  std::vector<bool> linear = linear_operands(r);
  mark_dependent_carries(*loop.body, linear, loop.consts, loop.carries);
  for (std::size_t c = 0; c < loop.carries; ++c)
    if (!linear[loop.consts + c]) fail(messages::loop_not_transposable, {"scan"});
  return linear;
}

bool is_held(const AxesCondition& c) { return !c.holds.is_empty(); }

/// Backwards over the entries: the carry is (sums of the cotangents of the linear consts, cotangents of the
/// carry, what is open of late carries).
class Backward {
 public:
  explicit Backward(const TransposeRule& r)
      : r_(r),
        loop_(r.params.as<ScanParams>()),
        linear_(linear_inputs(r, loop_)),
        ct_mask_(not_empty(r.cotangents)),
        late_(*loop_.body, linear_, loop_.consts, loop_.carries, slice_mask(ct_mask_, 0, loop_.carries)),
        conditions_given_(for_first_axes(r, loop_.carries)),
        of_carry_(std::span(conditions_given_).first(loop_.carries)),
        of_ys_(std::span(conditions_given_).subspan(loop_.carries)) {
    hold_conditions();
    gather_operands();
    list_linear_inputs();
  }

  void run() {
    while (!settle()) {
    }
    give(bind_backward());
  }

 private:
  /// Under which conditions the cotangents that are carried count at first: the sums, then those of the
  /// carry.
  void hold_conditions() {
    const std::vector<Array> for_all = for_all_iterations(HeldConditions({}, of_carry_, of_ys_), unions_);
    held_ = conditions_of_sums(r_, for_all, loop_.consts, unions_);
    sums_ = held_.size();
    for (AxesCondition& one : conditions_of_carry(r_, of_carry_, for_all, loop_.consts, late_.late))
      held_.push_back(std::move(one));
  }

  void gather_operands() {
    const std::size_t consts = loop_.consts, carries = loop_.carries;
    for (std::size_t c = 0; c < carries; ++c) {
      const Array& ct = r_.cotangents[c];
      given_[Carry].push_back(ct.is_empty() ? lax::full_like(r_.out[consts + c].aval(), 0) : ct);
    }
    for (std::size_t g = 0; g < late_.open.size(); ++g)
      given_[Open].push_back(open_at_first(late_, g, of_carry_, std::span(held_).subspan(sums_), unions_));
    for (std::size_t i = 0; i < linear_.size(); ++i) {
      if (!linear_[i])
        given_[i < consts ? Consts : Xs].push_back(r_.operands[i]);
      else if (r_.out[i].aval().is_list() && i < consts)
        fail(messages::sum_of_tapes, {});  // of lists that nobody knows the length of
      else if (i < consts)
        given_[Sums].push_back(take_sum(r_.out[i]));
    }
    std::fill_n(ct_mask_.begin(), carries, true);
    given_[Ys] =
        marked(r_.cotangents.subspan(carries), slice_mask(ct_mask_, carries, ct_mask_.size() - carries));
  }

  void list_linear_inputs() {
    const std::size_t first_x = loop_.first_x();
    body_linear_.assign(late_.open.size(), false);
    body_linear_.insert(body_linear_.end(), linear_.begin(), linear_.end());
    for (std::size_t i = 0; i < linear_.size(); ++i) {
      if (!linear_[i]) continue;
      // Of lists nobody knows the length before there is one.
      all_.push_back(i < first_x || list_depth(r_.out[i].aval().list()) < 2);
      if (i >= first_x) linear_xs_.push_back(i);
    }
    sum_mask_.assign(all_.size(), false);
    std::fill_n(sum_mask_.begin(), given_[Sums].size(), true);
  }

  /// Transposes the body under the conditions that are held. False if the cotangent of some carry counts
  /// elsewhere too when it comes out: then that condition is weaker now.
  bool settle() {
    const std::span<const AxesCondition> all_held = held_;
    const HeldConditions conditions(all_held.first(sums_), all_held.subspan(sums_), of_ys_);
    given_[Held] = conditions.constant;
    given_[HeldXs] = conditions.by_entry;
    TransposeRequest request{.linear = body_linear_,
                             .cotangents = ct_mask_,
                             .instantiate = all_,
                             .sums = sum_mask_,
                             .given = conditions.given};
    if (!conditions.given.avals.empty()) {
      request.conditional.resize(all_.size());
      for (std::size_t k = 0; k < all_.size(); ++k) {
        const bool is_asked =
            k >= held_.size() || (is_held(held_[k]) && !(k >= sums_ && late_.late[k - sums_]));
        if (is_asked) request.conditional[k].axes = Conditional::any;
        request.instantiate.push_back(is_asked && k < held_.size());
      }
    }
    Transposed transposed = transpose_graph(*late_.body, request);
    transposed_ = std::move(transposed.graph);
    out_mask_ = std::move(transposed.out_mask);
    narrowed_.clear();
    of_xs_.assign(all_.size() - held_.size(), {});
    bool settled = true;
    const std::size_t first =
        transposed_->input_count() - conditions.constant.size() - conditions.by_entry.size();
    const std::vector<Implied> implied_by =
        implied(*transposed_, given_[Open], given_[Consts], first, conditions, unions_);
    std::size_t out = count(slice_mask(out_mask_, 0, all_.size()));
    for (std::size_t k = 0, cotangent = 0; k < request.conditional.size(); ++k) {
      cotangent += out_mask_[k];
      if (!out_mask_[all_.size() + k]) continue;
      const std::size_t says = out++;
      const ValueId value = transposed_->outputs()[says];
      if (k >= held_.size())
        take_condition_of_x(k - held_.size(), cotangent - 1, says, implied_by[value], conditions,
                            first + conditions.constant.size());
      else
        settled = hold(k, cotangent - 1, says, implied_by[value]) && settled;
    }
    return settled;
  }

  /// The condition of the cotangent of an x, which output `says` tells. `entries`: the first input of the
  /// transposed body that is a condition by entry.
  void take_condition_of_x(std::size_t x, std::size_t cotangent, std::size_t says, const Implied& own,
                           const HeldConditions& conditions, std::size_t entries) {
    const ValueId value = transposed_->outputs()[says];
    AxesCondition& one = of_xs_[x];
    const bool list = r_.out[linear_xs_[x]].aval().is_list();
    const bool by_entry = !list && entries <= value && value < transposed_->input_count();
    if (by_entry)
      one = AxesCondition::for_first_axes(conditions.by_entry[value - entries]);
    else if (own.as && !own.as->parts.empty())
      one = AxesCondition::for_first_axes(unions_.made_of(*own.as));
    if (!list && !by_entry) one.axes = after_time(one.axes);
    // Lists are zero already where they do not count.
    const bool exact = !list && is_held(one) && (by_entry || own.equal);
    if (!exact && !transposed_->aval(transposed_->outputs()[cotangent]).is_list())
      narrowed_.emplace_back(cotangent, says);
  }

  /// Whether what is carried at k counts, when it comes out, only where it does now. Else it counts where it
  /// comes out too, from now on, or everywhere.
  bool hold(std::size_t k, std::size_t cotangent, std::size_t says, const Implied& own) {
    const Union now = unions_.of(held_[k].holds);
    if (own.as && within(*own.as, now)) {
      const bool fewer = !own.equal || *own.as != now;
      if (k >= sums_ && fewer && !own.as->parts.empty()) narrowed_.emplace_back(cotangent, says);
      return true;
    }
    if (k >= sums_) {
      Array& ct = given_[Carry][k - sums_];
      ct = guarded(ct, guard_of(held_[k]));
    }
    held_[k] =
        own.as ? AxesCondition::for_first_axes(unions_.made_of(either(now, *own.as))) : AxesCondition();
    return false;
  }

  /// How many of the outputs say where cotangents count.
  std::size_t conditional_outputs() const {
    return count(out_mask_) - count(slice_mask(out_mask_, 0, all_.size()));
  }
  std::size_t carried() const { return given_[Sums].size() + loop_.carries; }

  /// Sums of products that are computed after the loop, of what it keeps of their operands.
  struct LateSum {
    std::size_t place;
    std::vector<LateProduct> products;
  };
  std::vector<LateSum> late_sums(const std::array<std::size_t, group_count>& sizes) const {
    std::vector<LateSum> found;
    if (loop_.length < 0 || sizes[Held] + sizes[HeldXs] > 0) return found;
    const std::vector<char> stacked = stacked_inputs(sizes);
    const std::size_t first = sizes[Open] + sizes[Consts] + sizes[Xs] + sizes[Carry] + sizes[Ys];
    for (std::size_t s = 0; s < sizes[Sums]; ++s) {
      auto products =
          late_products(*transposed_, static_cast<ValueId>(first + s), transposed_->outputs()[s], stacked);
      if (!products.empty()) found.push_back({s, std::move(products)});
    }
    return found;
  }
  /// By input of the transposed body: whether it is an entry of an array.
  std::vector<char> stacked_inputs(const std::array<std::size_t, group_count>& sizes) const {
    std::vector<char> stacked;
    for (Group g : body_order)
      for (std::size_t i = 0; i < sizes[g]; ++i)
        stacked.push_back((g == Xs || g == Ys) && !given_[g][i].aval().is_list());
    return stacked;
  }

  std::vector<Array> bind_backward() {
    std::array<std::size_t, group_count> sizes;
    for (Group g : body_order) sizes[g] = given_[g].size();
    const std::vector<LateSum> late_sums = this->late_sums(sizes);
    if (late_sums.empty()) return bind_loop(sizes);

    // The loop without these sums, and with the operands of their products among its entries.
    const std::vector<Array> sums = given_[Sums];
    const GraphRef whole = transposed_;
    std::vector<ValueId> outputs, inputs, operands;
    std::vector<char> late(sizes[Sums], 0);
    for (const LateSum& sum : late_sums) {
      late[sum.place] = 1;
      for (const LateProduct& p : sum.products) operands.insert(operands.end(), {p.a, p.b});
    }
    const std::size_t first = joined(given_, body_order).size() - sizes[Sums];
    std::erase_if(operands, [&](ValueId v) { return v < whole->input_count(); });
    std::ranges::sort(operands);
    operands.erase(std::ranges::unique(operands).begin(), operands.end());
    for (ValueId v = 0; v < whole->input_count(); ++v)
      if (v < first || !late[v - first]) inputs.push_back(v);
    for (std::size_t o = 0; o < whole->outputs().size(); ++o)
      if (o >= late.size() || !late[o]) outputs.push_back(whole->outputs()[o]);
    outputs.insert(outputs.end(), operands.begin(), operands.end());
    given_[Sums].clear();
    for (std::size_t s = 0; s < late.size(); ++s)
      if (!late[s]) given_[Sums].push_back(sums[s]);
    sizes[Sums] = given_[Sums].size();
    transposed_ = extract(*whole, outputs, inputs);
    std::vector<Array> found = bind_loop(sizes);
    transposed_ = whole;
    given_[Sums] = sums;

    const std::vector<Array> entries(found.end() - static_cast<std::ptrdiff_t>(operands.size()), found.end());
    found.resize(found.size() - operands.size());
    const std::vector<Array> all = joined(given_, body_order);
    const auto of_all = [&](ValueId v) {
      if (v < whole->input_count()) return all[v];
      return entries[static_cast<std::size_t>(std::ranges::find(operands, v) - operands.begin())];
    };
    for (const LateSum& sum : late_sums) {
      Array total = sums[sum.place];
      for (const LateProduct& p : sum.products)
        total = lax::add(total, product_of_all(p.params, of_all(p.a), of_all(p.b)));
      found.insert(found.begin() + static_cast<std::ptrdiff_t>(sum.place), total);
    }
    return found;
  }

  /// Binds the loop over the transposed body. Outputs that follow the cotangents are entries.
  std::vector<Array> bind_loop(const std::array<std::size_t, group_count>& sizes) {
    const std::size_t plain = sizes[Open] + sizes[Consts] + sizes[Xs],
                      first_open = sizes[Sums] + loop_.carries,
                      cotangents = transposed_->outputs().size() - conditional_outputs();
    const auto wire = [&](std::span<const Array> in) {
      const std::vector<Array> args = reordered(in, sizes, loop_order, body_order);
      std::vector<Array> outs = interpret(*transposed_, args);
      for (const auto& [cotangent, says] : narrowed_)
        outs[cotangent] = guarded(outs[cotangent], guard_of(outs[says]));
      outs.resize(cotangents);
      for (std::size_t c = 0; c < loop_.carries; ++c)
        if (late_.late[c]) outs[sizes[Sums] + c] = args[plain + c];
      const std::vector<Array> open = interpret(*late_.next, std::span(args).first(plain));
      outs.insert(outs.begin() + static_cast<std::ptrdiff_t>(first_open), open.begin(), open.end());
      return outs;
    };
    const std::vector<Aval> avals = input_avals(*transposed_);
    const ScanParams backward{rewire(reordered<Aval>(avals, sizes, body_order, loop_order), wire),
                              static_cast<std::int64_t>(sizes[Consts] + sizes[Held]),
                              static_cast<std::int64_t>(first_open + sizes[Open]), loop_.length,
                              !loop_.reverse};
    return bind_all(scan_op, make_params(backward), joined(given_, loop_order));
  }

  /// What the rule returns: cotangents of the operands, and where they count.
  void give(const std::vector<Array>& found) {
    const std::size_t consts = loop_.consts, first_x = loop_.first_x();
    for (std::size_t i = 0, k = 0, next = 0; i < linear_.size(); ++i) {
      if (!linear_[i] || !out_mask_[k++]) continue;
      const Array& ct = found[i < first_x ? next : next + given_[Open].size()];
      ++next;
      if (!r_.out[i].is_linear()) continue;
      const bool late = i >= consts && i < first_x && late_.late[i - consts];
      const std::size_t c = i - consts;
      if (late && r_.cotangents[c].is_empty()) continue;
      if (late) {
        // Where a late carry starts from counts if no iteration has written it.
        const Guard open = guard_of(found[carried() + static_cast<std::size_t>(late_.group[c])]);
        const Guard where = *both(open, guard_of(held_[sums_ + c]));
        r_.out[i].add_if(ct, {holds(where), where.axes});
      } else {
        r_.out[i].add_if(ct, k <= held_.size() ? held_[k - 1] : of_xs_[k - 1 - held_.size()]);
      }
    }
  }

  const TransposeRule& r_;
  const Loop loop_;
  const std::vector<bool> linear_;  // by input of the body
  std::vector<bool> ct_mask_;
  const LateWrites late_;
  const std::vector<AxesCondition> conditions_given_;
  const std::span<const AxesCondition> of_carry_, of_ys_;
  Unions unions_;
  Groups<Array> given_;
  std::vector<AxesCondition> held_;  // of the sums, then of the carry
  std::size_t sums_ = 0;
  // By linear input: whether its cotangent is wanted, even if zero, and whether it starts from a sum.
  std::vector<bool> all_, sum_mask_;
  std::vector<bool> body_linear_, out_mask_;
  std::vector<std::size_t> linear_xs_;
  GraphRef transposed_;
  // Cotangents, by output, that count in fewer places than their condition says, with the output that says
  // where: they become zero in the others.
  std::vector<std::pair<std::size_t, std::size_t>> narrowed_;
  std::vector<AxesCondition> of_xs_;
};

}  // namespace

void scan_transpose(const TransposeRule& r) { Backward(r).run(); }

}  // namespace apsis::detail
