"""Optax's losses, and their gradients in the first argument."""

import records
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import losses

ABOUT = """
Losses by Optax of the arguments x0, x1, …: `value`, and `gradient` of the sum of values in x0. Options stand in
tests/optim/losses_test.cpp, by the name of the case.
"""
w = records.Writer(__file__, "losses.txt", ABOUT, ("jax", "optax", "numpy"))
rng = np.random.default_rng(3)


def case(name, f, *args, gradient=True, dtypes=(np.float64, np.float32)):
    for dtype in dtypes:
        x = [np.asarray(a, dtype) if np.asarray(a).dtype == np.float64 else np.asarray(a) for a in args]
        j = [jnp.asarray(a) for a in x]
        fields = {f"x{i}": a for i, a in enumerate(x)} | {"value": np.asarray(f(*j), dtype)}  # (f64 of f32 by one_hot, whose dtype is the default)
        if gradient:
            fields["gradient"] = np.asarray(jax.grad(lambda a: jnp.sum(f(a, *j[1:])))(j[0]))
        w.case(name, **fields)


# Errors small and large, at the corners of the pieces, and 0.
e = np.array([0.0, 0.5, -0.25, 1.0, -1.0, 3.0, -20.0, 400.0])
t = np.array([1.0, 0.0, 0.5, -2.0, 0.25, 1.0, 0.0, 0.0])
case("squared_error", losses.squared_error, e + t, t)
case("squared_error", losses.squared_error, e)
case("l2_loss", losses.l2_loss, e + t, t)
case("huber_loss", losses.huber_loss, e + t, t)
case("huber_loss_delta", lambda x, t: losses.huber_loss(x, t, delta=0.3), e + t, t)
case("log_cosh", losses.log_cosh, e + t, t)
m, n = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
mask = rng.uniform(size=(3, 4)) > 0.3
case("cosine_similarity", losses.cosine_similarity, m, n)
case("cosine_similarity_options", lambda x, t, w: losses.cosine_similarity(x, t, epsilon=0.5, axis=0, where=w), m, n, mask)
case("cosine_distance", losses.cosine_distance, m, n)

logits = np.array([0.0, 1.5, -2.0, 30.0, -30.0, 800.0, -800.0, 0.25])
labels = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.3])
hard = np.array([1, 0, 1, 1, 1, 0, 0, 0])
sides = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
margins = np.array([0.0, 1.5, 1.0, 0.5, -2.0, 0.25, -1.0, 3.0])
case("sigmoid_binary_cross_entropy", losses.sigmoid_binary_cross_entropy, logits, labels)
case("hinge_loss", losses.hinge_loss, margins, sides)
case("squared_hinge_loss", lambda x, t: losses.hinge_loss(x, t) ** 2, margins, sides)
case("perceptron_loss", losses.perceptron_loss, margins, sides)
case("sparsemax_loss", losses.sparsemax_loss, margins, hard)
case("sigmoid_focal_loss", losses.sigmoid_focal_loss, logits, labels)
case("sigmoid_focal_loss", losses.sigmoid_focal_loss, logits, hard)
case("sigmoid_focal_loss_options", lambda x, t: losses.sigmoid_focal_loss(x, t, alpha=0.25, gamma=1.5), logits, labels)

z = np.concatenate([rng.normal(size=(2, 4)) * 2, [[0.0, 0.0, 0.0, 0.0], [900.0, -900.0, 3.0, 3.0]]])
p = np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0]])
k = np.array([3, 1, 2, 0])
some = np.array([[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1]], bool)
case("softmax_cross_entropy", losses.softmax_cross_entropy, z, p)
case("softmax_cross_entropy_axis", lambda x, t: losses.softmax_cross_entropy(x, t, axis=0), z, p)
case("softmax_cross_entropy_axes", lambda x, t: losses.softmax_cross_entropy(x, t, axis=(0, 1)), z, p)
case("softmax_cross_entropy_where", lambda x, t, w: losses.softmax_cross_entropy(x, t, where=w), z[:3], p[:3], some[:3])
case("safe_softmax_cross_entropy", losses.safe_softmax_cross_entropy, z, p)
case("safe_softmax_cross_entropy", losses.safe_softmax_cross_entropy, np.where(p == 0, -np.inf, z), p, gradient=False)
case("softmax_cross_entropy_with_integer_labels", losses.softmax_cross_entropy_with_integer_labels, z, k)
case("softmax_cross_entropy_with_integer_labels_axis", lambda x, t: losses.softmax_cross_entropy_with_integer_labels(x, t, axis=0), z, k)
case("softmax_cross_entropy_with_integer_labels_where", lambda x, t, w: losses.softmax_cross_entropy_with_integer_labels(x, t, where=w), z[:3], k[:3], np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0]], bool), gradient=False)
case("poly_loss_cross_entropy", losses.poly_loss_cross_entropy, z, p)
case("poly_loss_cross_entropy_options", lambda x, t: losses.poly_loss_cross_entropy(x, t, epsilon=-0.5, axis=0), z[:3], p[:3])
case("multiclass_hinge_loss", losses.multiclass_hinge_loss, z, k)
case("multiclass_perceptron_loss", losses.multiclass_perceptron_loss, z, k)
case("multiclass_sparsemax_loss", losses.multiclass_sparsemax_loss, z, k, dtypes=(np.float64,))
q = np.log(np.array([[0.4, 0.3, 0.2, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.1, 0.1, 0.7]]))
case("kl_divergence", losses.kl_divergence, q, p[:3])
case("kl_divergence_where", lambda x, t, w: losses.kl_divergence(x, t, where=w), q, p[:3], some[:3])
case("kl_divergence_with_log_targets", losses.kl_divergence_with_log_targets, q, q[::-1])
case("generalized_kl_divergence", losses.generalized_kl_divergence, q, p[:3])
case("smooth_labels", lambda x: losses.smooth_labels(x, 0.1), p)
case("smooth_labels_where", lambda x, w: losses.smooth_labels(x, 0.1, where=w), p, some)

time, classes = 7, 5
sequences = rng.normal(size=(3, time, classes))
words = np.array([[1, 2, 2, 3], [4, 4, 4, 0], [3, 1, 0, 0]])
sequence_paddings = np.array([[0.0] * 7, [0.0] * 7, [0.0] * 4 + [1.0] * 3])
word_paddings = np.array([[0.0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]])
case("ctc_loss", losses.ctc_loss, sequences, sequence_paddings, words, word_paddings)
case("ctc_loss_blank", lambda *a: losses.ctc_loss(*a, blank_id=4), sequences, sequence_paddings, np.where(words == 4, 0, words), word_paddings)
case("ctc_phi", lambda *a: losses.ctc_loss_with_forward_probs(*a)[1], sequences, sequence_paddings, words, word_paddings, gradient=False)
case("ctc_emit", lambda *a: losses.ctc_loss_with_forward_probs(*a)[2], sequences, sequence_paddings, words, word_paddings, gradient=False)

scores, relevance = rng.normal(size=(3, 4)), np.array([[0.0, 1, 0, 2], [1, 0, 0, 0], [0, 0, 0, 1]])
lists = np.array([[1, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], bool)
case("ranking_softmax_loss", losses.ranking_softmax_loss, scores, relevance)
case("ranking_softmax_loss_none", lambda x, t: losses.ranking_softmax_loss(x, t, reduce_fn=None), scores, relevance)
case("ranking_softmax_loss_where", lambda x, t, w: losses.ranking_softmax_loss(x, t, where=w), scores, relevance, lists, gradient=False)
case("ranking_softmax_loss_weights", lambda x, t, v: losses.ranking_softmax_loss(x, t, weights=v, reduce_fn=jnp.sum), scores, relevance, np.abs(scores))
points = rng.normal(size=(6, 3))
case("ntxent", losses.ntxent, points, np.array([0, 0, 1, 1, 2, 0]))
case("ntxent_temperature", lambda x, t: losses.ntxent(x, t, 0.5), points, np.array([0, 1, 1, 1, 2, 0]))
case("triplet_margin_loss", losses.triplet_margin_loss, points, points[::-1] * 0.5, points[[1, 2, 0, 4, 5, 3]])
case("triplet_margin_loss_options", lambda a, p, n: losses.triplet_margin_loss(a, p, n, axis=0, norm_degree=4, margin=0.3, eps=1e-3), points, points[::-1] * 0.5, points[[1, 2, 0, 4, 5, 3]])
images = rng.normal(size=(2, 3, 3, 3))
truth = np.eye(3)[rng.integers(0, 3, (2, 3, 3))]
case("dice_loss", losses.dice_loss, images, truth)
case("dice_loss_options", lambda x, t: losses.dice_loss(x, t, class_weights=jnp.asarray([0.5, 1.0, 2.0], x.dtype), smooth=0.1, alpha=0.3, beta=0.7, ignore_background=True, reduction="sum"), images, truth)
case("dice_loss_binary", lambda x, t: losses.dice_loss(x, t, reduction="none"), images[..., :1], truth[..., :1])
case("generalized_dice_loss", losses.multiclass_generalized_dice_loss, images, truth)
case("generalized_dice_loss_options", lambda x, t: losses.multiclass_generalized_dice_loss(x, t, smooth=0.2, ignore_background=True), images, truth)
case("binary_dice_loss", losses.binary_dice_loss, images[..., 0], truth[..., 0])
case("binary_dice_loss_options", lambda x, t: losses.binary_dice_loss(x, t, smooth=0.2), images[..., :1], truth[..., :1])
w.write()
