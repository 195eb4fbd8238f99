#include "apsis/optim/loss.hpp"

#include <limits>
#include <numbers>

#include "apsis/ops/index.hpp"
#include "optim/loss_support.hpp"

namespace apsis::optim {
namespace detail {

void require_floating(const char* loss, const char* name, const Array& x) {
  if (!is_floating(x.dtype())) fail(messages::loss_dtype, {loss, name, to_string(x.aval()), "floating"});
}
void require_integers(const char* loss, const char* name, const Array& x) {
  if (!is_integer(x.dtype())) fail(messages::loss_dtype, {loss, name, to_string(x.aval()), "of integers"});
}
void require_same_shape(const char* loss, const Array& a, const char* name, const Array& b) {
  if (a.shape() != b.shape())
    fail(messages::loss_shape, {loss, name, to_string(b.shape()), to_string(a.shape())});
}

namespace {
bool fit(const Shape& a, const Shape& b) {
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const std::int64_t m = a[a.size() - i], n = b[b.size() - i];
    if (m != n && m != 1 && n != 1) return false;
  }
  return true;
}
}  // namespace
void require_fit(const char* loss, const char* name_a, const Array& a, const char* name_b, const Array& b) {
  if (!fit(a.shape(), b.shape()))
    fail(messages::loss_shapes, {loss, name_a, to_string(a.shape()), name_b, to_string(b.shape())});
}

Array where_of(const LossOptions& options, const Array& x) {
  const Array& w = options.where;
  if (w.is_empty() || w.ndim() == x.ndim() || options.axis.all) return w;
  Array wide = w;
  for (std::int64_t axis : options.axis.list) wide = expand_dims(wide, static_cast<int>(axis));
  return wide;
}

Array masked_sum(const Array& x, const Axes& axis, const Array& where_, bool keepdims) {
  return sum(where_.is_empty() ? x : where(where_, x, 0), {.axis = axis, .keepdims = keepdims});
}

namespace {
/// The greatest of what counts, a constant.
Array greatest(const Array& x, const Axes& axis, const Array& where_) {
  const Array counted = where_.is_empty() ? x : where(where_, x, -std::numeric_limits<double>::infinity());
  return stop_gradient(max(counted, {.axis = axis, .keepdims = true}));
}
}  // namespace

Array log_softmax_where(const Array& x, const Axes& axis, const Array& where_) {
  const Array shifted = x - greatest(x, axis, where_);
  return shifted - log(masked_sum(exp(shifted), axis, where_, true));
}

Array logsumexp_where(const Array& x, const Axes& axis, const Array& where_) {
  if (where_.is_empty()) return logsumexp(x, {.axis = axis});
  const Array most = greatest(x, axis, where_), shift = where(isfinite(most), most, 0);
  return squeeze(shift, axis) + log(masked_sum(exp(x - shift), axis, where_));
}

namespace {
Array errors_of(const char* loss, const Array& predictions, const Array& targets) {
  require_floating(loss, "predictions", predictions);
  if (targets.is_empty()) return predictions;
  require_same_shape(loss, predictions, "targets", targets);
  return predictions - targets;
}
}  // namespace

}  // namespace detail

using namespace detail;

Array squared_error(const Array& predictions, const Array& targets, Loc loc) {
  const LocScope place(loc);
  return square(errors_of("squared_error", predictions, targets));
}

Array l2_loss(const Array& predictions, const Array& targets, Loc loc) {
  const LocScope place(loc);
  return 0.5 * square(errors_of("l2_loss", predictions, targets));
}

Array huber_loss(const Array& predictions, const Array& targets, const Array& delta, Loc loc) {
  const LocScope place(loc);
  const Array size = abs(errors_of("huber_loss", predictions, targets));
  const Array quadratic = minimum(size, delta), linear = size - quadratic;
  return 0.5 * square(quadratic) + delta * linear;
}

Array log_cosh(const Array& predictions, const Array& targets, Loc loc) {
  const LocScope place(loc);
  const Array e = errors_of("log_cosh", predictions, targets);
  return logaddexp(e, -e) - std::numbers::ln2;
}

Array cosine_similarity(const Array& predictions, const Array& targets, const CosineOptions& o, Loc loc) {
  const LocScope place(loc);
  require_floating("cosine_similarity", "predictions", predictions);
  require_floating("cosine_similarity", "targets", targets);
  require_fit("cosine_similarity", "predictions", predictions, "targets", targets);
  const Array w = where_of({o.axis, o.where}, predictions);
  auto unit = [&](const Array& x) {
    return x / sqrt(maximum(masked_sum(square(x), o.axis, w, true), like(o.epsilon, x)));
  };
  return masked_sum(unit(predictions) * unit(targets), o.axis, w);
}

Array cosine_distance(const Array& predictions, const Array& targets, const CosineOptions& options, Loc loc) {
  const LocScope place(loc);
  return 1. - cosine_similarity(predictions, targets, options);
}

Array sigmoid_binary_cross_entropy(const Array& logits, const Array& labels, Loc loc) {
  const LocScope place(loc);
  require_floating("sigmoid_binary_cross_entropy", "logits", logits);
  require_fit("sigmoid_binary_cross_entropy", "logits", logits, "labels", labels);
  const Array label = astype(labels, logits.dtype());
  return -label * nn::log_sigmoid(logits) - (1. - label) * nn::log_sigmoid(-logits);
}

Array hinge_loss(const Array& predictions, const Array& targets, Loc loc) {
  const LocScope place(loc);
  require_fit("hinge_loss", "predictions", predictions, "targets", targets);
  return maximum(0, 1 - predictions * targets);
}

Array squared_hinge_loss(const Array& predictions, const Array& targets, Loc loc) {
  const LocScope place(loc);
  require_fit("squared_hinge_loss", "predictions", predictions, "targets", targets);
  return square(maximum(0, 1 - predictions * targets));
}

Array perceptron_loss(const Array& predictions, const Array& targets, Loc loc) {
  const LocScope place(loc);
  require_same_shape("perceptron_loss", predictions, "targets", targets);
  return maximum(0, -predictions * targets);
}

Array sparsemax_loss(const Array& logits, const Array& labels, Loc loc) {
  const LocScope place(loc);
  require_floating("sparsemax_loss", "logits", logits);
  require_fit("sparsemax_loss", "logits", logits, "labels", labels);
  return nn::sparse_plus(where(labels != 0, -logits, logits));
}

Array sigmoid_focal_loss(const Array& logits, const Array& labels, const FocalOptions& o, Loc loc) {
  const LocScope place(loc);
  require_floating("sigmoid_focal_loss", "logits", logits);
  require_fit("sigmoid_focal_loss", "logits", logits, "labels", labels);
  const Array label = astype(labels, logits.dtype());
  const Array log_p = nn::log_sigmoid(logits), log_q = nn::log_sigmoid(-logits);
  // log((1 - label) p + label q), of the terms that are not 0.
  const double none = -std::numeric_limits<double>::infinity();
  const Array p = where(label != 1, log_p, none), q = where(label != 0, log_q, none);
  const Array most = stop_gradient(maximum(p, q));
  const Array log_missed = most + log((1. - label) * exp(p - most) + label * exp(q - most));
  const Array loss = (-label * log_p - (1. - label) * log_q) * exp(like(o.gamma, logits) * log_missed);
  if (o.alpha.is_empty()) return loss;
  return (o.alpha * label + (1. - o.alpha) * (1. - label)) * loss;
}

Array softmax_cross_entropy(const Array& logits, const Array& labels, const LossOptions& o, Loc loc) {
  const LocScope place(loc);
  require_floating("softmax_cross_entropy", "logits", logits);
  require_fit("softmax_cross_entropy", "logits", logits, "labels", labels);
  const Array w = where_of(o, logits);
  return -masked_sum(labels * log_softmax_where(logits, o.axis, w), o.axis, w);
}

Array safe_softmax_cross_entropy(const Array& logits, const Array& labels, Loc loc) {
  const LocScope place(loc);
  require_floating("safe_softmax_cross_entropy", "logits", logits);
  require_fit("safe_softmax_cross_entropy", "logits", logits, "labels", labels);
  const Array log_p = log_softmax_where(logits, -1, {});
  return -sum(where(labels != 0, labels * log_p, 0), {.axis = -1});
}

namespace {
/// Throws unless the labels fit the logits without the axis.
void require_label_each(const char* loss, const Array& logits, const Array& labels, int axis) {
  Shape rows = logits.shape();
  (void)logits.dim(axis);  // throws where there is no such axis
  rows.erase(static_cast<std::size_t>(axis < 0 ? axis + logits.ndim() : axis));
  if (labels.ndim() != logits.ndim() - 1 || !fit(rows, labels.shape()))
    fail(messages::loss_labels,
         {loss, to_string(labels.shape()), to_string(logits.shape()), std::to_string(axis), to_string(rows)});
}
}  // namespace

Array softmax_cross_entropy_with_integer_labels(const Array& logits, const Array& labels,
                                                const LossOptions& o, Loc loc) {
  const LocScope place(loc);
  const char* name = "softmax_cross_entropy_with_integer_labels";
  require_floating(name, "logits", logits);
  require_integers(name, "labels", labels);
  if (o.axis.all || o.axis.list.size() != 1) fail(messages::loss_axis, {name});
  const int axis = static_cast<int>(o.axis.list.begin()[0]);
  require_label_each(name, logits, labels, axis);
  const Array w = where_of(o, logits);
  const Array chosen = squeeze(take_along_axis(logits, expand_dims(labels, axis), axis), axis);
  const Array loss = logsumexp_where(logits, o.axis, w) - chosen;
  return w.is_empty() ? loss : where(any(w, {.axis = axis}), loss, 0);
}

Array poly_loss_cross_entropy(const Array& logits, const Array& labels, const Array& epsilon,
                              const LossOptions& o, Loc loc) {
  const LocScope place(loc);
  require_floating("poly_loss_cross_entropy", "logits", logits);
  require_floating("poly_loss_cross_entropy", "labels", labels);
  require_fit("poly_loss_cross_entropy", "logits", logits, "labels", labels);
  const Array w = where_of(o, logits), log_p = log_softmax_where(logits, o.axis, w);
  return -masked_sum(labels * log_p, o.axis, w) + epsilon * masked_sum(labels * (1. - exp(log_p)), o.axis, w);
}

namespace {
/// The scores of integer labels, and 1 at these.
std::pair<Array, Array> scores_at(const char* loss, const Array& scores, const Array& labels) {
  require_floating(loss, "scores", scores);
  require_integers(loss, "labels", labels);
  const Array at = nn::one_hot(labels, scores.dim(-1), scores.dtype());
  return {sum(scores * at, {.axis = -1}), at};
}
}  // namespace

Array multiclass_hinge_loss(const Array& scores, const Array& labels, Loc loc) {
  const LocScope place(loc);
  const auto [score, at] = scores_at("multiclass_hinge_loss", scores, labels);
  return max(scores + 1. - at, {.axis = -1}) - score;
}

Array multiclass_perceptron_loss(const Array& scores, const Array& labels, Loc loc) {
  const LocScope place(loc);
  return max(scores, {.axis = -1}) - scores_at("multiclass_perceptron_loss", scores, labels).first;
}

Array multiclass_sparsemax_loss(const Array& scores, const Array& labels, Loc loc) {
  const LocScope place(loc);
  const auto [score, at] = scores_at("multiclass_sparsemax_loss", scores, labels);
  if (scores.ndim() != 2)
    fail(messages::loss_rank, {"multiclass_sparsemax_loss", "scores", to_string(scores.aval()), "2"});
  const Array p = simplex_rows(scores), rest = (scores - expand_dims(score, -1)) * (1. - at);
  return sum(p * where(p != 0, rest, 0), {.axis = -1}) + 0.5 * (1. - sum(square(p), {.axis = -1}));
}

Array kl_divergence(const Array& log_predictions, const Array& targets, const LossOptions& o, Loc loc) {
  const LocScope place(loc);
  require_floating("kl_divergence", "log_predictions", log_predictions);
  require_floating("kl_divergence", "targets", targets);
  require_fit("kl_divergence", "log_predictions", log_predictions, "targets", targets);
  const Array log_targets = where(targets == 0, 0, log(targets));
  return masked_sum(targets * (log_targets - log_predictions), o.axis, where_of(o, log_predictions));
}

Array kl_divergence_with_log_targets(const Array& log_predictions, const Array& log_targets,
                                     const LossOptions& o, Loc loc) {
  const LocScope place(loc);
  require_floating("kl_divergence_with_log_targets", "log_predictions", log_predictions);
  require_floating("kl_divergence_with_log_targets", "log_targets", log_targets);
  require_fit("kl_divergence_with_log_targets", "log_predictions", log_predictions, "log_targets",
              log_targets);
  return masked_sum(exp(log_targets) * (log_targets - log_predictions), o.axis, where_of(o, log_predictions));
}

Array generalized_kl_divergence(const Array& log_predictions, const Array& targets, const LossOptions& o,
                                Loc loc) {
  const LocScope place(loc);
  require_fit("generalized_kl_divergence", "log_predictions", log_predictions, "targets", targets);
  return kl_divergence(log_predictions, targets, o) +
         masked_sum(exp(log_predictions) - targets, o.axis, where_of(o, log_predictions));
}

Array smooth_labels(const Array& labels, const Array& alpha, const LossOptions& o, Loc loc) {
  const LocScope place(loc);
  require_floating("smooth_labels", "labels", labels);
  const Array w = where_of(o, labels);
  const Array classes = astype(masked_sum(ones_like(labels), o.axis, w, true), labels.dtype());
  return (1. - alpha) * labels + alpha / classes;
}

}  // namespace apsis::optim
