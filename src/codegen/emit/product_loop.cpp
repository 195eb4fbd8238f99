#include "codegen/emit/product_loop.hpp"

#include <algorithm>
#include <bit>

#include "codegen/emit/contraction.hpp"
#include "codegen/emit/strips.hpp"

namespace apsis::detail {
namespace {

/// So many columns, of whole tiles, if there are too many; better none are left over.
std::int64_t columns_of_strip(std::int64_t columns, std::int64_t tile) {
  constexpr std::int64_t most = 512, fewest = 128;
  if (columns <= most) return columns;
  for (std::int64_t part = most; part >= fewest; part -= tile)
    if (columns % part == 0) return part;
  return most;
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

void write_strips(Builder& b, const FusedLoop& loop, std::int64_t rows, std::int64_t columns,
                  bool optimized) {
  const FusedLoop::Product& product = *loop.product;
  const Dtype dtype = loop.accesses[product.a].dtype;
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  ProductTile tile = product.tile;
  tile.rows = std::min(tile.rows, rows);
  if (columns < tile.columns)
    tile.columns = static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(columns)));
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
               .in_panels = product.in_panels},
              tile);
  write_loop(b, without_product(strip, {made.view, made.base, dtype}), optimized);
  strips.close();
}

}  // namespace

void write_product_loop(Builder& b, const FusedLoop& loop, bool optimized) {
  const FusedLoop::Product& product = *loop.product;
  const std::size_t across = loop.shape.size() - 1, down = across - 1;
  const std::int64_t columns = columns_of_strip(loop.shape[across], product.tile.columns),
                     row = std::max(product.count, columns),
                     bytes = row * static_cast<std::int64_t>(item_size(loop.accesses[product.a].dtype)),
                     rows = rows_of_strip(loop.shape[down], product.tile.rows, bytes, product.once);
  if (!product.once) return write_strips(b, loop, rows, columns, optimized);
  const auto each_part = [&](const FusedLoop& of, std::size_t axis, std::int64_t strip, const auto& write) {
    const std::int64_t left = of.shape[axis] % strip, whole = of.shape[axis] - left;
    if (whole > 0) write(part_of(of, axis, 0, whole), strip);
    if (left > 0) write(part_of(of, axis, whole, left), left);
  };
  each_part(loop, down, rows, [&](const FusedLoop& some, std::int64_t strip) {
    each_part(some, across, columns, [&](const FusedLoop& part, std::int64_t width) {
      write_strips(b, part, strip, width, optimized);
    });
  });
}

}  // namespace apsis::detail
