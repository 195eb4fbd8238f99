#include "codegen/emit/contraction.hpp"

#include <algorithm>

#include "codegen/emit/products.hpp"
#include "codegen/emit/row_contraction.hpp"
#include "codegen/emit/small_product.hpp"
#include "codegen/emit/strips.hpp"
#include "ops/dot_order.hpp"

namespace apsis::detail {
namespace {

// Vectors of sums, to hide the latency of multiply-add; the elements of one value at most.
constexpr int in_flight = 4, most_lanes = 64;

/// Rows of a matrix times vectors, if it can be seen so.
bool write_rows(Lowering& lowering, const Contraction& c, int vector) {
  const Shape& shape = c.shape;
  if (!knows_row_contraction(c.result.dtype, shape.empty() ? 1 : shape.back(), c.count, vector)) return false;
  const std::int64_t apart_a = shape.empty() ? 0 : c.a.view.strides.back(),
                     apart_b = shape.empty() ? 0 : c.b.view.strides.back();
  const bool read_alike = !c.in_chains() || (c.step_a == 1 && c.step_b == 1);
  const bool rows_of_a = apart_a > 1 && apart_b == 0 && c.step_a == 1 && read_alike,
             rows_of_b = apart_b > 1 && apart_a == 0 && c.step_b == 1 && read_alike;
  // Where the chains are the vector, each result may be a row of its own.
  const bool lone = !rows_of_a && !rows_of_b && c.in_chains() && c.step_a == 1 && c.step_b == 1;
  if (!rows_of_a && !rows_of_b && !lone) return false;
  RowContraction rows{.shape = shape,
                      .matrix = rows_of_b ? c.b : c.a,
                      .vector = rows_of_b ? c.a : c.b,
                      .result = c.result,
                      .rows = lone ? 1 : shape.back(),
                      .columns = c.count,
                      .row_stride = rows_of_b ? apart_b : apart_a,
                      .vector_stride = rows_of_b ? c.step_a : c.step_b,
                      .result_stride = lone ? 1 : c.result.view.strides.back()};
  if (!lone) {
    rows.shape.erase(rows.shape.size() - 1);
    for (View* view : {&rows.matrix.view, &rows.vector.view, &rows.result.view}) {
      view->shape = rows.shape;
      view->strides.erase(rows.shape.size());
    }
  }
  write_row_contraction(lowering.b, rows, vector);
  return true;
}

/// Which results an iteration of the nest makes: vectors of `width` neighbours, `count` of them along `axis`.
struct Grouping {
  int width = 1;
  std::int64_t count = 1;
  std::size_t axis = 0;
  bool is_tile = false;
};

/// `ask`: of the products, before they are made.
template <class Ask>
void write_products(Builder& b, const Contraction& c, const Grouping& grouping, const Ask& ask) {
  const Dtype dtype = c.result.dtype;
  Shape shape = c.shape;
  Access in_a = c.a, in_b = c.b;
  Sink result = c.result;
  ProductSteps steps{c.step_a, c.step_b};
  steps.is_tile = grouping.is_tile;
  if (!shape.empty()) {
    const std::size_t axis = grouping.axis;
    steps.shift_a = c.a.view.strides[axis];
    steps.shift_b = c.b.view.strides[axis];
    steps.shift = c.result.view.strides[axis];
    shape[axis] /= grouping.count;
    for (View* view : {&in_a.view, &in_b.view, &result.view}) {
      view->shape = shape;
      view->strides[axis] *= grouping.count;
    }
  }
  LoopNest nest(b, shape, {in_a, in_b}, {&result, 1}, grouping.width, c.result.lanes);
  nest.open();
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  steps.bytes_a = c.step_a * item * c.a.lanes;
  steps.bytes_b = c.step_b * item * c.b.lanes;
  const Products products(b, nest, steps, dtype, c.compute, grouping.count);
  ask(products);
  const Products::Sums sums = c.in_chains() ? products.in_chains(c.count) : products.in_order(c.count);
  for (std::int64_t g = 0; g < grouping.count; ++g) {
    const Value sum = sums[static_cast<std::size_t>(g)];
    b.set_lanes(b.lanes_of(sum));
    nest.store(0, c.compute == dtype ? sum : b.convert(sum, dtype), g * steps.shift);
  }
  nest.close();
}

/// Their sums are in two chains: with the elements that they meet, registers hold no more.
std::int64_t rows_side_by_side(const Builder& b) { return b.vector_bytes() == 64 ? 4 : 3; }
constexpr int vectors_of_row = 2;

/// Whether rows of the result meet the same rows of b, which are without gaps or in panels.
bool shares_columns(const Contraction& c, const ProductTile& tile) {
  const std::size_t rank = c.shape.size();
  if (rank < 2 || c.shape[rank - 1] < tile.columns || c.shape[rank - 2] < tile.rows) return false;
  return c.a.view.strides[rank - 1] == 0 && (c.in_panels || c.b.view.strides[rank - 1] == 1) &&
         c.b.view.strides[rank - 2] == 0 && c.result.view.strides[rank - 1] == 1;
}

void write_products(Builder& b, const Contraction& c, const Grouping& grouping) {
  write_products(b, c, grouping, [](const Products&) {});
}

Contraction part_of(const Strips& strips, Contraction c) {
  c.shape = strips.shape();
  c.a = strips(c.a);
  c.b = strips(c.b);
  c.result = strips(c.result);
  return c;
}

/// Rows that meet the same columns lie in the first cache.
void write_in_tiles(Builder& b, const Contraction& c, const ProductTile& tile) {
  const std::int64_t item = static_cast<std::int64_t>(item_size(c.a.dtype)), columns = c.shape.back();
  Strips strips(b, c.shape, rows_of_strip(c.shape[c.shape.size() - 2], tile.rows, c.count * item), columns);
  write_tiles(b, part_of(strips, c), tile);
  strips.close();
}

void append_word(std::string& key, std::int64_t word) {
  key.append(reinterpret_cast<const char*>(&word), sizeof word);
}

/// What makes two contractions the same code: all but addresses.
std::string key_of(const Contraction& c) {
  std::string key = "contraction";
  append_word(key, static_cast<std::int64_t>(c.compute));
  for (std::int64_t n : c.shape) append_word(key, n);
  const auto append_access = [&](const auto& access) {
    append_word(key, static_cast<std::int64_t>(access.dtype));
    append_word(key, access.lanes);
    for (std::int64_t stride : access.view.strides) append_word(key, stride);
  };
  append_access(c.a);
  append_access(c.b);
  append_access(c.result);
  for (std::int64_t n : {c.step_a, c.step_b, c.count, std::int64_t{c.in_panels}}) append_word(key, n);
  return key;
}

}  // namespace

bool Contraction::in_chains() const { return is_floating(compute) && count >= dot_sequential_below; }

ProductTile tile_for(const Lowering& lowering, Dtype compute) {
  return {rows_side_by_side(lowering.b), vectors_of_row * lowering.vector_lanes(item_size(compute))};
}

ProductTile tile_of(const Lowering& lowering, const Contraction& c) {
  constexpr std::int64_t large = 1 << 20, least = 64;  // bytes: of all rows, and of one
  ProductTile tile = tile_for(lowering, c.compute);
  if (c.result.lanes > 1 || !shares_columns(c, tile)) return {};
  const std::size_t axis = c.shape.size() - 2;
  const auto item = static_cast<std::int64_t>(item_size(c.a.dtype));
  tile.asks_for_rows = c.step_a == 1 && c.count * item >= least && c.a.view.strides[axis] >= c.count &&
                       c.shape[axis] * c.count * item >= large;
  return tile;
}

void write_tiles(Builder& b, const Contraction& c, const ProductTile& tile) {
  const std::int64_t rows = c.shape[0], columns = c.shape[1];
  Strips panels(b, c.shape, rows, tile.columns);
  Contraction panel = part_of(panels, c);
  panel.b.view.strides[1] = 1;
  Strips tiles(b, panel.shape, tile.rows, tile.columns);
  write_products(b, part_of(tiles, panel), {tile.columns, tile.rows, 0, true}, [&](const Products& products) {
    if (tile.asks_for_rows) products.ask_for_rows(c.count, columns, panels.column(), rows);
  });
  tiles.close();
  panels.close();
}

void write_contraction(Lowering& lowering, const Contraction& c) {
  const int lanes = c.result.lanes, vector = lowering.vector_lanes(item_size(c.compute));
  if (lanes == 1) {
    // Where no axis of the second operand is left, the result has one column.
    Contraction rows = c;
    if (!c.shape.empty() && c.b.view.strides.back() == 0) {
      rows.shape.push_back(1);
      for (View* view : {&rows.a.view, &rows.b.view, &rows.result.view}) {
        view->shape.push_back(1);
        view->strides.push_back(0);
      }
      rows.result.view.strides[c.shape.size()] = 1;
    }
    if (is_product_of_short_rows(rows, vector)) return write_product_of_short_rows(lowering.b, rows, vector);
  }
  if (lanes == 1 && write_rows(lowering, c, vector)) return;
  if (lanes == 1 && is_small_product(c, vector)) return write_small_product(lowering.b, c);
  if (const ProductTile tile = tile_of(lowering, c); tile.rows > 1)
    return write_in_tiles(lowering.b, c, tile);
  APSIS_ASSERT(!c.in_panels);

  // Vectors of neighbouring results; in packets, where the lanes are the vector, several results at once.
  if (lanes == 1) return write_products(lowering.b, c, {.width = std::min(in_flight * vector, most_lanes)});
  Grouping grouping;
  if (!c.shape.empty()) {
    grouping.axis = c.shape.size() - 1;
    // Two chains at a time; registers hold the operands and the sums at rest, too.
    const std::int64_t most_sums = lowering.b.vector_bytes() == 64 ? 16 : 8;
    const std::int64_t registers = std::max<std::int64_t>(1, lanes / vector),
                       most = c.in_chains() ? most_sums / (2 * registers) : 2 * in_flight;
    for (std::int64_t g = 2; g <= most; ++g)
      if (c.shape.back() % g == 0) grouping.count = g;
  }
  write_products(lowering.b, c, grouping);
}

void call_contraction(Lowering& lowering, const Contraction& contraction) {
  Builder& b = lowering.b;
  Contraction inner = contraction;
  std::vector<Operand> arguments;
  std::vector<Type> parameters;
  b.set_lanes(1);
  const auto pass = [&](auto& access) {
    const std::int64_t bytes = static_cast<std::int64_t>(item_size(access.dtype)) * access.lanes;
    arguments.push_back(b.offset(access.base, access.view.offset * bytes));
    parameters.push_back(pointer_type);
    access.view.offset = 0;
  };
  pass(inner.a);
  pass(inner.b);
  pass(inner.result);
  auto& known = lowering.shared_loops[key_of(inner)];
  if (known.empty()) {
    const Function f = b.declare("contraction", parameters, {});
    known.push_back({f, {}});
    b.begin(f);
    inner.a.base = b.pointer_parameter(0);
    inner.b.base = b.pointer_parameter(1);
    inner.result.base = b.pointer_parameter(2);
    write_contraction(lowering, inner);
    b.return_values({});
    b.end();
  }
  b.call(known[0].function, arguments, {});
}

}  // namespace apsis::detail
