#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

struct Pair {
  Array a, b;
};
const Array x = array({1., 2.});

}  // namespace

APSIS_PROVOKES(optimizer_option, "[Adam] b1 = 1.5 must be at least 0 and less than 1",
               optim::Adam{.b1 = 1.5}.init(x))
APSIS_PROVOKES(optimizer_option_shape, "[Adam] learning_rate is f64[2]: give a scalar",
               optim::Adam{.learning_rate = x}.init(x))
APSIS_PROVOKES(optimizer_key,
               "[NoisySgd] key is empty: give a key of the module random, as in .key = random::key(0)",
               optim::NoisySgd{}.init(x))
APSIS_PROVOKES(
    optimizer_gradient,
    "[update] the gradient of params.b is f64[3], the parameter f64[2]: take the gradient at these "
    "parameters",
    optim::Sgd sgd;
    sgd.update(Pair{x, ones({3})}, sgd.init(Pair{x, x}), Pair{x, x}))
APSIS_PROVOKES(
    optimizer_complex,
    "[update] the gradient of params is c128[2]: optimisers take real gradients; keep real and imaginary "
    "parts as parameters of their own",
    optim::Sgd sgd;
    sgd.update(astype(x, c128), sgd.init(astype(x, c128)), astype(x, c128)))
APSIS_PROVOKES(
    optimizer_state,
    "[update] the state does not belong to these parameters: make it by init of the same transformation "
    "with parameters of the same structure and shapes",
    optim::Adam adam;
    adam.update(x, adam.init(ones({3})), x))
APSIS_PROVOKES(
    optimizer_value,
    "[PolyakSgd] the loss is not known: give it to update, as in update(gradient, state, params, {.value = "
    "loss})",
    optim::PolyakSgd polyak;
    polyak.update(x, polyak.init(x), x))
APSIS_PROVOKES(
    optimizer_label,
    "[multi_transform] no transformation has the label 'other' of params.b: there are 'first', 'second'",
    optim::multi_transform([](const Array&,
                              const std::string& path) { return path == "a" ? "first" : "other"; },
                           optim::labelled("first", optim::Adam{}), optim::labelled("second", optim::Sgd{}))
        .init(Pair{x, x}))
APSIS_PROVOKES(schedule_steps, "[CosineDecay] decay_steps = 0 must be 1 or more",
               optim::Adam{.learning_rate = optim::CosineDecay{.decay_steps = 0}}.init(x))
APSIS_PROVOKES(
    schedule_scale,
    "[PiecewiseConstantSchedule] the scale -2.0 of step 5 is negative: give scales that are 0 or more",
    optim::PiecewiseConstantSchedule{.boundaries = {{5, -2.}}}(array(std::int64_t{0})))
APSIS_PROVOKES(
    schedule_boundaries,
    "[JoinSchedules] 1 schedules and 1 boundaries: give one boundary between each two schedules, of which "
    "there is one at least",
    optim::JoinSchedules{{1.}, {10}}(array(std::int64_t{0})))
APSIS_PROVOKES(muon_coefficients,
               "[Muon] ns_coeffs is f64[2,3] with ns_steps = 5: give [3], or [n, 3] with n at least ns_steps",
               optim::Muon{.ns_coeffs = ones({2, 3})}.init(x))
APSIS_PROVOKES(muon_matrix, "[orthogonalize_via_newton_schulz] x is f64[2]: give a matrix",
               optim::orthogonalize_via_newton_schulz(x))
APSIS_PROVOKES(optimizer_axes,
               "[Muon] axis 0 of params, an array of shape [2, 3], is named twice or does not exist: name "
               "each axis of rows "
               "and columns once",
               optim::Muon{.matrix_axes = [](const Array&, const std::string&) {
                 return std::optional(optim::MatrixAxes{{0}, {0}});
               }}.init(ones({2, 3})))
APSIS_PROVOKES(optimizer_examples,
               "[per_example_global_norm_clip] the first axes of leaves are 2 and 3: give gradients of "
               "single examples, as "
               "vmap(grad(loss)) does, with as many examples in the first axis of each leaf",
               optim::per_example_global_norm_clip(Pair{x, ones({3})}, 1.))
APSIS_PROVOKES(
    agc_axes,
    "[AdaptiveGradClip] params is f64[1,1,1,1,1,1]: say what a unit extends over with .axis; it is known for "
    "up to five axes",
    optim::AdaptiveGradClip{}.init(ones({1, 1, 1, 1, 1, 1})))
APSIS_PROVOKES(loss_dtype, "[l2_loss] predictions is i32[2]: it must be floating; convert with astype",
               optim::l2_loss(array({1, 2})))
APSIS_PROVOKES(loss_shape, "[l2_loss] targets has the shape [2, 1], where [2] is needed",
               optim::l2_loss(x, ones({2, 1})))
APSIS_PROVOKES(loss_rank, "[ctc_loss] logits is f64[2]: it must have 3 axes",
               optim::ctc_loss(x, x, array({1, 2}), x))
APSIS_PROVOKES(
    loss_axis,
    "[softmax_cross_entropy_with_integer_labels] needs one axis: give .axis the number of that with the "
    "classes",
    optim::softmax_cross_entropy_with_integer_labels(ones({2, 2}), array({0, 1}), {.axis = {0, 1}}))
APSIS_PROVOKES(
    loss_shapes,
    "[softmax_cross_entropy] logits of [2, 3] and labels of [2, 4] do not fit: each axis must have the "
    "same size in both, or the size 1",
    optim::softmax_cross_entropy(ones({2, 3}), ones({2, 4})))
APSIS_PROVOKES(
    loss_labels,
    "[softmax_cross_entropy_with_integer_labels] labels of [3] do not fit logits of [2, 3] with the "
    "classes along axis -1: give a label for each row of logits, labels of [2]",
    optim::softmax_cross_entropy_with_integer_labels(ones({2, 3}), array({0, 1, 2})))
