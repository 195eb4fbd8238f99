// Losses of several examples together: rankings, embeddings, segmentations.

#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/index.hpp"
#include "optim/loss_support.hpp"

namespace apsis::optim {

using namespace detail;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}  // namespace

Array ranking_softmax_loss(const Array& logits, const Array& labels, const RankingOptions& o, Loc loc) {
  const LocScope place(loc);
  require_floating("ranking_softmax_loss", "logits", logits);
  require_same_shape("ranking_softmax_loss", logits, "labels", labels);
  Array label = astype(labels, logits.dtype());
  if (!o.where.is_empty()) label = where(o.where, label, 0);
  if (!o.weights.is_empty()) label = label * o.weights;
  // (Lists without any item that counts have no softmax.)
  const Array counts = o.where.is_empty() ? Array() : any(o.where, {.axis = -1});
  const Array safe = o.where.is_empty() ? Array() : o.where || !expand_dims(counts, -1);
  const Array loss = -masked_sum(label * log_softmax_where(logits, -1, safe), -1, o.where);
  switch (o.reduction) {
    case Reduction::None:
      return loss;
    case Reduction::Sum:
      return sum(loss);
    case Reduction::Mean:
      break;
  }
  if (counts.is_empty()) return mean(loss);
  return sum(loss) / astype(maximum(sum(counts), 1), loss.dtype());
}

Array ntxent(const Array& embeddings, const Array& labels, const Array& temperature, Loc loc) {
  const LocScope place(loc);
  require_floating("ntxent", "embeddings", embeddings);
  require_integers("ntxent", "labels", labels);
  if (embeddings.ndim() != 2)
    fail(messages::loss_rank, {"ntxent", "embeddings", to_string(embeddings.aval()), "2"});
  const std::int64_t n = embeddings.dim(0);
  if (labels.shape() != Shape{n})
    fail(messages::loss_shape, {"ntxent", "labels", to_string(labels.shape()), to_string(Shape{n})});
  const Array similarity = cosine_similarity(expand_dims(embeddings, 0), expand_dims(embeddings, 1),
                                             {.epsilon = finfo(embeddings.dtype()).eps}) /
                           like(temperature, embeddings);
  const Array same = expand_dims(labels, 1) == expand_dims(labels, 0), other = !same;
  const Array match = same && !eye(n, n, 0, boolean);
  const Array others = where(other, similarity, -infinity), matches = where(match, similarity, -infinity);
  const Array most = stop_gradient(
      maximum(max(others, {.axis = 1, .keepdims = true}), max(matches, {.axis = 1, .keepdims = true})));
  const Array rest = sum(where(other, exp(similarity - most), 0), {.axis = 1, .keepdims = true});
  const Array shifted = where(match, similarity - most, 0);
  const Array log_p = shifted - log(where(match, rest + exp(shifted), 1));
  return -sum(log_p) / astype(sum(match), log_p.dtype());
}

Array triplet_margin_loss(const Array& anchors, const Array& positives, const Array& negatives,
                          const TripletOptions& o, Loc loc) {
  const LocScope place(loc);
  for (auto [name, x] : {std::pair<const char*, const Array&>{"anchors", anchors},
                         {"positives", positives},
                         {"negatives", negatives}})
    require_floating("triplet_margin_loss", name, x);
  if (o.norm_degree < 1)
    fail(messages::optimizer_option,
         {"triplet_margin_loss", "norm_degree", std::to_string(o.norm_degree), "1 or more"});
  auto distance = [&](const Array& x) {
    const Array powers = o.norm_degree == 1   ? abs(x)
                         : o.norm_degree == 2 ? square(x)
                                              : pow(abs(x), o.norm_degree);
    const Array total = sum(powers, {.axis = o.axis}) + like(o.eps, x);
    return o.norm_degree == 1 ? total : pow(total, 1. / o.norm_degree);
  };
  return maximum(distance(anchors - positives) - distance(anchors - negatives) + like(o.margin, anchors), 0);
}

namespace {

/// What the losses that measure an overlap take: as many targets as predictions, with some axes.
void require_overlap(const char* where, const Array& predictions, const Array& targets, int least_axes) {
  require_floating(where, "predictions", predictions);
  require_same_shape(where, predictions, "targets", targets);
  if (predictions.ndim() < least_axes)
    fail(messages::loss_rank,
         {where, "predictions", to_string(predictions.aval()), std::to_string(least_axes) + " or more"});
}

}  // namespace

Array dice_loss(const Array& predictions, const Array& targets, const DiceOptions& o, Loc loc) {
  const LocScope place(loc);
  require_overlap("dice_loss", predictions, targets, 2);
  const Array labels = astype(targets, predictions.dtype());
  Array p = predictions;
  if (o.apply_softmax) p = p.dim(-1) == 1 ? nn::sigmoid(p) : nn::softmax(p, -1);
  Dims between;
  for (int axis = 1; axis + 1 < p.ndim(); ++axis) between.push_back(axis);
  auto over = [&](const Array& x) { return between.size() == 0 ? x : sum(x, {.axis = Axes(between)}); };
  const Array both = over(p * labels);
  const Array either = both + o.alpha * (over(p) - both) + o.beta * (over(labels) - both);
  Array loss = 1. - (both + o.smooth) / (either + o.smooth);
  if (!o.class_weights.is_empty()) loss = loss * o.class_weights;
  if (o.ignore_background && p.dim(-1) > 1) loss = loss(ellipsis, range(1, {}));
  if (o.reduction == Reduction::None) return loss;
  return o.reduction == Reduction::Sum ? sum(loss, {.axis = -1}) : mean(loss, {.axis = -1});
}

Array multiclass_generalized_dice_loss(const Array& predictions, const Array& targets,
                                       const GeneralizedDiceOptions& o, Loc loc) {
  const LocScope place(loc);
  require_overlap("multiclass_generalized_dice_loss", predictions, targets, 2);
  const std::int64_t classes = predictions.dim(-1);
  const Array counts = sum(reshape(astype(targets, predictions.dtype()), {-1, classes}), {.axis = 0});
  const Array rarity = 1. / (square(counts) + 1e-7);
  return mean(dice_loss(predictions, targets,
                        {.class_weights = rarity / sum(rarity) * classes,
                         .smooth = o.smooth,
                         .apply_softmax = o.apply_softmax,
                         .reduction = Reduction::None,
                         .ignore_background = o.ignore_background}));
}

Array binary_dice_loss(const Array& predictions, const Array& targets, const BinaryDiceOptions& o, Loc loc) {
  const LocScope place(loc);
  require_overlap("binary_dice_loss", predictions, targets, 1);
  const bool has_class = predictions.dim(-1) == 1 && predictions.ndim() > 1;
  auto with_class = [&](const Array& x) { return has_class ? x : expand_dims(x, -1); };
  return dice_loss(with_class(predictions), with_class(targets),
                   {.smooth = o.smooth, .apply_softmax = o.apply_sigmoid});
}

}  // namespace apsis::optim
