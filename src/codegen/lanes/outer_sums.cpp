#include "codegen/lanes/outer_sums.hpp"

#include <algorithm>

#include "ir/copy.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

/// Finds the carries that a body only adds outer products to.
class Finder {
 public:
  Finder(const Graph& body) : body_(body), uses_(count_uses(body)) {}

  /// The products of output `out`, the carry's next value; their vectors as values of the body.
  struct Product {
    ValueId left, right;
  };
  bool find(ValueId carry, ValueId out, std::vector<Product>& products, bool& onto_carry) const {
    const Shape& shape = body_.aval(carry).shape();
    if (shape.rank() != 2 || uses_[carry] != 1) return false;
    products.clear();
    ValueId next = out;
    const Eqn* e = only_use(next);
    onto_carry = true;
    if (e && e->op->arithmetic == Arithmetic::Sum) {
      const auto operands = body_.operands(*e);
      if (operands[0] != carry && operands[1] != carry) return false;
      next = operands[operands[0] == carry ? 1 : 0];
      onto_carry = false;
      e = only_use(next);
    }
    for (; e && e->op->arithmetic == Arithmetic::ProductSum; e = only_use(next)) {
      const auto operands = body_.operands(*e);
      if (!add_product(operands[0], operands[1], shape, products)) return false;
      next = operands[2];
      if (next == carry) break;
    }
    if (!onto_carry) {
      if (!e || e->op->arithmetic != Arithmetic::Product) return false;
      const auto operands = body_.operands(*e);
      if (!add_product(operands[0], operands[1], shape, products)) return false;
    }
    std::ranges::reverse(products);
    return !products.empty() && (!onto_carry || next == carry);
  }

 private:
  const Eqn* only_use(ValueId v) const { return uses_[v] == 1 ? body_.definition(v) : nullptr; }

  /// The vector that a matrix repeats, and the axis it lies along.
  bool spread(ValueId matrix, const Shape& shape, ValueId& vector, std::int64_t& axis) const {
    const Eqn* e = matrix < body_.input_count() ? nullptr : body_.definition(matrix);
    if (!e || e->op->view_kind != ViewKind::Repeated) return false;
    const Dims& axes = e->params.as<BroadcastParams>().axes;
    vector = body_.operands(*e)[0];
    if (axes.size() != 1) return false;
    axis = axes[0];
    return body_.aval(vector).shape()[0] == shape[static_cast<std::size_t>(axis)];
  }

  bool add_product(ValueId x, ValueId y, const Shape& shape, std::vector<Product>& products) const {
    ValueId vectors[2];
    std::int64_t axes[2];
    if (!spread(x, shape, vectors[0], axes[0]) || !spread(y, shape, vectors[1], axes[1]) ||
        axes[0] == axes[1])
      return false;
    products.push_back({vectors[axes[0]], vectors[axes[1]]});
    return true;
  }

  const Graph& body_;
  std::vector<std::uint32_t> uses_;
};

/// A stretch of an axis in steps of one length.
struct Stretch {
  std::int64_t first, count;
  int step;
};

/// An axis in steps of `step`, and what is left over.
std::vector<Stretch> stretches(std::int64_t size, int step) {
  std::vector<Stretch> all;
  if (size >= step) all.push_back({0, size / step, step});
  if (size % step) all.push_back({size - size % step, 1, static_cast<int>(size % step)});
  return all;
}

}  // namespace

OuterSums split_outer_sums(const Graph& body, std::size_t first_carry, std::size_t carries,
                           std::int64_t smallest) {
  OuterSums found;
  const Finder finder(body);
  std::vector<ValueId> outputs(body.outputs().begin(), body.outputs().end()), vectors;
  const auto number_of = [&](ValueId v) {
    const auto at = std::ranges::find(vectors, v);
    const auto number = static_cast<std::size_t>(at - vectors.begin());
    if (at == vectors.end()) vectors.push_back(v);
    return number;
  };
  for (std::size_t c = 0; c < carries; ++c) {
    const auto input = static_cast<ValueId>(first_carry + c);
    const Aval& aval = body.aval(input);
    if (!is_floating(aval.dtype()) || item_size(aval.dtype()) < 4 || aval.size() <= smallest) continue;
    std::vector<Finder::Product> products;
    OuterSum sum{c, {}, false};
    if (!finder.find(input, outputs[c], products, sum.onto_carry)) continue;
    for (const auto& [left, right] : products) sum.terms.push_back({number_of(left), number_of(right)});
    outputs[c] = input;
    found.sums.push_back(std::move(sum));
  }
  if (found.sums.empty()) return found;
  for (ValueId v : vectors) {
    outputs.push_back(v);
    found.vectors.push_back(body.aval(v));
  }
  found.body = with_outputs(body, outputs);
  return found;
}

void write_outer_sum(Builder& b, const OuterSum& sum, const Aval& carry, const OuterArrays& arrays) {
  const Dtype dtype = carry.dtype();
  const std::int64_t element = static_cast<std::int64_t>(item_size(dtype)) * arrays.lanes;
  const std::int64_t columns = carry.shape()[1];
  // As many sums at a time as registers hold beside the factors.
  const bool many = b.vector_bytes() == 64;
  const int registers = std::max<int>(1, static_cast<int>(element) / b.vector_bytes());
  const int high = many ? 4 : 2, wide = std::max(1, 4 / registers);
  using Values = std::vector<Value>;

  const auto tile = [&](Pointer home, Pointer lefts, Pointer rights, int rows, int width) {
    const auto each = [&](auto&& visit) {
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < width; ++j) visit(i, j, static_cast<std::size_t>(i * width + j));
    };
    const auto at = [&](int i, int j) { return b.offset(home, (i * columns + j) * element); };
    b.set_lanes(arrays.lanes);
    Values sums(static_cast<std::size_t>(rows * width));
    if (sum.onto_carry) each([&](int i, int j, std::size_t n) { sums[n] = b.load(at(i, j), dtype); });
    for (const OuterSum::Term& term : sum.terms) {
      Values left, right;
      const auto load = [&](Pointer vectors, std::size_t vector, int i) {
        return b.load(b.offset(vectors, arrays.offsets[vector] + i * element), dtype);
      };
      for (int i = 0; i < rows; ++i) left.push_back(load(lefts, term.left, i));
      for (int j = 0; j < width; ++j) right.push_back(load(rights, term.right, j));
      each([&](int i, int j, std::size_t n) {
        const Value x = left[static_cast<std::size_t>(i)], y = right[static_cast<std::size_t>(j)];
        sums[n] = sums[n].handle ? b.fma(x, y, sums[n]) : b.mul(x, y);
      });
    }
    each([&](int i, int j, std::size_t n) {
      b.store(at(i, j), sum.onto_carry ? sums[n] : b.add(b.load(at(i, j), dtype), sums[n]));
    });
  };
  const auto further = [&](Pointer p, const Stretch& stretch, Value index, std::int64_t bytes) {
    b.set_lanes(1);
    return b.offset(b.offset(p, stretch.first * bytes), b.mul(index, b.index(stretch.step * bytes)));
  };
  for (const Stretch& down : stretches(carry.shape()[0], high)) {
    CountedLoop row(b, b.index(down.count));
    const Pointer rows = further(arrays.carry, down, row.index(), columns * element);
    const Pointer lefts = further(arrays.vectors, down, row.index(), element);
    for (const Stretch& along : stretches(columns, wide)) {
      CountedLoop column(b, b.index(along.count));
      const Pointer home = further(rows, along, column.index(), element);
      const Pointer rights = further(arrays.vectors, along, column.index(), element);
      CountedLoop iteration(b, arrays.iterations);
      const Value bytes = b.mul(iteration.index(), b.index(arrays.stride));
      tile(home, b.offset(lefts, bytes), b.offset(rights, bytes), down.step, along.step);
      iteration.close();
      column.close();
    }
    row.close();
  }
}

}  // namespace apsis::detail
