#pragma once

// Programs as data: what the generator makes, the shrinker cuts down, Apsis and the oracle run, and the
// corpus keeps.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apsis/core/shape.hpp"

namespace apsis::compositions {

struct Step;

/// A function. It sees, besides its parameters, all values defined before it around it: it is a closure.
struct Block {
  struct Parameter {
    int name;
    Shape shape;
  };
  std::vector<Parameter> parameters;
  std::vector<Step> steps;
  std::vector<int> results;
};

/// `name, more… = op(operands; numbers, blocks)`. Names are unique in a program. What ops there are: see
/// ops.hpp for those on arrays, forms.hpp for loops, branches and transformations.
struct Step {
  int name;
  Shape shape;
  std::string op;
  std::vector<int> operands;
  std::vector<double> numbers = {};
  std::vector<Block> blocks = {};
  std::vector<Block::Parameter> more = {};  // further results, after the first
};

/// As text, one step a line, and back; `parse` throws std::runtime_error for what is no program.
std::string to_string(const Block& program);
Block parse(std::string_view text);

/// Steps in all, those of inner blocks included.
std::size_t size(const Block& program);

}  // namespace apsis::compositions
