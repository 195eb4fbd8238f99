// Optimisers and transformations against Optax's trajectories (tests/golden/optim.txt).

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "optim/trajectory.hpp"

namespace apsis::optim::testing {
namespace {

constexpr double lr = 0.05;
const ExponentialDecay falling{.init_value = 0.1, .transition_steps = 20, .decay_rate = 0.7};
const Mask matrices = [](const Array& x) { return x.ndim() > 1; };

/// A descent along what the parts make of the gradient.
template <class... T>
auto down(T... parts) {
  return chain(parts..., ScaleByLearningRate{lr});
}

TEST(Optimizers, SgdFollowsOptax) {
  follow("sgd", Sgd{.learning_rate = lr});
  follow("sgd_momentum", Sgd{.learning_rate = lr, .momentum = 0.9});
  follow("sgd_nesterov", Sgd{.learning_rate = lr, .momentum = 0.9, .nesterov = true});
  follow("sgd_schedule", Sgd{.learning_rate = falling, .momentum = 0.5});
  follow("sign_sgd", SignSgd{.learning_rate = falling});
  follow("signum", Signum{.learning_rate = lr});
  follow("lion", Lion{.learning_rate = lr});
  follow("lars", Lars{.learning_rate = 0.1, .weight_decay = 0.01, .trust_coefficient = 0.1});
  follow("lars_masks", Lars{.learning_rate = lr,
                            .weight_decay = 0.01,
                            .weight_decay_mask = matrices,
                            .trust_coefficient = 0.1,
                            .eps = 1e-3,
                            .trust_ratio_mask = matrices,
                            .nesterov = true});
  follow("fromage", Fromage{.learning_rate = lr});
  follow("fromage_schedule", Fromage{.learning_rate = falling});
  follow("optimistic_gradient_descent",
         OptimisticGradientDescent{.learning_rate = lr, .alpha = 1., .beta = 0.5});
  follow("optimistic_adam", OptimisticAdam{.learning_rate = lr});
  follow("polyak_sgd", PolyakSgd{.max_learning_rate = 0.3, .eps = 1e-3});
  follow("polyak_sgd_plus", PolyakSgd{.scaling = falling, .f_min = 0.5, .variant = PolyakVariant::SpsPlus});
}

TEST(Optimizers, NoisySgdFollowsOptax) {
  // Normals are functions of JAX's bits, but of another polynomial: to some units in the last place.
  follow("noisy_sgd", NoisySgd{.learning_rate = lr, .key = random::key(7)}, {.ulps = 1e4});
}

TEST(Optimizers, AdamAndItsKinFollowOptax) {
  follow("adam", Adam{.learning_rate = lr});
  follow("adam_options",
         Adam{.learning_rate = falling, .b1 = 0.8, .b2 = 0.99, .eps = 1e-6, .eps_root = 1e-4});
  follow("adamw", AdamW{.learning_rate = lr, .weight_decay = 0.05});
  follow("adamw_mask", AdamW{.learning_rate = lr, .weight_decay = 0.05, .mask = matrices});
  follow("adamw_schedule",
         AdamW{.learning_rate = falling,
               .weight_decay = LinearSchedule{.init_value = 0.1, .end_value = 0., .transition_steps = 50},
               .nesterov = true});
  follow("nadam", NAdam{.learning_rate = lr});
  follow("nadamw", NAdamW{.learning_rate = lr, .weight_decay = 0.02});
  follow("adamax", Adamax{.learning_rate = lr});
  follow("adamaxw", AdamaxW{.learning_rate = lr, .weight_decay = 0.02, .mask = matrices});
  follow("amsgrad", AmsGrad{.learning_rate = lr});
  follow("amsgrad_biased",
         AmsGrad{.learning_rate = lr, .bias_correction_mu = false, .bias_correction_nu = false});
  follow("adabelief", AdaBelief{.learning_rate = lr});
  follow("adabelief_nesterov", AdaBelief{.learning_rate = lr, .nesterov = true});
  follow("adan", Adan{.learning_rate = lr, .weight_decay = 0.02});
  follow("lamb", Lamb{.learning_rate = lr, .weight_decay = 0.01});
  follow("novograd", NovoGrad{.learning_rate = lr, .weight_decay = 0.01});
  follow("radam", RAdam{.learning_rate = lr});
  follow("radam_nesterov", RAdam{.learning_rate = lr, .b2 = 0.9, .threshold = 4.5, .nesterov = true});
  follow("yogi", Yogi{.learning_rate = lr});
}

TEST(Optimizers, AdaptiveOnesFollowOptax) {
  follow("adadelta", Adadelta{.learning_rate = 1., .rho = 0.8, .weight_decay = 0.01});
  follow("adafactor", Adafactor{.learning_rate = lr, .min_dim_size_to_factor = 2});
  follow("adafactor_options", Adafactor{.learning_rate = lr, .momentum = 0.9, .weight_decay_rate = 0.01});
  follow("adagrad", Adagrad{.learning_rate = 0.5});
  follow("rmsprop", RmsProp{.learning_rate = lr});
  follow("rmsprop_centered",
         RmsProp{.learning_rate = lr, .decay = 0.95, .eps = 1e-3, .centered = true, .momentum = 0.5});
  follow("rmsprop_unbiased", RmsProp{.learning_rate = lr,
                                     .initial_scale = 0.1,
                                     .eps_in_sqrt = false,
                                     .momentum = 0.5,
                                     .nesterov = true,
                                     .bias_correction = true});
  follow("rprop", Rprop{.learning_rate = lr});
  follow("sm3", Sm3{.learning_rate = lr});
}

TEST(Optimizers, MuonFollowsOptax) {
  follow("muon", Muon{.learning_rate = 0.005});
  follow("muon_options", Muon{.learning_rate = 0.005,
                              .ns_coeffs = array({{4.0848, -6.8946, 2.9270},
                                                  {3.9505, -6.3029, 2.6377},
                                                  {3.7418, -5.5913, 2.3037},
                                                  {2.8769, -3.1427, 1.2046},
                                                  {2.8366, -3.0525, 1.2012}}),
                              .weight_decay = 0.01,
                              .nesterov = false,
                              .adaptive = true,
                              .consistent_rms = 0.2,
                              .adam_weight_decay = 0.02,
                              .adam_learning_rate = 0.1});
}

TEST(Optimizers, MomentsInFewerBitsFollowOptax) {
  follow("sgd_bf16", Sgd{.learning_rate = lr, .momentum = 0.9, .nesterov = true, .accumulator_dtype = bf16});
  follow("adam_bf16", Adam{.learning_rate = lr, .mu_dtype = bf16});
  follow("adamw_f16", AdamW{.learning_rate = lr, .weight_decay = 0.05, .nesterov = true, .mu_dtype = f16});
  follow("nadam_bf16", NAdam{.learning_rate = lr, .mu_dtype = bf16});
  follow("nadamw_bf16", NAdamW{.learning_rate = lr, .weight_decay = 0.02, .mu_dtype = bf16});
  follow("amsgrad_bf16", AmsGrad{.learning_rate = lr, .mu_dtype = bf16});
  follow("lion_bf16", Lion{.learning_rate = lr, .mu_dtype = bf16});
  follow("optimistic_adam_bf16", OptimisticAdam{.learning_rate = lr, .mu_dtype = bf16});
  follow("muon_bf16", Muon{.learning_rate = 0.005, .mu_dtype = bf16});
  follow("trace_f16", down(Trace{.decay = 0.7, .accumulator_dtype = f16}));
  follow("ema_bf16", down(Ema{.decay = 0.7, .accumulator_dtype = bf16}));
  follow("scale_by_novograd_bf16", down(ScaleByNovoGrad{.weight_decay = 0.01, .mu_dtype = bf16}));
}

TEST(Optimizers, ThoseWithoutLearningRatesFollowOptax) {
  follow("prodigy", Prodigy{.weight_decay = 0.01});
  follow("prodigy_safe", Prodigy{.learning_rate = falling, .estim_lr0 = 1e-2, .safeguard_warmup = true});
  follow("schedule_free", schedule_free(Sgd{.learning_rate = 0.1}, {.learning_rate = 0.1, .b1 = 0.8}));
  follow("schedule_free_sgd",
         schedule_free_sgd({.learning_rate = 0.3, .warmup_steps = 10, .weight_decay = 0.01}));
  follow("schedule_free_adamw",
         schedule_free_adamw({.learning_rate = 0.1, .warmup_steps = 5, .weight_decay = 0.01}));
  follow("schedule_free_eval_params",
         schedule_free(Sgd{.learning_rate = 0.1}, {.learning_rate = 0.1, .b1 = 0.8}), {},
         [](const Params& p, const auto& state) { return schedule_free_eval_params(state, p); });
  follow("reduce_on_plateau", chain(Sgd{.learning_rate = 0.9}, ReduceOnPlateau{.factor = 0.5,
                                                                               .patience = 3,
                                                                               .rtol = 0.3,
                                                                               .cooldown = 2,
                                                                               .accumulation_size = 2,
                                                                               .min_scale = 0.01}));
}

TEST(Transformations, FollowOptax) {
  follow("clip", down(Clip{0.5}));
  follow("clip_by_block_rms", down(ClipByBlockRms{0.4}));
  follow("clip_by_global_norm", down(ClipByGlobalNorm{1.}));
  follow("adaptive_grad_clip", down(AdaptiveGradClip{0.3}));
  follow("scale_by_schedule", chain(ScaleBySchedule{falling}, Scale{-1.}));
  follow("scale_by_param_block_norm", down(ScaleByParamBlockNorm{0.1}));
  follow("scale_by_param_block_rms", down(ScaleByParamBlockRms{}));
  follow("scale_by_trust_ratio",
         down(ScaleByTrustRatio{.min_norm = 0.01, .trust_coefficient = 0.5, .eps = 1e-3}));
  follow("scale_by_rms", down(ScaleByRms{.decay = 0.8, .bias_correction = true}));
  follow("scale_by_stddev", down(ScaleByStddev{.decay = 0.8, .eps = 1e-2}));
  follow("centralize", down(Centralize{}));
  follow("normalize_by_update_norm", down(NormalizeByUpdateNorm{2.}));
  follow("trace", down(Trace{0.7}));
  follow("ema", down(Ema{0.7}));
  follow("ema_biased", down(Ema{.decay = 0.7, .debias = false}));
  follow("apply_every", down(ApplyEvery{3}));
  follow("keep_params_nonnegative", chain(Sgd{.learning_rate = 0.3}, KeepParamsNonnegative{}));
  follow("add_decayed_weights", down(AddDecayedWeights{0.1, matrices}));
}

TEST(Transformations, QuasiNewtonDirectionsFollowOptax) {
  // Differences of gradients lose the digits that they have in common.
  follow("scale_by_lbfgs", down(ScaleByLbfgs{.memory_size = 3}), {.ulps = 1e5});
  follow("scale_by_lbfgs_plain", down(ScaleByLbfgs{.memory_size = 5, .scale_init_precond = false}),
         {.ulps = 1e5});
}

TEST(Transformations, OfSomeLeavesFollowOptax) {
  follow("masked", down(masked(ScaleByAdam{}, matrices)));
  follow("freeze", chain(freeze(matrices), Sgd{.learning_rate = lr}));
  auto label = [](const Array&, const std::string& path) {
    return path == "w" ? "adam" : path == "b" ? "sgd" : "none";
  };
  follow("multi_transform", multi_transform(label, labelled("adam", Adam{.learning_rate = lr}),
                                            labelled("sgd", Sgd{.learning_rate = lr, .momentum = 0.5}),
                                            labelled("none", SetToZero{})));
}

TEST(Transformations, AroundOthersFollowOptax) {
  follow("multi_steps", multi_steps(Adam{.learning_rate = lr}, {.every_k = 4}));
  follow("multi_steps_sum",
         multi_steps(Sgd{.learning_rate = lr, .momentum = 0.9}, {.every_k = 3, .use_grad_mean = false}));
  follow("lookahead", lookahead(Adam{.learning_rate = lr}, {.sync_period = 5, .slow_step_size = 0.4}));
  follow("lookahead_reset", lookahead(Adam{.learning_rate = lr},
                                      {.sync_period = 5, .slow_step_size = 0.4, .reset_state = true}));
  follow("apply_if_finite", apply_if_finite(Adam{.learning_rate = lr}, 10));
  follow("zero_nans", chain(ZeroNans{}, Adam{.learning_rate = lr}));
  follow("adam", inject_hyperparams(Adam{.learning_rate = lr}));
}

TEST(Transformations, OfNothingAreTheGradient) {
  const Params start = problem("0", f64);
  EXPECT_TRUE(tree_equal(Identity{}.update(start, {}, start).first, start));
  EXPECT_TRUE(tree_equal(chain().update(start, {}, start).first, start));
}

TEST(Transformations, AllOfOptaxsTrajectoriesAreFollowed) {
  const std::regex call(R"re(follow\("(\w+)")re");
  std::set<std::string> followed;
  for (const auto& file : std::filesystem::directory_iterator(APSIS_SOURCE_DIR "/tests/optim")) {
    std::ifstream stream(file.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at)
      followed.insert((*at)[1]);
  }
  for (const golden::Case& c : cases()) {
    if (c.name != "trajectory") continue;
    EXPECT_TRUE(followed.count(c.text.at("name"))) << c.text.at("name");
  }
}

}  // namespace
}  // namespace apsis::optim::testing
