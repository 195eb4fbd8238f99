// What jax.lax has and NumPy has not, or NumPy has with options, against JAX.

#include "apsis/array/index.hpp"
#include "apsis/ops/dynamic_slice.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/pad.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

int axis_of(const Case& c) { return static_cast<int>(number(c, "axis")); }

TakeOptions take_options(const Case& c) {
  TakeOptions options;
  if (c.text.at("axis") != "none") options.axis = axis_of(c);
  if (c.text.at("mode") == "wrap") options.mode = OutOfBounds::Wrap;
  if (c.text.at("mode") == "fill") options.fill_value = 3;
  return options;
}

TEST(Lax, Moves) {
  const Table table{
      {"dynamic_slice",
       one([](auto& c, auto x) { return dynamic_slice(x[0], x.subspan(1), dims(c, "sizes")); })},
      {"dynamic_slice_in_dim",
       one([](auto& c, auto x) { return dynamic_slice_in_dim(x[0], x[1], number(c, "size"), axis_of(c)); })},
      {"dynamic_index_in_dim", one([](auto& c, auto x) {
         return dynamic_index_in_dim(x[0], x[1], axis_of(c), flag(c, "keepdims"));
       })},
      {"dynamic_update_slice",
       one([](auto&, auto x) { return dynamic_update_slice(x[0], x[1], x.subspan(2)); })},
      {"dynamic_update_slice_in_dim",
       one([](auto& c, auto x) { return dynamic_update_slice_in_dim(x[0], x[1], x[2], axis_of(c)); })},
      {"dynamic_update_index_in_dim",
       one([](auto& c, auto x) { return dynamic_update_index_in_dim(x[0], x[1], x[2], axis_of(c)); })},
      {"pad", one([](auto& c, auto x) {
         return pad(x[0], dims(c, "low"), dims(c, "high"), dims(c, "interior"), x[1]);
       })},
      {"take", one([](auto& c, auto x) { return take(x[0], x[1], take_options(c)); })},
  };
  check_file("moves", table);
}

Array einsum_of(const std::string& equation, Inputs x) {
  if (x.size() == 1) return einsum(equation, {x[0]});
  return x.size() == 2 ? einsum(equation, {x[0], x[1]}) : einsum(equation, {x[0], x[1], x[2]});
}

TEST(Lax, Einsum) {
  const Table table{
      {"einsum", one([](auto& c, auto x) { return einsum_of(c.text.at("equation"), x); })},
  };
  check_file("einsum", table);
}

}  // namespace
}  // namespace apsis::testing
