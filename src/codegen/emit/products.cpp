#include "codegen/emit/products.hpp"

#include "ops/dot_order.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t unrolled_steps = 4;  // contractions this short need no loop
constexpr std::int64_t side_by_side = 4;

}  // namespace

Value multiply_add(Builder& b, Value u, Value v, Value sum) {
  b.set_lanes(b.lanes_of(sum));
  if (is_floating(sum.dtype)) return b.fma(u, v, sum);
  return sum.dtype == Dtype::Bool ? b.bit_or(sum, b.bit_and(u, v)) : b.add(sum, b.mul(u, v));
}

/// make(0) + make(1). A loop writes the code once: from -0, to which adding changes nothing. Tiles do not go
/// around in loops, whose sums would wait in memory.
template <class Make>
Products::Sums Products::added_up(const Make& make) const {
  const auto add = [&](Sums& sums, const Sums& made) {
    for (std::size_t g = 0; g < sums.size(); ++g) {
      b_.set_lanes(b_.lanes_of(sums[g]));
      sums[g] = b_.add(sums[g], made[g]);
    }
  };
  if (steps_.is_tile) {
    Sums sums = make(b_.index(0));
    add(sums, make(b_.index(1)));
    return sums;
  }
  Sums sums = constants(std::uint64_t{1} << (8 * item_size(compute_) - 1));
  CountedLoop loop(b_, 2, 1, sums);
  add(sums, make(loop.index()));
  loop.close();
  return sums;
}

Products::Sums Products::in_order(std::int64_t count) const {
  Sums sums = constants(0);
  if (count <= unrolled_steps)
    for (std::int64_t k = 0; k < count; ++k) accumulate(sums, {}, k);
  else
    along(sums, {}, 1, count, 1);
  return sums;
}

/// The chains of dot_order.hpp, j and j + 4 together for j = 0, 2, 1, 3, so that few sums wait for their
/// partner.
Products::Sums Products::in_chains(std::int64_t count) const {
  const std::int64_t terms = count / dot_partials, rest = count % dot_partials;
  return added_up([&](Value odd) {
    return added_up([&](Value second) {
      b_.set_lanes(1);
      const Value first = b_.add(odd, b_.mul(second, b_.index(2)));
      Sums sums = constants(0, 2);
      along(sums, first, dot_partials, terms, dot_partials / 2);
      for (std::int64_t chain : {0, 1})
        if (chain * dot_partials / 2 < rest) add_last(sums, chain, first, terms * dot_partials, rest);
      for (std::size_t g = 0; g < group_; ++g) {
        b_.set_lanes(b_.lanes_of(sums[g]));
        sums[g] = b_.add(sums[g], sums[group_ + g]);
      }
      sums.resize(group_);
      return sums;
    });
  });
}

void Products::ask_for_rows(std::int64_t count, std::int64_t columns, Value column,
                            std::int64_t rows_ahead) const {
  constexpr std::int64_t line = 64;
  const auto item = static_cast<std::int64_t>(item_size(dtype_));
  const std::int64_t of_column = (count * item + columns - 1) / columns;  // bytes
  b_.set_lanes(1);
  ConstPointer row = nest_.current(steps_.access_a);
  if (column.handle) row = b_.offset(row, b_.mul(column, b_.index(of_column)));
  const auto rows = static_cast<std::int64_t>(group_);
  for (std::int64_t g = rows_ahead; g < rows_ahead + rows; ++g)
    for (std::int64_t at = 0; at < nest_.width() * of_column; at += line)
      b_.prefetch(b_.offset(row, g * steps_.shift_a * item + at));
}

Products::Sums Products::constants(std::uint64_t bits, std::size_t times) const {
  b_.set_lanes(nest_.width());
  return Sums(times * group_, b_.constant(compute_, bits));
}

/// Adds the products first, first + step, …, `terms` of them; a second group of sums those `apart` further.
void Products::along(Sums& sums, Value first, std::int64_t step, std::int64_t terms,
                     std::int64_t apart) const {
  const auto add = [&](Value k, std::int64_t shift) {
    for (std::size_t at = 0; at < sums.size(); at += group_)
      accumulate(sums, k, shift + (at ? apart : 0), at);
  };
  const auto together =
      side_by_side * static_cast<std::int64_t>(group_) / static_cast<std::int64_t>(sums.size());
  const std::int64_t at_once = group_ > 1 && nest_.width() > 1 && terms % together == 0 ? together : 1;
  CountedLoop loop(b_, terms / at_once, 1, sums);
  const std::int64_t further = step * at_once;
  Value k = further == 1 ? loop.index() : b_.mul(loop.index(), b_.index(further));
  if (first.handle) k = b_.add(k, first);
  for (std::int64_t term = 0; term < at_once; ++term) add(k, term * step);
  loop.close();
}

/// The product left over for chain first + 4 chain, if it has one.
void Products::add_last(Sums& sums, std::int64_t chain, Value first, std::int64_t whole,
                        std::int64_t rest) const {
  b_.set_lanes(1);
  const Value j = b_.add(first, b_.index(chain * dot_partials / 2));
  const Value has_one = b_.compare(Compare::Lt, j, b_.index(rest));
  const Value k = b_.add(b_.select(has_one, j, b_.index(0)), b_.index(whole));
  const std::size_t at = static_cast<std::size_t>(chain) * group_;
  Sums longer = sums;
  accumulate(longer, k, 0, at);
  for (std::size_t g = at; g < at + group_; ++g) {
    b_.set_lanes(b_.lanes_of(sums[g]));
    sums[g] = b_.select(b_.lanes() > 1 ? b_.splat(has_one) : has_one, longer[g], sums[g]);
  }
}

/// Adds product k + shift to the sums of a group.
void Products::accumulate(Sums& sums, Value k, std::int64_t shift, std::size_t at) const {
  Value bytes_a, bytes_b, x, y;
  if (k.handle) {
    b_.set_lanes(1);
    bytes_a = b_.mul(k, b_.index(steps_.bytes_a));
    bytes_b = b_.mul(k, b_.index(steps_.bytes_b));
  }
  for (std::size_t g = 0; g < group_; ++g) {
    const auto n = static_cast<std::int64_t>(g);
    if (g == 0 || steps_.shift_a != 0)
      x = load(steps_.access_a, shift * steps_.a + n * steps_.shift_a, bytes_a);
    if (g == 0 || steps_.shift_b != 0)
      y = load(steps_.access_b, shift * steps_.b + n * steps_.shift_b, bytes_b);
    Value& sum = sums[at + g];
    const Value u = widened(x), v = widened(y);
    sum = multiply_add(b_, u, v, sum);
  }
}

Value Products::load(std::size_t access, std::int64_t at, Value bytes) const {
  const Value v = nest_.load(access, at, bytes);
  b_.set_lanes(b_.lanes_of(v));
  return compute_ == dtype_ ? v : b_.convert(v, compute_);
}

Value Products::widened(Value v) const {
  b_.set_lanes(nest_.width());
  return nest_.width() > 1 && b_.lanes_of(v) == 1 ? b_.splat(v) : v;
}

}  // namespace apsis::detail
