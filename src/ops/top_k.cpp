// The greatest entries along an axis, and where they are.

#include <algorithm>

#include "apsis/ops/sort.hpp"
#include "ops/arguments.hpp"
#include "ops/each_matrix.hpp"
#include "ops/elementwise.hpp"
#include "ops/index_rules.hpp"
#include "ops/kept_scratch.hpp"
#include "ops/messages.hpp"
#include "ops/sort_order.hpp"
#include "ops/top_lines.hpp"

namespace apsis {
namespace detail {
namespace {

void top_k_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<TopKParams>();
  APSIS_ASSERT(in.size() == 1 && p.axis >= 0 && p.axis < in[0].rank());
  Shape shape = in[0].shape();
  std::int64_t& along = shape[static_cast<std::size_t>(p.axis)];
  APSIS_ASSERT(p.count >= 0 && p.count <= along);
  along = p.count;
  out = {Aval(in[0].dtype(), shape, in[0].weak()), Aval(Dtype::I64, shape)};
}

struct TopLineScratch;

/// The lines of an array along an axis, and of the results.
struct TopLines {
  std::int64_t count, wanted;  // entries of a line
  std::int64_t stride;         // from one entry to the next
  std::int64_t beside;         // lines that are equally far apart, so far:
  std::int64_t from_step, to_step;
  std::int64_t at_once;  // of these
  Dtype dtype;

  TopLines(const TopKParams& p, const Aval& aval)
      : count(aval.shape()[static_cast<std::size_t>(p.axis)]), wanted(p.count), dtype(aval.dtype()) {
    stride = View::contiguous(aval.shape()).strides[static_cast<std::size_t>(p.axis)];
    const bool rows = stride == 1;
    beside = rows ? aval.size() / count : stride;
    from_step = rows ? count : 1;
    to_step = rows ? wanted : 1;
    // Others that are side by side are copied one behind the other, as many as share lines of the cache.
    constexpr std::int64_t cache_line = 64, copied = 1 << 20;
    const auto item = static_cast<std::int64_t>(item_size(dtype));
    at_once = is_short_top(count, wanted, dtype) ? most_short_tops
              : rows
                  ? 1
                  : std::clamp<std::int64_t>(std::min(cache_line / item, copied / (item * count)), 1, beside);
  }
};

void top_k_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (out[0].size() == 0) return;
  const TopLines all(params.as<TopKParams>(), in[0].aval());
  const std::size_t item = item_size(all.dtype);
  const auto* from = static_cast<const char*>(data_of(in[0]));
  auto* values = mutable_data<char>(out[0]);
  auto* places = mutable_data<std::int64_t>(out[1]);
  const std::int64_t groups = (all.beside + all.at_once - 1) / all.at_once,
                     outer = in[0].size() / (all.beside * all.count);
  const auto run = [&](const auto& move, std::int64_t number) {
    const std::int64_t first = number % groups * all.at_once,
                       lines = std::min(all.at_once, all.beside - first);
    const std::int64_t source = number / groups * all.count * all.stride + first * all.from_step,
                       target = number / groups * all.wanted * all.stride + first * all.to_step;
    const bool copies = all.stride > 1 && !is_short_top(all.count, all.wanted, all.dtype);
    const std::size_t line_bytes = static_cast<std::size_t>(all.count) * item;
    const KeptScratch<TopLineScratch> scratch(static_cast<std::size_t>(lines * all.wanted) *
                                                  sizeof(std::int64_t) +
                                              (copies ? static_cast<std::size_t>(lines) * line_bytes : 0));
    auto* found = static_cast<std::int64_t*>(scratch.data());
    const char* line = from + static_cast<std::size_t>(source) * item;
    if (is_short_top(all.count, all.wanted, all.dtype)) {
      top_of_short_lines(line, {all.count, all.wanted, all.stride, lines, all.from_step}, all.dtype, found);
    } else {
      if (copies) {
        auto* copy = reinterpret_cast<char*>(found + lines * all.wanted);
        for (std::int64_t i = 0; i < all.count; ++i)
          for (std::int64_t k = 0; k < lines; ++k)
            move(copy, k * all.count + i, from, source + i * all.stride + k);
        line = copy;
      }
      for (std::int64_t k = 0; k < lines; ++k)
        top_of_line(line + static_cast<std::size_t>(k) * line_bytes, all.count, all.wanted, all.dtype,
                    found + k * all.wanted);
    }
    for (std::int64_t k = 0; k < lines; ++k)
      for (std::int64_t i = 0; i < all.wanted; ++i) {
        const std::int64_t place = found[k * all.wanted + i], to = target + k * all.to_step + i * all.stride;
        places[to] = place;
        move(values, to, from, source + k * all.from_step + place * all.stride);
      }
  };
  const auto run_all = [&](const auto& move) {
    constexpr double operations = 8;  // of an element, about
    each_matrix(outer * groups, operations * static_cast<double>(all.count * all.at_once),
                [&](std::int64_t number) { run(move, number); });
  };
  const auto by_words = [&](auto word) {
    using Word = decltype(word);
    run_all([](char* to, std::int64_t k, const char* of, std::int64_t i) {
      reinterpret_cast<Word*>(to)[k] = reinterpret_cast<const Word*>(of)[i];
    });
  };
  if (as_words(item, by_words)) return;
  run_all([item](char* to, std::int64_t k, const char* of, std::int64_t i) {
    std::copy_n(of + static_cast<std::size_t>(i) * item, item, to + static_cast<std::size_t>(k) * item);
  });
}

// Exchanges of neighbours where the right one is strictly greater, from the end to each place in turn: as
// much of a bubble sort as is wanted.
void top_k_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                std::span<const Aval> out_avals, std::span<Value> out) {
  const auto& p = params.as<TopKParams>();
  const Shape& shape = in_avals[0].shape();
  const auto axis = static_cast<std::size_t>(p.axis);
  const std::int64_t count = shape[axis], stride = View::contiguous(shape).strides[axis];
  if (out.empty()) return;
  const auto size = static_cast<std::size_t>(out_avals[0].size());
  for (std::int64_t line = 0, lines = in_avals[0].size() / count; line < lines; ++line) {
    const std::int64_t outer = line / stride, first = line % stride;
    std::vector<Value> values, places;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(in[static_cast<std::size_t>((outer * count + i) * stride + first)]);
      places.push_back(e.constant(Dtype::I64, static_cast<std::uint64_t>(i)));
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(p.count); ++k) {
      for (std::size_t right = values.size() - 1; right > k; --right) {
        const Value greater = emit_order(e, values[right - 1], values[right]).less;
        for (std::vector<Value>* both : {&values, &places}) {
          const Value a = (*both)[right - 1], b = (*both)[right];
          (*both)[right - 1] = e.select(greater, b, a);
          (*both)[right] = e.select(greater, a, b);
        }
      }
      const auto at =
          static_cast<std::size_t>((outer * p.count + static_cast<std::int64_t>(k)) * stride + first);
      out[at] = values[k];
      out[size + at] = places[k];
    }
  }
}

void top_k_jvp(const JvpRule& r) {
  bind(top_k_op, r.params, r.primals, r.outs);
  r.out_tangents[0] = lax::entries_at(r.tangents[0], r.outs[1], r.params.as<TopKParams>().axis);
}

void top_k_batch(const BatchRule& r) {
  TopKParams p = r.params.as<TopKParams>();
  ++p.axis;
  r.outs = bind_all(top_k_op, make_params(p), batch_operands(r));
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace

// Not linear, so there is no transpose rule: its jvp is a gather, which has one.
const Op top_k_op = {
    .name = "top_k",
    .kind = OpKind::Index,
    .shape = top_k_shape,
    .evaluate = top_k_evaluate,
    .jvp = top_k_jvp,
    .batch = top_k_batch,
    .emit_unrolled = top_k_emit,
    .parse = parse_params<TopKParams>,
};

}  // namespace detail

std::pair<Array, Array> top_k(const Array& x, std::int64_t k, int axis, Loc loc) {
  const int along = detail::checked_axis("top_k", axis, x.shape(), loc);
  if (k < 0 || k > x.dim(along))
    fail(messages::top_k_count,
         {std::to_string(k), std::to_string(along), to_string(x.aval()), std::to_string(x.dim(along))}, loc);
  const std::vector<Array> found =
      bind_all(detail::top_k_op, make_params(detail::TopKParams{along, k}), {&x, 1}, loc);
  return {found[0], found[1]};
}

}  // namespace apsis
