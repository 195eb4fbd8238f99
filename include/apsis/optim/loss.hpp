#pragma once

// Losses. They are elementwise, or have one value for each example: take their mean, or what else the
// training is for.
//
//   Array loss = mean(optim::softmax_cross_entropy_with_integer_labels(logits, labels));
//
// Predictions and logits are floating; all throw otherwise.

#include "apsis/core/array.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis::optim {

/// What losses over classes or features are taken over.
struct LossOptions {
  Axes axis = -1;
  Array where =
      {};  ///< of the shape of the first argument, or that without the axis: what counts; empty: all
};

// Regression. Targets have the predictions' shape; without targets, predictions are the errors themselves.

/// (prediction - target)².
Array squared_error(const Array& predictions, const Array& targets = {}, Loc loc = Loc::here());
/// Half of it.
Array l2_loss(const Array& predictions, const Array& targets = {}, Loc loc = Loc::here());
/// e² / 2 for errors up to delta, delta (|e| - delta / 2) beyond (Huber 1964).
Array huber_loss(const Array& predictions, const Array& targets = {}, const Array& delta = 1.,
                 Loc loc = Loc::here());
/// log(cosh(e)), without overflow.
Array log_cosh(const Array& predictions, const Array& targets = {}, Loc loc = Loc::here());
/// Options of `cosine_similarity`.
struct CosineOptions {
  Array epsilon = 0.;  ///< squared lengths are this at least
  Axes axis = -1;
  Array where = {};  ///< as in LossOptions
};
/// The cosine of the angle between vectors along an axis.
Array cosine_similarity(const Array& predictions, const Array& targets, const CosineOptions& options = {},
                        Loc loc = Loc::here());
/// 1 - cosine_similarity.
Array cosine_distance(const Array& predictions, const Array& targets, const CosineOptions& options = {},
                      Loc loc = Loc::here());

// Two classes, elementwise. Targets of the hinge family are -1 and 1; labels are 0 and 1.

/// -label log(σ(logit)) - (1 - label) log(1 - σ(logit)), without overflow; labels may lie between.
Array sigmoid_binary_cross_entropy(const Array& logits, const Array& labels, Loc loc = Loc::here());
/// max(0, 1 - prediction · target).
Array hinge_loss(const Array& predictions, const Array& targets, Loc loc = Loc::here());
/// Its square.
Array squared_hinge_loss(const Array& predictions, const Array& targets, Loc loc = Loc::here());
/// max(0, -prediction · target) (Rosenblatt 1958).
Array perceptron_loss(const Array& predictions, const Array& targets, Loc loc = Loc::here());
/// 0 from a margin of 1 on, linear below -1 (Blondel, Martins and Niculae, Learning with Fenchel-Young
/// losses, JMLR 2020).
Array sparsemax_loss(const Array& logits, const Array& labels, Loc loc = Loc::here());
/// Options of `sigmoid_focal_loss`.
struct FocalOptions {
  Array alpha = {};  ///< the weight of label 1, that of 0 being 1 - alpha; empty: both 1
  Array gamma = 2.;  ///< how little examples count that are classified well
};
/// Cross entropy that examples which are classified well add little to (Lin et al., Focal loss for dense
/// object detection, ICCV 2017).
Array sigmoid_focal_loss(const Array& logits, const Array& labels, const FocalOptions& options = {},
                         Loc loc = Loc::here());

// Several classes, along an axis.

/// -Σ label · log(softmax(logits)). Labels are probabilities of the shape of the logits.
Array softmax_cross_entropy(const Array& logits, const Array& labels, const LossOptions& options = {},
                            Loc loc = Loc::here());
/// The same, where logits may be -∞ whose labels are 0.
Array safe_softmax_cross_entropy(const Array& logits, const Array& labels, Loc loc = Loc::here());
/// The same of labels that are numbers of classes: integers of the shape of the logits without the axis, of
/// which there is one.
Array softmax_cross_entropy_with_integer_labels(const Array& logits, const Array& labels,
                                                const LossOptions& options = {}, Loc loc = Loc::here());
/// Cross entropy plus epsilon · (1 - the probability of the label) (Leng et al., PolyLoss, ICLR 2022).
Array poly_loss_cross_entropy(const Array& logits, const Array& labels, const Array& epsilon = 2.,
                              const LossOptions& options = {}, Loc loc = Loc::here());
/// max(score + 1 except at the label) - the label's score, over the last axis, of integer labels (Crammer and
/// Singer 2001).
Array multiclass_hinge_loss(const Array& scores, const Array& labels, Loc loc = Loc::here());
/// max(score) - the label's score, over the last axis, of integer labels.
Array multiclass_perceptron_loss(const Array& scores, const Array& labels, Loc loc = Loc::here());
/// Martins and Astudillo, From softmax to sparsemax, ICML 2016. scores: [n, classes], labels: integers [n].
Array multiclass_sparsemax_loss(const Array& scores, const Array& labels, Loc loc = Loc::here());
/// Σ target (log(target) - log_prediction); targets of 0 add nothing.
Array kl_divergence(const Array& log_predictions, const Array& targets, const LossOptions& options = {},
                    Loc loc = Loc::here());
/// The same of logarithms of targets.
Array kl_divergence_with_log_targets(const Array& log_predictions, const Array& log_targets,
                                     const LossOptions& options = {}, Loc loc = Loc::here());
/// kl_divergence + Σ (prediction - target), which is convex in both. (Also: convex_kl_divergence.)
Array generalized_kl_divergence(const Array& log_predictions, const Array& targets,
                                const LossOptions& options = {}, Loc loc = Loc::here());
/// (1 - alpha) · label + alpha / classes (Müller, Kornblith and Hinton, When does label smoothing help?,
/// NeurIPS 2019).
Array smooth_labels(const Array& labels, const Array& alpha, const LossOptions& options = {},
                    Loc loc = Loc::here());

/// Options of `ctc_loss`.
struct CtcOptions {
  std::int64_t blank_id = 0;  ///< the class that stands for nothing
  double log_epsilon = -1e5;  ///< the logarithm of 0
};
/// What `ctc_loss_with_forward_probs` returns.
struct CtcForward {
  Array loss;  ///< [batch]
  Array
      logalpha_phi;  ///< [time, batch, labels + 1]: the probabilities of having got so far, ending in a blank
  Array logalpha_emit;  ///< [time, batch, labels]: ending in a label
};
/// Of sequences without alignment: minus the logarithm of the probability of all alignments (Graves et al.,
/// Connectionist temporal classification, ICML 2006). logits: [batch, time, classes], labels: integers
/// [batch, labels]; paddings [batch, time] and [batch, labels] are 1 where there is nothing. Returns [batch].
Array ctc_loss(const Array& logits, const Array& logit_paddings, const Array& labels,
               const Array& label_paddings, const CtcOptions& options = {}, Loc loc = Loc::here());
/// The same with the probabilities of its recursion.
CtcForward ctc_loss_with_forward_probs(const Array& logits, const Array& logit_paddings, const Array& labels,
                                       const Array& label_paddings, const CtcOptions& options = {},
                                       Loc loc = Loc::here());

// Rankings, embeddings and segmentations.

/// How losses of examples become one.
enum class Reduction : std::uint8_t { None, Sum, Mean };
/// Options of `ranking_softmax_loss`.
struct RankingOptions {
  Array where = {};    ///< of the shape of the logits: the items that count; empty: all
  Array weights = {};  ///< of the items; empty: 1
  Reduction reduction = Reduction::Mean;
};
/// -Σ label · log(softmax(logits)) over lists of items along the last axis (Cao et al., Learning to rank,
/// ICML 2007).
Array ranking_softmax_loss(const Array& logits, const Array& labels, const RankingOptions& options = {},
                           Loc loc = Loc::here());
/// Embeddings with the same label are near, others far: normalised cross entropy of cosine similarities (Chen
/// et al., A simple framework for contrastive learning, ICML 2020). embeddings: [n, features], labels:
/// integers [n]. A scalar.
Array ntxent(const Array& embeddings, const Array& labels, const Array& temperature = 0.07,
             Loc loc = Loc::here());
/// Options of `triplet_margin_loss`.
struct TripletOptions {
  int axis = -1;
  int norm_degree = 2;  ///< 1 or more: distances are (Σ |x - y|^degree + eps)^(1 / degree)
  Array margin = 1., eps = 1e-6;
};
/// max(0, distance to the positive - distance to the negative + margin) (Balntas et al. 2016).
Array triplet_margin_loss(const Array& anchors, const Array& positives, const Array& negatives,
                          const TripletOptions& options = {}, Loc loc = Loc::here());
/// Options of `dice_loss`.
struct DiceOptions {
  Array class_weights = {};       ///< [classes]; empty: 1
  Array smooth = 1.;              ///< added to numerator and denominator
  Array alpha = 0.5, beta = 0.5;  ///< what false positives and false negatives count
  bool apply_softmax = true;  ///< predictions are logits (of one class: of its sigmoid); else probabilities
  Reduction reduction = Reduction::Mean;  ///< over the classes
  bool ignore_background = false;         ///< the first class does not count
};
/// 1 - the overlap of predictions and targets, [batch, …, classes] each, over all axes between (Milletari,
/// Navab and Ahmadi, V-Net, 2016; Salehi, Erdogmus and Gholipour 2017).
Array dice_loss(const Array& predictions, const Array& targets, const DiceOptions& options = {},
                Loc loc = Loc::here());
/// Options of `multiclass_generalized_dice_loss`: those of `dice_loss`.
struct GeneralizedDiceOptions {
  Array smooth = 1.;
  bool apply_softmax = true, ignore_background = false;
};
/// The mean of `dice_loss` over batch and classes, each of which counts by the inverse square of how often it
/// is there (Sudre et al., Generalised Dice overlap, 2017). predictions, targets: [batch, …, classes]. A
/// scalar.
Array multiclass_generalized_dice_loss(const Array& predictions, const Array& targets,
                                       const GeneralizedDiceOptions& options = {}, Loc loc = Loc::here());
/// Options of `binary_dice_loss`.
struct BinaryDiceOptions {
  Array smooth = 1.;          ///< added to numerator and denominator
  bool apply_sigmoid = true;  ///< predictions are logits; else probabilities
};
/// `dice_loss` of one class: predictions, targets: [batch, …] or [batch, …, 1]. Returns [batch].
Array binary_dice_loss(const Array& predictions, const Array& targets, const BinaryDiceOptions& options = {},
                       Loc loc = Loc::here());

}  // namespace apsis::optim
