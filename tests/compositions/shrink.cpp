#include <algorithm>

#include "compositions/generate.hpp"

namespace apsis::compositions {
namespace {

using Value = Block::Parameter;

void rename(Block& block, int from, int to) {
  const auto replace = [&](std::vector<int>& names) { std::ranges::replace(names, from, to); };
  for (Step& s : block.steps) {
    replace(s.operands);
    for (Block& b : s.blocks) rename(b, from, to);
  }
  replace(block.results);
}

bool uses(const Block& block, int name) {
  const auto in = [&](const std::vector<int>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  return in(block.results) || std::ranges::any_of(block.steps, [&](const Step& s) {
           return in(s.operands) ||
                  std::ranges::any_of(s.blocks, [&](const Block& b) { return uses(b, name); });
         });
}

std::vector<Value> results_of(const Step& step) {
  std::vector<Value> results{{step.name, step.shape}};
  results.insert(results.end(), step.more.begin(), step.more.end());
  return results;
}
bool uses_any(const Block& block, const Step& step) {
  return std::ranges::any_of(results_of(step), [&](const Value& v) { return uses(block, v.name); });
}

void drop_unused(Block& block) {
  for (std::size_t i = block.steps.size(); i-- > 0;) {
    if (!uses_any(block, block.steps[i])) {
      block.steps.erase(block.steps.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    for (Block& b : block.steps[i].blocks) drop_unused(b);
  }
}

/// Visits every step of a program with the values in sight of it, and may change the block that holds it.
template <class Visit>
void each_step(Block& block, std::vector<Value> sight, Visit&& visit) {
  sight.insert(sight.end(), block.parameters.begin(), block.parameters.end());
  for (std::size_t i = 0; i < block.steps.size(); ++i) {
    visit(block, i, sight);
    if (i >= block.steps.size()) return;
    const Form* form = find_form(block.steps[i].op);
    for (Block& b : block.steps[i].blocks)
      each_step(b, form && form->closed ? std::vector<Value>() : sight, visit);
    for (const Value& v : results_of(block.steps[i])) sight.push_back(v);
  }
}

Step constant(const Value& v) { return {v.name, v.shape, "constant", {}, {0.5}}; }

/// The loops and branches that carry several values: their last operand is no carry, and the blocks of loops
/// with a counter take it first.
bool carries(const Step& step) { return step.op.ends_with("_all"); }

/// Leaves out carry `c`, whose result is not used: its blocks see what it begins with.
bool drop_carry(Block& block, Step& step, std::size_t c) {
  const std::size_t count = step.operands.size() - 1;
  if (count < 2 || c >= count || uses(block, results_of(step)[c].name)) return false;
  for (Block& b : step.blocks) {
    const std::size_t counter = b.parameters.size() > count && step.op != "scan_all" ? 1 : 0;
    const auto parameter = b.parameters.begin() + static_cast<std::ptrdiff_t>(c + counter);
    rename(b, parameter->name, step.operands[c]);
    b.parameters.erase(parameter);
    b.results.erase(b.results.begin() + static_cast<std::ptrdiff_t>(c));
  }
  std::vector<Value> results = results_of(step);
  results.erase(results.begin() + static_cast<std::ptrdiff_t>(c));
  step.name = results[0].name;
  step.shape = results[0].shape;
  step.more.assign(results.begin() + 1, results.end());
  step.operands.erase(step.operands.begin() + static_cast<std::ptrdiff_t>(c));
  return true;
}

/// The ways to make a step of several results simpler.
bool simplify_carries(Block& block, std::size_t i, const std::vector<Value>& sight, std::size_t way) {
  const Step step = block.steps[i];
  const auto at = block.steps.begin() + static_cast<std::ptrdiff_t>(i);
  const std::vector<Value> results = results_of(step);
  if (way == 0) {  // its operands in its place
    block.steps.erase(at);
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (r + 1 < step.operands.size())
        rename(block, results[r].name, step.operands[r]);
      else
        block.steps.insert(block.steps.begin() + static_cast<std::ptrdiff_t>(i), constant(results[r]));
    }
    return true;
  }
  --way;
  if (way < step.blocks.size()) {  // the steps of one of its blocks in its place, once
    Block inner = step.blocks[way];
    const std::size_t carried = step.operands.size() - 1,
                      counter = inner.parameters.size() > carried && step.op != "scan_all" ? 1 : 0;
    std::vector<Step> steps;
    for (std::size_t p = 0; p < inner.parameters.size(); ++p) {
      if (p >= counter && p - counter < carried)
        rename(inner, inner.parameters[p].name, step.operands[p - counter]);
      else
        steps.push_back(constant(inner.parameters[p]));
    }
    steps.insert(steps.end(), inner.steps.begin(), inner.steps.end());
    block.steps.erase(at);
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (r < carried)
        rename(block, results[r].name, inner.results[r]);
      else
        steps.push_back(constant(results[r]));
    }
    block.steps.insert(block.steps.begin() + static_cast<std::ptrdiff_t>(i), steps.begin(), steps.end());
    return true;
  }
  way -= step.blocks.size();
  if (way < results.size()) {
    if (!drop_carry(block, block.steps[i], way)) block.steps[i] = step;
    return true;
  }
  way -= results.size();
  // Another last operand: what the trips or the branch depend on.
  std::vector<int> alike;
  for (const Value& v : sight)
    if (v.shape.empty() && step.op != "scan_all") alike.push_back(v.name);
  if (way < alike.size()) {
    block.steps[i].operands.back() = alike[way];
    return true;
  }
  return false;
}

/// The ways to make step `i` of a block simpler, by number; false past the last.
bool simplify(Block& block, std::size_t i, const std::vector<Value>& sight, std::size_t way) {
  const Step step = block.steps[i];
  const auto at = block.steps.begin() + static_cast<std::ptrdiff_t>(i);
  if (!uses_any(block, step)) {
    if (way > 0) return false;
    block.steps.erase(at);
    return true;
  }
  if (carries(step)) return simplify_carries(block, i, sight, way);
  std::vector<int> alike;
  for (const Value& v : sight)
    if (v.shape == step.shape) alike.push_back(v.name);
  if (way < alike.size()) {  // another value in its place, the oldest first
    block.steps.erase(at);
    rename(block, step.name, alike[way]);
    return true;
  }
  way -= alike.size();
  if (way < step.blocks.size()) {  // the steps of one of its blocks in its place, once
    Block inner = step.blocks[way];
    const auto result = std::ranges::find_if(inner.results, [&](int v) {
      return std::ranges::any_of(inner.steps,
                                 [&](const Step& s) { return s.name == v && s.shape == step.shape; });
    });
    if (result == inner.results.end()) return true;
    for (const Value& p : inner.parameters) {
      const auto fits = std::ranges::find_if(sight, [&](const Value& v) {
        return v.shape == p.shape && std::ranges::find(step.operands, v.name) != step.operands.end();
      });
      if (fits != sight.end())
        rename(inner, p.name, fits->name);
      else
        inner.steps.insert(inner.steps.begin(), {p.name, p.shape, "constant", {}, {0.5}});
    }
    const int value = *result;
    block.steps.erase(at);
    block.steps.insert(block.steps.begin() + static_cast<std::ptrdiff_t>(i), inner.steps.begin(),
                       inner.steps.end());
    rename(block, step.name, value);
    return true;
  }
  way -= step.blocks.size();
  if (way == 0 && step.op != "constant") {
    *at = {step.name, step.shape, "constant", {}, {0.5}};
    return true;
  }
  return false;
}

/// Candidate number `n` of a program: a way for a step.
bool candidate(Block& program, std::size_t step, std::size_t way) {
  std::size_t number = 0;
  bool done = false, valid = false;
  each_step(program, {}, [&](Block& block, std::size_t i, const std::vector<Value>& sight) {
    if (done || number++ != step) return;
    done = true;
    valid = simplify(block, i, sight, way);
  });
  return valid;
}

}  // namespace

Block shrink(Block program, const std::function<bool(const Block&)>& fails, int tries) {
  const auto accept = [&](const Block& smaller) {
    if (to_string(smaller).size() >= to_string(program).size() || tries-- <= 0 || !fails(smaller))
      return false;
    program = smaller;
    return true;
  };
  for (bool better = true; better && tries > 0;) {
    better = false;
    // What is not used fails too, sometimes: tracing runs it. So it goes all at once if it may, and else step
    // by step.
    Block clean = program;
    drop_unused(clean);
    better |= accept(clean);
    for (std::size_t step = 0; step < size(program) && tries > 0; ++step) {
      for (std::size_t way = 0;; ++way) {
        Block smaller = program;
        if (!candidate(smaller, step, way)) break;
        if (!accept(smaller)) continue;
        better = true;
        way = static_cast<std::size_t>(-1);  // the step is another one now
      }
    }
  }
  return program;
}

}  // namespace apsis::compositions
