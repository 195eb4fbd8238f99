// Shapes, indexing, contractions and sorting against JAX's values and gradients (tests/golden/ops_*.txt), and
// each case staged and mapped besides.

#include <algorithm>
#include <map>
#include <sstream>

#include "ops/golden_arrays.hpp"
#include "ops/index_params.hpp"
#include "ops/move_checks.hpp"

namespace apsis {
namespace {

namespace lax = detail::lax;
using Arrays = std::vector<Array>;
using golden::array_of;
using golden::Case;

Arrays fields(const Case& c, const std::string& prefix, std::size_t count) {
  Arrays out(count);
  for (std::size_t i = 0; i < count; ++i)
    if (c.has(prefix + std::to_string(i))) out[i] = array_of(c[prefix + std::to_string(i)]);
  return out;
}

std::size_t count_of(const Case& c, const std::string& prefix) {
  std::size_t n = 0;
  while (c.has(prefix + std::to_string(n))) ++n;
  return n;
}

Dims list(const Case& c, const std::string& key) {
  std::istringstream text(c.text.at(key));
  Dims out;
  for (std::int64_t v; text >> v;) out.push_back(v);
  return out;
}
int number(const Case& c, const std::string& key) { return std::stoi(c.text.at(key)); }

IndexMode mode_of(const Case& c) {
  return c.text.at("mode") == "clip"   ? IndexMode::Clip
         : c.text.at("mode") == "fill" ? IndexMode::Fill
                                       : IndexMode::Drop;
}

Arrays starts_of(const Array& vector) {
  Arrays out;
  for (int i = 0; i < static_cast<int>(vector.dim(0)); ++i) out.push_back(vector[i]);
  return out;
}

// JAX counts negative starts from the end.
Arrays wrapped_starts(const Array& x, const Array& vector) {
  Arrays out = starts_of(vector);
  for (std::size_t i = 0; i < out.size(); ++i) {
    Array size = array(x.shape()[i]);
    out[i] = lax::select(lax::lt(out[i], array(std::int64_t{0})), lax::add(out[i], size), out[i]);
  }
  return out;
}

using Run = Arrays (*)(const Case&, std::span<const Array>);

const std::map<std::string, Run> functions = {
    {"take", [](const Case& c, std::span<const Array> x) { return Arrays{x[0].at(x[1]).get(mode_of(c))}; }},
    {"take_pairs",
     [](const Case& c, std::span<const Array> x) { return Arrays{x[0].at(x[1], x[2]).get(mode_of(c))}; }},
    {"add_pairs", [](const Case& c,
                     std::span<const Array> x) { return Arrays{x[0].at(x[1], x[2]).add(x[3], mode_of(c))}; }},
    {"at_set",
     [](const Case& c, std::span<const Array> x) { return Arrays{x[0].at(x[1]).set(x[2], mode_of(c))}; }},
    {"at_add",
     [](const Case& c, std::span<const Array> x) { return Arrays{x[0].at(x[1]).add(x[2], mode_of(c))}; }},
    {"at_mul", [](const Case& c,
                  std::span<const Array> x) { return Arrays{x[0].at(x[1]).multiply(x[2], mode_of(c))}; }},
    {"at_min",
     [](const Case& c, std::span<const Array> x) { return Arrays{x[0].at(x[1]).min(x[2], mode_of(c))}; }},
    {"at_max",
     [](const Case& c, std::span<const Array> x) { return Arrays{x[0].at(x[1]).max(x[2], mode_of(c))}; }},
    {"take_along_axis",
     [](const Case& c, std::span<const Array> x) {
       return Arrays{take_along_axis(x[0], x[1], number(c, "axis"))};
     }},
    {"dynamic_slice",
     [](const Case& c, std::span<const Array> x) {
       return Arrays{lax::dynamic_slice(x[0], wrapped_starts(x[0], x[1]), list(c, "sizes"))};
     }},
    {"dynamic_update_slice",
     [](const Case&, std::span<const Array> x) {
       return Arrays{lax::dynamic_update_slice(x[0], x[1], wrapped_starts(x[0], x[2]))};
     }},
    {"transpose",
     [](const Case& c, std::span<const Array> x) { return Arrays{transpose(x[0], list(c, "permutation"))}; }},
    {"reshape",
     [](const Case& c, std::span<const Array> x) { return Arrays{reshape(x[0], list(c, "shape"))}; }},
    {"rev", [](const Case& c, std::span<const Array> x) { return Arrays{flip(x[0], list(c, "axes"))}; }},
    {"concatenate",
     [](const Case& c, std::span<const Array> x) { return Arrays{concatenate(x, number(c, "axis"))}; }},
    {"broadcast_in_dim",
     [](const Case& c, std::span<const Array> x) {
       return Arrays{lax::broadcast_in_dim(x[0], list(c, "shape"), list(c, "dims"))};
     }},
    {"slice",
     [](const Case& c, std::span<const Array> x) {
       return Arrays{lax::slice(x[0], list(c, "start"), list(c, "limit"), list(c, "strides"))};
     }},
    {"pad",
     [](const Case& c, std::span<const Array> x) {
       return Arrays{lax::pad(x[0], x[1], list(c, "lo"), list(c, "hi"), list(c, "interior"))};
     }},
    {"roll",
     [](const Case& c, std::span<const Array> x) {
       return Arrays{roll(roll(x[0], list(c, "shift")[0], 0), list(c, "shift")[1], 1)};
     }},
    {"tril", [](const Case&, std::span<const Array> x) { return Arrays{tril(x[0])}; }},
    {"triu", [](const Case& c, std::span<const Array> x) { return Arrays{triu(x[0], number(c, "k"))}; }},
    {"repeat",
     [](const Case& c, std::span<const Array> x) {
       return Arrays{repeat(x[0], number(c, "repeats"), number(c, "axis"))};
     }},
    {"tile", [](const Case& c, std::span<const Array> x) { return Arrays{tile(x[0], list(c, "repeats"))}; }},
    {"linspace",
     [](const Case& c, std::span<const Array> x) { return Arrays{linspace(x[0], x[1], number(c, "num"))}; }},
    {"dot_general",
     [](const Case& c, std::span<const Array> x) {
       return Arrays{lax::dot_general(x[0], x[1], list(c, "lhs_contract"), list(c, "rhs_contract"),
                                      list(c, "lhs_batch"), list(c, "rhs_batch"))};
     }},
    {"matmul", [](const Case&, std::span<const Array> x) { return Arrays{matmul(x[0], x[1])}; }},
    {"sort", [](const Case& c, std::span<const Array> x) { return Arrays{sort(x[0], number(c, "axis"))}; }},
    {"argsort",
     [](const Case& c, std::span<const Array> x) { return Arrays{argsort(x[0], number(c, "axis"))}; }},
    {"sort_pairs", [](const Case&, std::span<const Array> x) { return sort(x, -1, 1); }},
};

void run_file(const std::string& family, const std::vector<std::string>& elsewhere = {}) {
  int ran = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/ops_" + family + ".txt")) {
    if (std::ranges::find(elsewhere, c.name) != elsewhere.end()) continue;
    std::string words;
    for (const auto& [key, value] : c.text) words += " " + key + " " + value;
    SCOPED_TRACE(c.name + words + " case " + std::to_string(ran));
    ASSERT_TRUE(functions.contains(c.name)) << c.name;
    Run run = functions.at(c.name);
    Arrays x = fields(c, "x", count_of(c, "x"));
    checks::Function f = [&](std::span<const Array> in) { return run(c, in); };
    Arrays got = f(x), want = fields(c, "y", count_of(c, "y"));
    ASSERT_EQ(got.size(), want.size());
    // Sums differ from XLA's in their order of accumulation; everything else moves elements.
    bool sums = c.name == "dot_general" || c.name == "matmul" || c.name == "linspace";
    double unit = x[0].dtype() == f32 ? 1.2e-7 : 2.3e-16;
    for (std::size_t i = 0; i < got.size(); ++i) checks::expect_equal(got[i], want[i], sums ? 64 * unit : 0);
    checks::check_staged(f, x);
    bool in_blas = c.name == "dot_general" && x[0].size() > 500;
    checks::check_lanes(f, x, in_blas ? 64 * unit : 0);
    if (c.has("g0") || c.has("g1")) {
      Arrays cotangents = fields(c, "ct", got.size()), gradients = fields(c, "g", x.size());
      // Sorting has kinks at ties, which golden cases have.
      checks::check_derivatives(f, x, cotangents, gradients, 64 * unit, !c.name.starts_with("sort"));
    }
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

TEST(golden_moves, index) { run_file("index"); }
TEST(golden_moves, shape) { run_file("shape"); }
TEST(golden_moves, dot) { run_file("dot"); }
// Descending sorts, top_k and searchsorted have tests of their own, or no function here.
TEST(golden_moves, sort) {
  run_file("sort", {"sort_descending", "argsort_descending", "top_k", "searchsorted"});
}

TEST(golden_moves, searchsorted_both_sides) {
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/ops_sort.txt")) {
    if (c.name != "searchsorted") continue;
    Arrays x = fields(c, "x", 2);
    Array got = searchsorted(x[0], x[1], c.text.at("side") == "right");
    EXPECT_EQ(checks::numbers(got), checks::numbers(array_of(c["y0"])));
  }
}

}  // namespace
}  // namespace apsis
