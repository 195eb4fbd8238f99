// Losses and their gradients against Optax's (tests/golden/losses.txt).

#include <functional>
#include <set>

#include "optim/trajectory.hpp"

namespace apsis::optim::testing {
namespace {

using Arguments = std::vector<Array>;
using Loss = std::function<Array(const Arguments&)>;

/// The losses of the golden cases by name.
const std::map<std::string, Loss>& losses() {
  static const std::map<std::string, Loss> table{
      {"squared_error",
       [](const Arguments& x) { return squared_error(x[0], x.size() > 1 ? x[1] : Array()); }},
      {"l2_loss", [](const Arguments& x) { return l2_loss(x[0], x[1]); }},
      {"huber_loss", [](const Arguments& x) { return huber_loss(x[0], x[1]); }},
      {"huber_loss_delta", [](const Arguments& x) { return huber_loss(x[0], x[1], 0.3); }},
      {"log_cosh", [](const Arguments& x) { return log_cosh(x[0], x[1]); }},
      {"cosine_similarity", [](const Arguments& x) { return cosine_similarity(x[0], x[1]); }},
      {"cosine_similarity_options",
       [](const Arguments& x) {
         return cosine_similarity(x[0], x[1], {.epsilon = 0.5, .axis = 0, .where = x[2]});
       }},
      {"cosine_distance", [](const Arguments& x) { return cosine_distance(x[0], x[1]); }},
      {"sigmoid_binary_cross_entropy",
       [](const Arguments& x) { return sigmoid_binary_cross_entropy(x[0], x[1]); }},
      {"hinge_loss", [](const Arguments& x) { return hinge_loss(x[0], x[1]); }},
      {"squared_hinge_loss", [](const Arguments& x) { return squared_hinge_loss(x[0], x[1]); }},
      {"perceptron_loss", [](const Arguments& x) { return perceptron_loss(x[0], x[1]); }},
      {"sparsemax_loss", [](const Arguments& x) { return sparsemax_loss(x[0], x[1]); }},
      {"sigmoid_focal_loss", [](const Arguments& x) { return sigmoid_focal_loss(x[0], x[1]); }},
      {"sigmoid_focal_loss_options",
       [](const Arguments& x) { return sigmoid_focal_loss(x[0], x[1], {.alpha = 0.25, .gamma = 1.5}); }},
      {"softmax_cross_entropy", [](const Arguments& x) { return softmax_cross_entropy(x[0], x[1]); }},
      {"softmax_cross_entropy_axis",
       [](const Arguments& x) { return softmax_cross_entropy(x[0], x[1], {.axis = 0}); }},
      {"softmax_cross_entropy_axes",
       [](const Arguments& x) {
         return softmax_cross_entropy(x[0], x[1], {.axis = {0, 1}});
       }},
      {"softmax_cross_entropy_where",
       [](const Arguments& x) { return softmax_cross_entropy(x[0], x[1], {.where = x[2]}); }},
      {"safe_softmax_cross_entropy",
       [](const Arguments& x) { return safe_softmax_cross_entropy(x[0], x[1]); }},
      {"softmax_cross_entropy_with_integer_labels",
       [](const Arguments& x) { return softmax_cross_entropy_with_integer_labels(x[0], x[1]); }},
      {"softmax_cross_entropy_with_integer_labels_axis",
       [](const Arguments& x) { return softmax_cross_entropy_with_integer_labels(x[0], x[1], {.axis = 0}); }},
      {"softmax_cross_entropy_with_integer_labels_where",
       [](const Arguments& x) {
         return softmax_cross_entropy_with_integer_labels(x[0], x[1], {.where = x[2]});
       }},
      {"poly_loss_cross_entropy", [](const Arguments& x) { return poly_loss_cross_entropy(x[0], x[1]); }},
      {"poly_loss_cross_entropy_options",
       [](const Arguments& x) { return poly_loss_cross_entropy(x[0], x[1], -0.5, {.axis = 0}); }},
      {"multiclass_hinge_loss", [](const Arguments& x) { return multiclass_hinge_loss(x[0], x[1]); }},
      {"multiclass_perceptron_loss",
       [](const Arguments& x) { return multiclass_perceptron_loss(x[0], x[1]); }},
      {"multiclass_sparsemax_loss", [](const Arguments& x) { return multiclass_sparsemax_loss(x[0], x[1]); }},
      {"kl_divergence", [](const Arguments& x) { return kl_divergence(x[0], x[1]); }},
      {"kl_divergence_where", [](const Arguments& x) { return kl_divergence(x[0], x[1], {.where = x[2]}); }},
      {"kl_divergence_with_log_targets",
       [](const Arguments& x) { return kl_divergence_with_log_targets(x[0], x[1]); }},
      {"generalized_kl_divergence", [](const Arguments& x) { return generalized_kl_divergence(x[0], x[1]); }},
      {"smooth_labels", [](const Arguments& x) { return smooth_labels(x[0], 0.1); }},
      {"smooth_labels_where", [](const Arguments& x) { return smooth_labels(x[0], 0.1, {.where = x[1]}); }},
      {"ctc_loss", [](const Arguments& x) { return ctc_loss(x[0], x[1], x[2], x[3]); }},
      {"ctc_loss_blank",
       [](const Arguments& x) { return ctc_loss(x[0], x[1], x[2], x[3], {.blank_id = 4}); }},
      {"ctc_phi",
       [](const Arguments& x) { return ctc_loss_with_forward_probs(x[0], x[1], x[2], x[3]).logalpha_phi; }},
      {"ctc_emit",
       [](const Arguments& x) { return ctc_loss_with_forward_probs(x[0], x[1], x[2], x[3]).logalpha_emit; }},
      {"ranking_softmax_loss", [](const Arguments& x) { return ranking_softmax_loss(x[0], x[1]); }},
      {"ranking_softmax_loss_none",
       [](const Arguments& x) { return ranking_softmax_loss(x[0], x[1], {.reduction = Reduction::None}); }},
      {"ranking_softmax_loss_where",
       [](const Arguments& x) { return ranking_softmax_loss(x[0], x[1], {.where = x[2]}); }},
      {"ranking_softmax_loss_weights",
       [](const Arguments& x) {
         return ranking_softmax_loss(x[0], x[1], {.weights = x[2], .reduction = Reduction::Sum});
       }},
      {"ntxent", [](const Arguments& x) { return ntxent(x[0], x[1]); }},
      {"ntxent_temperature", [](const Arguments& x) { return ntxent(x[0], x[1], 0.5); }},
      {"triplet_margin_loss", [](const Arguments& x) { return triplet_margin_loss(x[0], x[1], x[2]); }},
      {"triplet_margin_loss_options",
       [](const Arguments& x) {
         return triplet_margin_loss(x[0], x[1], x[2],
                                    {.axis = 0, .norm_degree = 4, .margin = 0.3, .eps = 1e-3});
       }},
      {"dice_loss", [](const Arguments& x) { return dice_loss(x[0], x[1]); }},
      {"dice_loss_options",
       [](const Arguments& x) {
         return dice_loss(x[0], x[1],
                          {.class_weights = array({0.5f, 1.f, 2.f}),
                           .smooth = 0.1,
                           .alpha = 0.3,
                           .beta = 0.7,
                           .reduction = Reduction::Sum,
                           .ignore_background = true});
       }},
      {"dice_loss_binary",
       [](const Arguments& x) { return dice_loss(x[0], x[1], {.reduction = Reduction::None}); }},
      {"generalized_dice_loss",
       [](const Arguments& x) { return multiclass_generalized_dice_loss(x[0], x[1]); }},
      {"generalized_dice_loss_options",
       [](const Arguments& x) {
         return multiclass_generalized_dice_loss(x[0], x[1], {.smooth = 0.2, .ignore_background = true});
       }},
      {"binary_dice_loss", [](const Arguments& x) { return binary_dice_loss(x[0], x[1]); }},
      {"binary_dice_loss_options",
       [](const Arguments& x) { return binary_dice_loss(x[0], x[1], {.smooth = 0.2}); }}};
  return table;
}

/// Sums of a few terms and their logarithms: 64 units in the last place of the largest of the value, the
/// terms and 1. The extreme logits of the cases have losses of their own size.
void expect_near(const golden::Case& c, const char* what, const Array& got, const golden::Field& want) {
  const std::string name = c.name + " " + want.dtype + " " + what;
  ASSERT_EQ(to_string(got.dtype()), want.dtype) << name;
  ASSERT_EQ(got.shape(), Shape(std::span<const std::int64_t>(want.shape))) << name;
  const std::vector<double> values = got.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = want.real[i], unit = want.dtype == "f32" ? 0x1p-23 : 0x1p-52;
    if (std::isinf(expected) && values[i] == expected) continue;
    EXPECT_NEAR(values[i], expected, 64 * unit * std::max(1., std::abs(expected))) << name << "[" << i << "]";
  }
}

TEST(Losses, AreOptaxs) {
  std::set<std::string> seen;
  for (const golden::Case& c : golden::read(APSIS_SOURCE_DIR "/tests/golden/losses.txt")) {
    ASSERT_TRUE(losses().count(c.name)) << c.name;
    seen.insert(c.name);
    const Loss& loss = losses().at(c.name);
    Arguments x;
    for (std::string key = "x0"; c.has(key); key = "x" + std::to_string(x.size()))
      x.push_back(c[key].dtype == "bool" ? array_of(c[key]) != 0 : array_of(c[key]));
    expect_near(c, "value", loss(x), c["value"]);
    auto of_first = [&](const Array& first) {
      Arguments with = x;
      with[0] = first;
      return loss(with);
    };
    expect_near(c, "compiled value", jit(of_first)(x[0]), c["value"]);
    if (c.has("gradient"))
      expect_near(c, "gradient", grad([&](const Array& first) { return sum(of_first(first)); })(x[0]),
                  c["gradient"]);
  }
  EXPECT_EQ(seen.size(), losses().size());
}

TEST(Losses, OfABatchAreThoseOfItsExamples) {
  const Array logits = random::normal(random::key(1), {5, 4}),
              labels = nn::softmax(random::normal(random::key(2), {5, 4}));
  const Array classes = array({0, 3, 1, 2, 2});
  auto each =
      vmap([](const Array& x, const Array& y) { return softmax_cross_entropy(x, y); })(logits, labels);
  EXPECT_EQ(each.to_vector<double>(), softmax_cross_entropy(logits, labels).to_vector<double>());
  auto integer =
      vmap([](const Array& x, const Array& y) { return softmax_cross_entropy_with_integer_labels(x, y); });
  EXPECT_EQ(integer(logits, classes).to_vector<double>(),
            softmax_cross_entropy_with_integer_labels(logits, classes).to_vector<double>());
}

TEST(Losses, OfNothingAreEmpty) {
  EXPECT_EQ(squared_error(zeros({0})).shape(), Shape{0});
  EXPECT_EQ(softmax_cross_entropy(zeros({0, 3}), zeros({0, 3})).shape(), Shape{0});
  EXPECT_EQ(softmax_cross_entropy_with_integer_labels(zeros({0, 3}), zeros({0}, i64)).shape(), Shape{0});
  EXPECT_EQ(ctc_loss(zeros({2, 0, 3}), zeros({2, 0}), zeros({2, 2}, i64), zeros({2, 2})).shape(), Shape{2});
  EXPECT_EQ(dice_loss(zeros({0, 2, 3}), zeros({0, 2, 3})).shape(), Shape{0});
}

TEST(Losses, KeepTheDtype) {
  for (Dtype dtype : {bf16, f16, f32, f64}) {
    const Array x = astype(array({0.5, -1., 2.}), dtype), t = astype(array({1., 0., 0.}), dtype);
    for (const Array& loss : {squared_error(x, t), l2_loss(x, t), huber_loss(x, t), log_cosh(x, t),
                              cosine_similarity(x, t), sigmoid_binary_cross_entropy(x, t), hinge_loss(x, t),
                              sigmoid_focal_loss(x, t), softmax_cross_entropy(x, t),
                              poly_loss_cross_entropy(x, t), kl_divergence(x, t), smooth_labels(t, 0.1)})
      EXPECT_EQ(loss.dtype(), dtype);
  }
}

TEST(Losses, OfShapesThatDoNotFitNameThemselves) {
  using Loss = Array (*)(const Array&, const Array&);
  const std::pair<const char*, Loss> losses[] = {
      {"cosine_similarity", [](const Array& a, const Array& b) { return cosine_similarity(a, b); }},
      {"sigmoid_binary_cross_entropy",
       [](const Array& a, const Array& b) { return sigmoid_binary_cross_entropy(a, b); }},
      {"hinge_loss", [](const Array& a, const Array& b) { return hinge_loss(a, b); }},
      {"squared_hinge_loss", [](const Array& a, const Array& b) { return squared_hinge_loss(a, b); }},
      {"sparsemax_loss", [](const Array& a, const Array& b) { return sparsemax_loss(a, b); }},
      {"sigmoid_focal_loss", [](const Array& a, const Array& b) { return sigmoid_focal_loss(a, b); }},
      {"softmax_cross_entropy", [](const Array& a, const Array& b) { return softmax_cross_entropy(a, b); }},
      {"safe_softmax_cross_entropy",
       [](const Array& a, const Array& b) { return safe_softmax_cross_entropy(a, b); }},
      {"poly_loss_cross_entropy",
       [](const Array& a, const Array& b) { return poly_loss_cross_entropy(a, b); }},
      {"kl_divergence", [](const Array& a, const Array& b) { return kl_divergence(a, b); }},
      {"kl_divergence_with_log_targets",
       [](const Array& a, const Array& b) { return kl_divergence_with_log_targets(a, b); }},
      {"generalized_kl_divergence",
       [](const Array& a, const Array& b) { return generalized_kl_divergence(a, b); }}};
  for (const auto& [name, loss] : losses) {
    try {
      loss(ones({2, 3}), ones({2, 4}));
      ADD_FAILURE() << name << " threw nothing";
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_TRUE(text.starts_with("[" + std::string(name) + "]")) << text;
      EXPECT_NE(text.find("[2, 3]"), text.npos) << text;
      EXPECT_NE(text.find("[2, 4]"), text.npos) << text;
    }
    EXPECT_EQ(loss(ones({2, 3}), ones({3})).dtype(), f64) << name;  // what broadcasts is taken, as Optax does
  }
}

}  // namespace
}  // namespace apsis::optim::testing
