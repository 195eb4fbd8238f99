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

TEST(Optimizers, YoungerKinOfAdamFollowOptax) {
  follow("acprop", Acprop{.learning_rate = lr, .weight_decay = 0.02, .mask = matrices});
  follow("ademamix", Ademamix{.learning_rate = lr, .b3 = 0.99, .weight_decay = 0.02});
  follow("ademamix_schedule",
         Ademamix{.learning_rate = falling,
                  .b3 = LinearSchedule{.init_value = 0.9, .end_value = 0.99, .transition_steps = 50},
                  .alpha = LinearSchedule{.init_value = 0., .end_value = 5., .transition_steps = 50}});
  follow("simplified_ademamix",
         SimplifiedAdemamix{.learning_rate = 0.001, .alpha = 2., .weight_decay = 0.02});
  follow("adopt", Adopt{.learning_rate = lr});
  follow("adopt_options", Adopt{.learning_rate = falling,
                                .b1 = 0.8,
                                .b2 = 0.99,
                                .eps = 1e-3,
                                .nesterov = true,
                                .use_clipping = false});
  follow("adopt_bf16", Adopt{.learning_rate = lr, .mu_dtype = bf16});
}

TEST(Optimizers, ThoseFromTheFirstParametersFollowOptax) {
  follow("madgrad", Madgrad{.learning_rate = lr, .weight_decay = 0.01});
  follow("madgrad_schedule", Madgrad{.learning_rate = falling, .momentum = 0., .eps = 1e-3});
  follow("cocob", Cocob{.weight_decay = 0.01, .mask = matrices});
  follow("cocob_options", Cocob{.learning_rate = falling, .alpha = 10., .eps = 1e-2});
}

TEST(Optimizers, ThoseThatFindTheirRatesFollowOptax) {
  follow("dog", Dog{.weight_decay = 0.01});
  follow("dog_distance", Dog{.learning_rate = falling, .init_step = DogStart::Distance, .init_value = 0.1});
  follow("dog_learning_rate", Dog{.init_step = DogStart::LearningRate, .init_value = 0.1, .eps = 1e-2});
  follow("dowg", Dowg{.weight_decay = 0.01, .mask = matrices});
  follow("dowg_options", Dowg{.learning_rate = falling, .init_estim_sq_dist = 0.1, .eps = 1e-2});
  follow("scale_by_distance_over_gradients",
         ScaleByDistanceOverGradients{.reps_rel = 1e-2, .global_scale = -1.});
  follow("dadapt_adamw", DAdaptAdamW{.estim_lr0 = 1e-3, .weight_decay = 0.01});
  follow("dadapt_adamw_schedule",
         DAdaptAdamW{.learning_rate = falling, .b1 = 0.8, .b2 = 0.99, .estim_lr0 = 1e-2});
  follow("momo", Momo{.learning_rate = 0.5, .weight_decay = 0.01});
  follow("momo_bound",
         Momo{.learning_rate = falling, .beta = 0.5, .lower_bound = -1., .adapt_lower_bound = true});
  follow("momo_adam", MomoAdam{.learning_rate = 0.5, .weight_decay = 0.01});
  follow("momo_adam_bound",
         MomoAdam{.learning_rate = falling, .lower_bound = -1., .adapt_lower_bound = true});
  // Once near the minimum, its rewards decide by differences of nothing but roundings: a change of 1e-14 at
  // the start is one of 1e-4 after 100 of Optax's steps.
  follow("mechanize", mechanize(Adam{.learning_rate = lr}, {.s_init = 1e-2}), {.steps = 30});
  follow("mechanize_sgd",
         mechanize(Sgd{.learning_rate = 1.}, {.weight_decay = 0., .s_init = 1e-3, .num_betas = 3}),
         {.steps = 30});
}

TEST(Optimizers, SharpnessAwareOnesFollowOptax) {
  const auto uphill = chain(NormalizeByUpdateNorm{.eps = 0.}, Sgd{.learning_rate = 0.1});
  const Sgd descent{.learning_rate = lr, .momentum = 0.9};
  follow("normalize", down(NormalizeByUpdateNorm{.eps = 0.}));
  follow("sam", sam(descent, uphill));
  follow("sam_options", sam(Adam{.learning_rate = lr}, Adam{.learning_rate = 0.01},
                            {.sync_period = 3, .reset_state = false}));
  const auto opaque = sam_opaque(descent, uphill, {.sync_period = 3});
  follow("sam_opaque", WithExtra{opaque, [](const Params& a, const Params& t) {
                                   return [=](const Params& p, std::int64_t) {
                                     return tree_map([](const Array& c, const Array& x,
                                                        const Array& y) { return c * (x - y); },
                                                     a, p, t);
                                   };
                                 }});
}

TEST(Optimizers, SophiaFollowsOptax) {
  auto loss = [](const Params& a, const Params& t) {
    return [=](const Params& p) {
      Array total = 0.;
      for_each_leaf(tree_map([](const Array& c, const Array& x,
                                const Array& y) { return c * square(x - y) / 2 + pow(x, 4) / 20; },
                             a, p, t),
                    [&](const Array& x) { total = total + sum(x); });
      return total;
    };
  };
  const Sophia sophia{.learning_rate = lr, .gamma = 0.5, .key = random::key(5)};
  follow("sophia", WithExtra{sophia, loss});
  const Sophia options{.learning_rate = falling,
                       .weight_decay = 0.02,
                       .mask = matrices,
                       .gamma = 0.5,
                       .clip_threshold = {},
                       .update_interval = 3,
                       .key = random::key(5)};
  follow("sophia_options", WithExtra{options, loss});
}

TEST(Optimizers, GaloreFollowsOptax) {
  follow("galore", galore({.learning_rate = lr, .projection = {.rank = 1}}));
  follow("galore_options", galore({.learning_rate = lr,
                                   .projection = {.rank = 2, .scale = 0.5},
                                   .weight_decay = 0.01,
                                   .mask = matrices}));
}

TEST(Optimizers, GaloreRenewsItsSubspaces) {
  auto optimizer = scale_by_galore(GaloreOptions{.rank = 1, .update_proj_gap = 3}, Identity{});
  const Array x = zeros({4, 3});
  auto state = optimizer.init(x);
  Array subspace;
  for (int k = 0; k < 7; ++k) {
    const Array g = random::normal(random::key(k), {4, 3});
    if (k % 3 == 0) {
      const Array u = linalg::svd(g, {.full_matrices = false}).u(ellipsis, range(0, 1));
      subspace = matmul(u, transpose(u));
    }
    auto [change, next] = optimizer.update(g, state, x);
    // A product of three matrices of four rows, against one of two: some roundings.
    EXPECT_LT(max(abs(change - matmul(subspace, g))).item<double>(), 1e-14) << k;
    state = next;
  }
  EXPECT_EQ(state.projector.shape(), (Shape{4, 1}));
}

TEST(Optimizers, MuonWithOptionsFollowsOptax) {
  const auto by = [](Preconditioning how) { return Muon{.learning_rate = 0.005, .preconditioning = how}; };
  follow("muon_spectral", by(Preconditioning::Spectral));
  follow("muon_aol", by(Preconditioning::Aol));
  follow("muon_schatten", by(Preconditioning::Schatten));
  follow("muon_axes",
         Muon{.learning_rate = 0.005,
              .matrix_axes =
                  [](const Array& x, const std::string&) {
                    return x.ndim() == 2 ? std::optional(MatrixAxes{{-1}, {0}}) : std::nullopt;
                  }},
         {.ulps = 1e5});
}

TEST(Optimizers, MuonTakesManyMatricesInOneLeaf) {
  // A leaf with two matrices, rows over two axes, moves as the two alone do.
  const Array x = random::normal(random::key(1), {2, 3, 4, 2}), g = random::normal(random::key(2), x.shape());
  const Muon muon{.learning_rate = 1., .matrix_axes = [](const Array&, const std::string&) {
                    return std::optional(MatrixAxes{{1, 2}, {-1}});
                  }};
  const Array change = muon.update(g, muon.init(x), x).first;
  for (std::int64_t i = 0; i < 2; ++i) {
    const Array one = reshape(x[i], {12, 2});
    const Muon plain{.learning_rate = 1.};
    const Array alone = plain.update(reshape(g[i], {12, 2}), plain.init(one), one).first;
    // Sums of 12 and 24 products, twice in each of five steps: some tens of roundings.
    EXPECT_LT(max(abs(reshape(change[i], {12, 2}) - alone)).item<double>(), 1e-13);
  }
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
  follow("schedule_free_f32",
         schedule_free(Sgd{.learning_rate = 0.1}, {.learning_rate = 0.1, .b1 = 0.8, .state_dtype = f32}),
         {.ulps = 4096 * 0x1p29});  // z has the digits of f32
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
  follow("multi_steps_schedule", multi_steps(Adam{.learning_rate = lr}, {.every_k = [](const Array& step) {
                                               return where(step < 5, 2, 4);
                                             }}));
  follow("multi_steps_finite", multi_steps(Adam{.learning_rate = lr}, {.every_k = 2}, SkipNotFinite{}));
  follow("multi_steps_large", multi_steps(Sgd{.learning_rate = 0.3}, {.every_k = 2}, SkipLargeUpdates{40.}));
  follow("conditionally_transform",
         chain(conditionally_transform(Scale{0.5}, [](const Array& step) { return step % 3 == 1; }),
               Sgd{.learning_rate = lr}));
  follow("conditionally_mask",
         conditionally_mask(Adam{.learning_rate = lr}, [](const Array& step) { return step % 3 != 1; }));
  follow("adam", named_chain(named<"adam">(ScaleByAdam{}), named<"rate">(ScaleByLearningRate{lr})));
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
