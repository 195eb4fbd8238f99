#include "apsis/optim/privacy.hpp"

#include "apsis/array/random.hpp"
#include "apsis/ops/index.hpp"
#include "optim/support.hpp"

namespace apsis::optim {
namespace detail {
namespace {

/// How many examples there are: the first axis of all leaves.
std::int64_t examples_of(const std::vector<Array>& gradients, const char* where, Loc loc) {
  std::int64_t count = -1;
  for (const Array& g : gradients) {
    if (g.is_empty()) continue;
    if (g.ndim() == 0) fail(messages::optimizer_examples, {where, "a leaf is a scalar"}, loc);
    if (count >= 0 && g.dim(0) != count)
      fail(messages::optimizer_examples,
           {where,
            "the first axes of leaves are " + std::to_string(count) + " and " + std::to_string(g.dim(0))},
           loc);
    count = g.dim(0);
  }
  return std::max<std::int64_t>(count, 0);
}
/// The squared length of each example's part of a leaf.
Array squares_of(const Array& g) {
  const Array flat = reshape(g, {g.dim(0), -1});
  return sum(square(flat), {.axis = {1}});
}
/// What an example is multiplied by; where all is 0, by 1.
Array factor(const Array& squares, const Array& bound) {
  const Array length = sqrt(squares), zero = length == 0;
  return where(zero, 1, minimum(like(bound, length) / where(zero, 1, length), 1));
}

}  // namespace

ClippedSums clip_examples(const std::vector<Array>& gradients, const Array& l2_norm_clip, bool by_layer,
                          const char* where, Loc loc) {
  const std::int64_t count = examples_of(gradients, where, loc);
  Array leaves = 0., total = zeros({count});
  for (const Array& g : gradients)
    if (!g.is_empty()) {
      total = total + squares_of(g);
      leaves = leaves + 1;
    }
  ClippedSums found;
  if (!by_layer) found.clipped.push_back(sum(astype(factor(total, l2_norm_clip) < 1, i64)));
  for (const Array& g : gradients) {
    if (g.is_empty()) {
      found.sums.emplace_back();
      if (by_layer) found.clipped.emplace_back();
      continue;
    }
    const Array by =
        by_layer ? factor(squares_of(g), l2_norm_clip / sqrt(leaves)) : factor(total, l2_norm_clip);
    found.sums.push_back(tensordot(astype(by, g.dtype()), g, 1));
    if (by_layer) found.clipped.push_back(sum(astype(by < 1, i64)));
  }
  return found;
}

std::vector<Array> private_mean(const std::vector<Array>& gradients, const Array& l2_norm_clip,
                                const Array& noise, Array& key, Loc loc) {
  const char* where = "DifferentiallyPrivateAggregate";
  const std::int64_t examples = examples_of(gradients, where, loc);
  std::vector<Array> mean = clip_examples(gradients, l2_norm_clip, false, where, loc).sums;
  std::int64_t leaves = 0, next = 0;
  for (const Array& g : mean) leaves += !g.is_empty();
  const Array keys = random::split(key, leaves + 1);
  key = keys[0];
  for (Array& g : mean)
    if (!g.is_empty())
      g = (g + like(noise, g) * random::normal(keys[++next], g.shape(), g.dtype())) / examples;
  return mean;
}

void check_private(const Array& l2_norm_clip, const Array& noise_multiplier, const Array& key, Loc loc) {
  const Start check({}, {}, {nullptr, nullptr}, loc);
  check.check("DifferentiallyPrivateAggregate", "l2_norm_clip", l2_norm_clip, OptionRange::Positive);
  check.check("DifferentiallyPrivateAggregate", "noise_multiplier", noise_multiplier,
              OptionRange::NotNegative);
  if (key.is_empty()) fail(messages::optimizer_key, {"DifferentiallyPrivateAggregate"}, loc);
}

}  // namespace detail

Chain<DifferentiallyPrivateAggregate, Sgd> dpsgd(const DpSgdOptions& o) {
  return chain(DifferentiallyPrivateAggregate{o.l2_norm_clip, o.noise_multiplier, o.key},
               Sgd{.learning_rate = o.learning_rate, .momentum = o.momentum, .nesterov = o.nesterov});
}

}  // namespace apsis::optim
