#include "codegen/emit/product_loop.hpp"

#include "codegen/emit/products.hpp"
#include "ops/dot_order.hpp"

namespace apsis::detail {
namespace {

/// The loop over `count` rows from `first` on, `together` at a time.
FusedLoop rows_of(FusedLoop loop, std::int64_t first, std::int64_t count, std::int64_t together) {
  const std::size_t axis = loop.shape.size() - 2;
  loop.shape[axis] = count / together;
  const auto take = [&](auto& access) {
    std::int64_t& stride = access.view.strides[axis];
    access.view.shape = loop.shape;
    access.view.offset += first * stride;
    access.walk.inner = stride;
    stride *= together;
  };
  for (Access& a : loop.accesses) take(a);
  for (Sink& s : loop.sinks) take(s);
  return loop;
}

void write_rows(Builder& b, const FusedLoop& loop, std::int64_t together) {
  const FusedLoop::Product& product = *loop.product;
  const Access &left = loop.accesses[product.a], &right = loop.accesses[product.b];
  const auto item = static_cast<std::int64_t>(item_size(left.dtype));
  LoopNest nest(b, loop.shape, loop.accesses, loop.sinks, loop.width);
  nest.open();
  const Products products(b, nest,
                          {.a = product.step_a,
                           .b = product.step_b,
                           .shift_a = left.walk.inner,
                           .shift_b = right.walk.inner,
                           .bytes_a = product.step_a * item,
                           .bytes_b = product.step_b * item,
                           .access_a = product.a,
                           .access_b = product.b},
                          left.dtype, product.compute, together);
  if (product.asks_for_rows) products.ask_for_rows(product.count, loop.shape.back());
  const bool chains = is_floating(product.compute) && product.count >= dot_sequential_below;
  const Products::Sums sums = chains ? products.in_chains(product.count) : products.in_order(product.count);
  const auto bytes = nest.width() * item;
  const Pointer tile = b.stack(static_cast<std::size_t>(together * bytes));
  for (std::int64_t row = 0; row < together; ++row) {
    const Value sum = sums[static_cast<std::size_t>(row)];
    b.set_lanes(1);
    const Pointer to = b.offset(tile, row * bytes);
    b.set_lanes(b.lanes_of(sum));
    b.store(to, product.compute == left.dtype ? sum : b.convert(sum, left.dtype));
  }
  b.set_lanes(1);
  CountedLoop row(b, together, 1);
  nest.walk_to(row.index(), 0, 0);
  const ConstPointer from = b.offset(tile, b.mul(row.index(), b.index(bytes)));
  b.set_lanes(nest.width());
  const Value made = b.load(from, left.dtype);
  if (product.store != FusedLoop::none) nest.store(product.store, made);
  write_elements(b, loop, nest, {}, made);
  nest.end_walk();
  row.close();
  nest.close();
}

}  // namespace

void write_product_loop(Builder& b, const FusedLoop& loop) {
  const std::int64_t rows = loop.shape[loop.shape.size() - 2], together = loop.product->rows_together,
                     whole = rows - rows % together;
  write_rows(b, rows_of(loop, 0, whole, together), together);
  if (whole < rows) write_rows(b, rows_of(loop, whole, rows - whole, 1), 1);
}

}  // namespace apsis::detail
