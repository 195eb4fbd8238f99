#pragma once

// Custom rules as programs. A rule is a callable of the user's, staged when a transformation asks for it, for
// the inputs that are perturbed then. Traced values that it captured may be dead by that time: they are found
// when the op is bound, become operands of it (consts), and stand for those operands when the rule is staged.
//
// Operands of all ops with custom rules: (leaves of the function, arguments, captures of the function,
// consts).

#include <map>
#include <memory>
#include <mutex>

#include "apsis/control/custom.hpp"
#include "control/common/call_rules.hpp"
#include "transform/batch/batch.hpp"

namespace apsis::detail {

/// A rule at one call: a closed graph of (inputs…, consts…).
struct RuleProgram {
  GraphRef graph;
  std::vector<bool> out_mask;  // of a derivative rule: results that are there
  std::vector<bool> mapped;    // of a mapped forward rule: residuals that differ from lane to lane
  AnyTree kept;                // of a forward rule: what the backward rule must know
};

/// The graph with what it captured as part of it.
GraphRef closed(const GraphRef& graph, std::span<const Array> captured, const char* name);

/// Stages `body` on (inputs…), with `consts` further inputs that stand for the arrays captured, and the named
/// axes that were in scope where the rule was called. Concrete arrays that it uses become part of the
/// program. Throws where it uses a traced value or a list that is no const.
template <class Body>
RuleProgram stage_rule(Body&& body, std::span<const Aval> inputs, std::span<const Array> consts,
                       std::span<const NamedAxis> axes, const char* name) {
  RuleProgram program;
  std::vector<Array> captured;
  {
    const AxesScope remembered(axes);
    StageTrace trace(current_trace(), name);
    std::vector<Array> in;
    for (const Aval& aval : inputs) in.push_back(trace.input(aval));
    for (const Array& c : consts) trace.substitute(c, trace.input(c.aval()));
    TraceScope scope(&trace);
    program.graph = trace.finish(body(std::span<const Array>(in)), captured);
  }
  program.graph = closed(program.graph, captured, name);
  return program;
}
/// What `body`, staged on these inputs, uses from outside and no program can hold: traced values, and lists.
/// None if it throws: that is for when its program is asked for.
template <class Body>
std::vector<Array> consts_among_captures(Body&& body, std::span<const Aval> inputs, const char* name) {
  try {
    std::vector<Array> consts;
    for (const Array& a : stage_with(body, inputs, name).captures)
      if (is_tracer(a) || a.aval().is_list()) consts.push_back(a);
    return consts;
  } catch (const Error&) {
    return {};
  }
}

/// What makes the programs of a rule, each once, by what is marked.
class RulePrograms {
 public:
  virtual ~RulePrograms() = default;
  RuleProgram program(const std::vector<bool>& marks) const {
    {
      std::scoped_lock lock(mutex_);
      if (auto it = made_.find(marks); it != made_.end()) return it->second;
    }
    RuleProgram made = make(marks);
    std::scoped_lock lock(mutex_);
    return made_.try_emplace(marks, std::move(made)).first->second;
  }

 protected:
  virtual RuleProgram make(const std::vector<bool>& marks) const = 0;

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::vector<bool>, RuleProgram> made_;
};

/// Operands of a batched op that its rules take too: which are mapped, and what all are over whole values.
struct MappedOperands {
  std::vector<bool> mask;
  std::vector<Aval> avals;
};

/// Operand counts of an op with custom rules.
struct CustomParts {
  std::int64_t own = 0, arguments = 0, captures = 0, consts = 0;
  static void each(auto& self, auto&& visit) {
    visit("own", self.own);
    visit("arguments", self.arguments);
    visit("captures", self.captures);
    visit("consts", self.consts);
  }
  template <class T>
  std::span<T> arguments_of(std::span<T> operands) const {
    return operands.subspan(static_cast<std::size_t>(own), static_cast<std::size_t>(arguments));
  }
  template <class T>
  std::span<T> consts_of(std::span<T> operands) const {
    return operands.last(static_cast<std::size_t>(consts));
  }
  std::vector<bool> arguments_of(const std::vector<bool>& mask) const {
    auto first = mask.begin() + own;
    return {first, first + arguments};
  }
  std::vector<bool> consts_of(const std::vector<bool>& mask) const {
    return {mask.end() - consts, mask.end()};
  }
  MappedOperands mapped_consts(const std::vector<bool>& mask, std::span<const Aval> avals) const {
    auto whole = consts_of(avals);
    return {consts_of(mask), {whole.begin(), whole.end()}};
  }
  /// Throws if something that `f` uses beside its arguments is marked (differentiated, or mapped).
  void check_captures(const char* op, const char* marked_as, const std::vector<bool>& mask) const;
};

/// A call ready to be bound: the function staged, what its rules captured found.
struct CustomBinding {
  GraphRef region;  // of all operands
  std::vector<Array> operands, consts;
  CustomParts parts;
  std::vector<Aval> argument_avals;
};
/// `consts`: what the rules use from outside and no program can hold.
CustomBinding bind_custom(const CustomCall& call, const char* name, std::span<const Array> consts);

/// Zeros in the place of missing tangents of values that could have one.
void fill_zero_tangents(std::span<const Aval> avals, std::span<Array> tangents);

/// A derivative must be like what it is the derivative of; weak ones take its dtype. `what` names it.
Array fitted_to(const Array& value, const Aval& want, const char* op, const char* what, std::size_t i);
void check_count(const char* op, const char* what, std::size_t got, std::size_t want);

/// Rules are the same if they are the same object.
template <class T>
struct RuleHandle {
  std::shared_ptr<const T> rule;
  friend bool operator==(const RuleHandle&, const RuleHandle&) = default;
};
template <class T>
std::uint64_t hash_field(std::uint64_t seed, const RuleHandle<T>& handle) {
  return hash_word(seed, reinterpret_cast<std::uintptr_t>(handle.rule.get()));
}
template <class T>
void print_field(std::string& out, const RuleHandle<T>&) {
  out += "custom";
}

}  // namespace apsis::detail
