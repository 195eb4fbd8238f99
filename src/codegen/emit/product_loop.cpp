#include "codegen/emit/product_loop.hpp"

#include <algorithm>

#include "codegen/emit/contraction.hpp"
#include "codegen/emit/strips.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t most_columns = 512;

/// As few parts as can be, of whole vectors.
std::int64_t columns_of_strip(std::int64_t columns, std::int64_t vector) {
  const std::int64_t parts = (columns + most_columns - 1) / most_columns;
  return parts == 1 ? columns : ((columns + parts - 1) / parts + vector - 1) / vector * vector;
}

FusedLoop part_of(const Strips& strips, FusedLoop loop) {
  loop.shape = strips.shape();
  for (Access& a : loop.accesses) a = strips(a);
  for (Sink& s : loop.sinks) s = strips(s);
  return loop;
}

/// The elementwise code, which reads what was made from memory.
FusedLoop without_product(FusedLoop loop, const Access& made) {
  const FusedLoop::Product& product = *loop.product;
  loop.accesses[product.a] = made;
  loop.leaf_access[product.leaf] = product.a;
  loop.accesses.erase(loop.accesses.begin() + product.b);
  for (std::uint32_t& access : loop.leaf_access)
    if (access < FusedLoop::made && access > product.b) --access;
  loop.product.reset();
  return loop;
}

}  // namespace

void write_product_loop(Builder& b, const FusedLoop& loop, bool optimized) {
  const FusedLoop::Product& product = *loop.product;
  const Dtype dtype = loop.accesses[product.a].dtype;
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  const std::int64_t columns = columns_of_strip(loop.shape.back(), product.tile.columns);
  const std::int64_t rows = rows_of_strip(loop.shape[loop.shape.size() - 2], product.tile.rows,
                                          item * std::max(product.count, columns));
  Strips strips(b, loop.shape, rows, columns);
  const FusedLoop strip = part_of(strips, loop);
  const Sink made = product.store != FusedLoop::none
                        ? strip.sinks[product.store]
                        : Sink{.view = View::contiguous(strip.shape),
                               .base = b.stack(static_cast<std::size_t>(rows * columns * item)),
                               .dtype = dtype,
                               .lanes = 1,
                               .mask = {}};
  write_tiles(b,
              {.shape = strip.shape,
               .a = strip.accesses[product.a],
               .b = strip.accesses[product.b],
               .result = made,
               .step_a = product.step_a,
               .step_b = product.step_b,
               .count = product.count,
               .compute = product.compute,
               .panel = product.panel},
              product.tile);
  write_loop(b, without_product(strip, {made.view, made.base, dtype}), optimized);
  strips.close();
}

}  // namespace apsis::detail
