"""Trajectories of Optax's optimisers, its schedules, projections and losses, and end points of BFGS by SciPy."""

import records
import jax
import jax.numpy as jnp
import numpy as np
import optax
import types
import warnings
from optax import contrib
from optax._src import factorized, transform
from optax.contrib import _galore, _madgrad
from scipy.optimize import minimize

warnings.filterwarnings("ignore")
jax.config.update("jax_disable_jit", True)  # each operation on its own: nothing is contracted or reordered

ABOUT = """
Transformations by Optax: of parameters w [2, 3], b [3] and c (vectors: c [1]), which begin at the values of the case
`problem` and have the gradient a (x - t). `w`, `b`, `c`: the parameters after `steps` updates. Options stand in
tests/optim/optimizers_test.cpp, by the name of the case. `value`: update was given the loss, sum(a (x - t)^2 / 2).
Schedules: `value` at `count`. Projections: `result` of `x`, and of `other`.
minimum: the minimiser found by SciPy's BFGS with gtol 1e-10, and the value there; objectives: quadratic
0.5 x'Ax - b'x (fields A, b), rosenbrock sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2.
"""

w = records.Writer(__file__, "optim.txt", ABOUT, ("jax", "optax", "scipy", "numpy"))

# Numbers that are exact in every dtype.
START = {"w": [[1.0, -2.0, 0.5], [0.25, 3.0, -1.5]], "b": [2.0, -0.75, 0.0], "c": -1.25}
CURVATURE = {"w": [[1.0, 0.5, 2.0], [4.0, 0.25, 1.0]], "b": [1.5, 0.125, 3.0], "c": 0.75}
TARGET = {"w": [[0.5, 0.5, -0.25], [1.0, -1.0, 0.0]], "b": [-1.0, 1.0, 0.375], "c": 2.0}
STEPS = np.array([1, 2, 3, 10, 30, 100])


def tree(values, dtype, vectors):
    leaves = {k: jnp.asarray(v, dtype) for k, v in values.items()}
    return leaves | {"c": jnp.reshape(leaves["c"], (1,))} if vectors else leaves


w.case("problem", **{f"{k}{name}": np.asarray(v, np.float64) for name, values in (("0", START), ("a", CURVATURE), ("t", TARGET)) for k, v in values.items()})


TAKES_DTYPE = "make is called with the dtype"


def follow(name, make, value=False, vectors=False, step=None, params_of=lambda p, s: p, gradient_of=lambda g, k: g):
    """`make()` gives the transformation; `step` stands for update and apply_updates."""
    for dtype in (np.float64, np.float32):
        optimizer = make() if value is not TAKES_DTYPE else make(dtype)
        p, a, t = (tree(v, dtype, vectors) for v in (START, CURVATURE, TARGET))
        state, rows = optimizer.init(p), []
        for k in range(1, STEPS[-1] + 1):
            g = gradient_of(jax.tree.map(lambda a, x, t: a * (x - t), a, p, t), k)
            extra = {"value": sum(jnp.sum(a[i] * (p[i] - t[i]) ** 2 / 2) for i in p)} if value is True else {}
            if step is not None:
                p, state = step(optimizer, g, state, p)
            else:
                change, state = optimizer.update(g, state, p, **extra)
                p = optax.apply_updates(p, change)
            if k in STEPS:
                rows.append(params_of(p, state))
        w.case("trajectory", {"name": name}, steps=STEPS, **{i: np.asarray([np.asarray(r[i]) for r in rows], dtype) for i in p})


lr = 0.05
# Optax counts in i32 and so computes schedules in f32, whatever the parameters are; of an i64 they are f64.
wide = lambda schedule: lambda count: schedule(jnp.asarray(count, jnp.int64))
schedule = wide(optax.exponential_decay(0.1, 20, 0.7))
matrices = lambda p: jax.tree.map(lambda x: x.ndim > 1, p)

follow("sgd", lambda: optax.sgd(lr))
follow("sgd_momentum", lambda: optax.sgd(lr, momentum=0.9))
follow("sgd_nesterov", lambda: optax.sgd(lr, momentum=0.9, nesterov=True))
follow("sgd_schedule", lambda: optax.sgd(schedule, momentum=0.5))
follow("adam", lambda: optax.adam(lr))
follow("adam_options", lambda: optax.adam(schedule, b1=0.8, b2=0.99, eps=1e-6, eps_root=1e-4))
follow("adamw", lambda: optax.adamw(lr, weight_decay=0.05))
follow("adamw_mask", lambda: optax.adamw(lr, weight_decay=0.05, mask=matrices))
follow("adamw_schedule", lambda: optax.adamw(schedule, weight_decay=wide(optax.linear_schedule(0.1, 0.0, 50)), nesterov=True))
follow("nadam", lambda: optax.nadam(lr))
follow("nadamw", lambda: optax.nadamw(lr, weight_decay=0.02))
follow("adamax", lambda: optax.adamax(lr))
follow("adamaxw", lambda: optax.adamaxw(lr, weight_decay=0.02, mask=matrices))
follow("amsgrad", lambda: optax.amsgrad(lr))
follow("amsgrad_biased", lambda: optax.amsgrad(lr, bias_correction_mu=False, bias_correction_nu=False))
follow("adabelief", lambda: optax.adabelief(lr))
follow("adabelief_nesterov", lambda: optax.adabelief(lr, nesterov=True))
follow("adadelta", lambda: optax.adadelta(1.0, rho=0.8, weight_decay=0.01))
decay64 = lambda i, exponent: 1.0 - jnp.asarray(i + 1, jnp.float64) ** (-exponent)


def adafactor(momentum=None, decay=None, factor=2):
    # optax.adafactor computes the decay in f32, whatever the parameters are; here it is f64.
    parts = [factorized.scale_by_factored_rms(True, 0.8, 0, factor, 1e-30, decay64), optax.clip_by_block_rms(1.0)]
    parts += [optax.scale_by_learning_rate(lr, flip_sign=False), optax.scale_by_param_block_rms()]
    parts += [optax.ema(momentum, debias=False)] if momentum else []
    parts += [optax.add_decayed_weights(decay)] if decay else []
    return optax.chain(*parts, optax.scale(-1))


follow("adafactor", adafactor)
follow("adafactor_options", lambda: adafactor(momentum=0.9, decay=0.01, factor=128))
follow("adagrad", lambda: optax.adagrad(0.5))
follow("adan", lambda: optax.adan(lr, weight_decay=0.02))
follow("fromage", lambda: optax.fromage(lr))
follow("fromage_schedule", lambda: optax.fromage(schedule))
follow("lamb", lambda: optax.lamb(lr, weight_decay=0.01))
follow("lars", lambda: optax.lars(0.1, weight_decay=0.01, trust_coefficient=0.1))
follow("lars_masks", lambda: optax.lars(lr, weight_decay=0.01, weight_decay_mask=matrices, trust_coefficient=0.1, eps=1e-3, trust_ratio_mask=matrices, nesterov=True))
follow("lion", lambda: optax.lion(lr))
follow("noisy_sgd", lambda: optax.noisy_sgd(lr, key=7))
follow("novograd", lambda: optax.novograd(lr, weight_decay=0.01))
follow("optimistic_gradient_descent", lambda: optax.optimistic_gradient_descent(lr, alpha=1.0, beta=0.5))
follow("optimistic_adam", lambda: optax.optimistic_adam_v2(lr))
follow("polyak_sgd", lambda: optax.polyak_sgd(max_learning_rate=0.3, eps=1e-3), value=True)
follow("polyak_sgd_plus", lambda: optax.polyak_sgd(f_min=0.5, scaling=schedule, variant="sps+"), value=True)
follow("prodigy", lambda: contrib.prodigy(weight_decay=0.01))
follow("prodigy_safe", lambda: contrib.prodigy(schedule, estim_lr0=1e-2, safeguard_warmup=True))
follow("radam", lambda: optax.radam(lr))
follow("radam_nesterov", lambda: optax.radam(lr, b2=0.9, threshold=4.5, nesterov=True))
follow("rmsprop", lambda: optax.rmsprop(lr))
follow("rmsprop_centered", lambda: optax.rmsprop(lr, decay=0.95, centered=True, momentum=0.5, eps=1e-3))
follow("rmsprop_unbiased", lambda: optax.rmsprop(lr, eps_in_sqrt=False, bias_correction=True, initial_scale=0.1, momentum=0.5, nesterov=True))


def rprop_step(optimizer, g, state, p):
    # The steps that Optax's state holds are those of the paper; its updates are those of the step before.
    _, state = optimizer.update(g, state, p)
    return jax.tree.map(lambda x, s: x - s, p, state[0].prev_updates), state


follow("rprop", lambda: optax.rprop(lr), step=rprop_step)
follow("sign_sgd", lambda: optax.sign_sgd(schedule))
follow("signum", lambda: optax.signum(lr))
follow("sm3", lambda: optax.sm3(lr), vectors=True)
follow("yogi", lambda: optax.yogi(lr))
follow("muon", lambda: contrib.muon(0.005))
follow("muon_options", lambda: contrib.muon(0.005, ns_coeffs="dion", weight_decay=0.01, nesterov=False, adaptive=True, consistent_rms=0.2, adam_weight_decay=0.02, adam_learning_rate=0.1))

bf16, f16 = jnp.bfloat16, jnp.float16
for how in ("spectral", "aol", "schatten"):
    follow(f"muon_{how}", lambda: contrib.muon(0.005, preconditioning=how))
axes = {"w": contrib.MuonDimensionNumbers(1, 0), "b": None, "c": None}
follow("muon_axes", lambda: contrib.muon(0.005, muon_weight_dimension_numbers=axes))

# contrib
follow("acprop", lambda: contrib.acprop(lr, weight_decay=0.02, mask=matrices))
follow("ademamix", lambda: contrib.ademamix(lr, b3=0.99, weight_decay=0.02))
follow("ademamix_schedule", lambda: contrib.ademamix(schedule, b3=wide(optax.linear_schedule(0.9, 0.99, 50)), alpha=wide(optax.linear_schedule(0.0, 5.0, 50))))
follow("simplified_ademamix", lambda: contrib.simplified_ademamix(0.001, alpha=2.0, weight_decay=0.02))
# Of an i32 these are f32.
root = wide(lambda count: jnp.asarray(count, jnp.float64) ** 0.25)
follow("adopt", lambda: contrib.adopt(lr, clip_value_fn=root))
follow("adopt_options", lambda: contrib.adopt(schedule, b1=0.8, b2=0.99, eps=1e-3, nesterov=True, use_clipping=False))
follow("adopt_bf16", lambda: contrib.adopt(lr, clip_value_fn=root, mu_dtype=bf16))
_madgrad.jnp = types.SimpleNamespace(**(vars(jnp) | {"sqrt": lambda count: jnp.sqrt(jnp.asarray(count, jnp.float64))}))
follow("madgrad", lambda: contrib.madgrad(lr, weight_decay=0.01))
follow("madgrad_schedule", lambda: contrib.madgrad(schedule, momentum=0.0, eps=1e-3))
follow("cocob", lambda: contrib.cocob(weight_decay=0.01, mask=matrices))
follow("cocob_options", lambda: contrib.cocob(schedule, alpha=10.0, eps=1e-2))
follow("dog", lambda: contrib.dog(weight_decay=0.01))
follow("dog_distance", lambda: contrib.dog(schedule, init_step=("distance", 0.1)))
follow("dog_learning_rate", lambda: contrib.dog(init_step=("learning_rate", 0.1), eps=1e-2))
follow("dowg", lambda: contrib.dowg(weight_decay=0.01, mask=matrices))
follow("dowg_options", lambda: contrib.dowg(schedule, init_estim_sq_dist=0.1, eps=1e-2))
follow("scale_by_distance_over_gradients", lambda dtype: optax.scale_by_distance_over_gradients(reps_rel=1e-2, param_dtype=dtype, global_scale=-1.0), TAKES_DTYPE, vectors=True)
follow("dadapt_adamw", lambda: contrib.dadapt_adamw(estim_lr0=1e-3, weight_decay=0.01))
follow("dadapt_adamw_schedule", lambda: contrib.dadapt_adamw(schedule, betas=(0.8, 0.99), estim_lr0=1e-2))
follow("momo", lambda: contrib.momo(0.5, weight_decay=0.01), value=True)
follow("momo_bound", lambda: contrib.momo(schedule, beta=0.5, lower_bound=-1.0, adapt_lower_bound=True), value=True)
follow("momo_adam", lambda: contrib.momo_adam(0.5, weight_decay=0.01), value=True)
follow("momo_adam_bound", lambda: contrib.momo_adam(schedule, lower_bound=-1.0, adapt_lower_bound=True), value=True)
follow("mechanize", lambda: contrib.mechanize(optax.adam(lr), s_init=1e-2))
follow("mechanize_sgd", lambda: contrib.mechanize(optax.sgd(1.0), weight_decay=0.0, s_init=1e-3, num_betas=3))
follow("sam", lambda: contrib.sam(optax.sgd(lr, momentum=0.9), optax.chain(contrib.normalize(), optax.sgd(0.1))))
follow("sam_options", lambda: contrib.sam(optax.adam(lr), optax.adam(0.01), sync_period=3, reset_state=False))


def with_gradient_of(name):
    """Steps of optimisers that take the loss or its gradient."""

    def step(optimizer, g, state, p):
        a, t = (tree(v, p["w"].dtype, False) for v in (CURVATURE, TARGET))
        loss = lambda p: sum(jnp.sum(a[i] * (p[i] - t[i]) ** 2 / 2) + jnp.sum(p[i] ** 4) / 20 for i in p)
        extra = {"obj_fn": loss} if name == "obj_fn" else {"grad_fn": lambda p, i: jax.tree.map(lambda a, x, t: a * (x - t), a, p, t)}
        change, state = optimizer.update(g, state, p, **extra)
        return optax.apply_updates(p, change), state

    return step


follow("sam_opaque", lambda: contrib.sam(optax.sgd(lr, momentum=0.9), optax.chain(contrib.normalize(), optax.sgd(0.1)), sync_period=3, opaque_mode=True), step=with_gradient_of("grad_fn"))
hutchinson = lambda: contrib.hutchinson_estimator_diag_hessian(jax.random.key(5))
follow("sophia", lambda: contrib.sophia(lr, gamma=0.5, hessian_diagonal_fn=hutchinson()), step=with_gradient_of("obj_fn"))
follow("sophia_options", lambda: contrib.sophia(schedule, gamma=0.5, weight_decay=0.02, weight_decay_mask=matrices, clip_threshold=None, update_interval=3, hessian_diagonal_fn=hutchinson()), step=with_gradient_of("obj_fn"))


def galore(**options):
    """Its decompositions are f32 in Optax, whatever the parameters are. There is one only: the signs of the vectors
    of another are those of the library, and the state keeps averages with those before."""

    def make(dtype):
        _galore.jnp = types.SimpleNamespace(**(vars(jnp) | {"float32": dtype}))
        return contrib.galore(lr, **options)

    return make


follow("galore", galore(rank=1, update_proj_gap=200), TAKES_DTYPE)
follow("galore_options", galore(rank=2, update_proj_gap=200, scale=0.5, weight_decay=0.01, mask=matrices), TAKES_DTYPE)
follow("normalize", lambda: optax.chain(contrib.normalize(), optax.scale_by_learning_rate(lr)))
follow("conditionally_transform", lambda: optax.chain(optax.conditionally_transform(optax.scale(0.5), lambda step: step % 3 == 1), optax.sgd(lr)))
follow("conditionally_mask", lambda: optax.chain(optax.conditionally_mask(optax.adam(lr), lambda step: step % 3 != 1)))

# Moments in fewer bits than the parameters.
follow("sgd_bf16", lambda: optax.sgd(lr, momentum=0.9, nesterov=True, accumulator_dtype=bf16))
follow("adam_bf16", lambda: optax.adam(lr, mu_dtype=bf16))
follow("adamw_f16", lambda: optax.adamw(lr, weight_decay=0.05, mu_dtype=f16, nesterov=True))
follow("nadam_bf16", lambda: optax.nadam(lr, mu_dtype=bf16))
follow("nadamw_bf16", lambda: optax.nadamw(lr, weight_decay=0.02, mu_dtype=bf16))
follow("amsgrad_bf16", lambda: optax.amsgrad(lr, mu_dtype=bf16))
follow("lion_bf16", lambda: optax.lion(lr, mu_dtype=bf16))
follow("optimistic_adam_bf16", lambda: optax.optimistic_adam_v2(lr, mu_dtype=bf16))
follow("muon_bf16", lambda: contrib.muon(0.005, mu_dtype=bf16))

# Transformations, each followed by a descent.
down = lambda *parts: optax.chain(*parts, optax.scale_by_learning_rate(lr))
follow("clip", lambda: down(optax.clip(0.5)))
follow("clip_by_block_rms", lambda: down(optax.clip_by_block_rms(0.4)))
follow("clip_by_global_norm", lambda: down(optax.clip_by_global_norm(1.0)))
follow("adaptive_grad_clip", lambda: down(optax.adaptive_grad_clip(0.3)))
follow("scale_by_schedule", lambda: optax.chain(optax.scale_by_schedule(schedule), optax.scale(-1.0)))
follow("scale_by_param_block_norm", lambda: down(optax.scale_by_param_block_norm(0.1)))
follow("scale_by_param_block_rms", lambda: down(optax.scale_by_param_block_rms()))
follow("scale_by_trust_ratio", lambda: down(optax.scale_by_trust_ratio(min_norm=0.01, trust_coefficient=0.5, eps=1e-3)))
follow("scale_by_rms", lambda: down(optax.scale_by_rms(decay=0.8, bias_correction=True)))
follow("scale_by_stddev", lambda: down(optax.scale_by_stddev(decay=0.8, eps=1e-2)))
follow("centralize", lambda: down(optax.centralize()))
follow("normalize_by_update_norm", lambda: down(optax.normalize_by_update_norm(2.0)))
follow("trace", lambda: down(optax.trace(0.7)))
follow("trace_f16", lambda: down(optax.trace(0.7, accumulator_dtype=f16)))
follow("scale_by_novograd_bf16", lambda: down(transform.scale_by_novograd(weight_decay=0.01, mu_dtype=bf16)))
follow("ema", lambda: down(optax.ema(0.7)))
follow("ema_bf16", lambda: down(optax.ema(0.7, accumulator_dtype=bf16)))
follow("ema_biased", lambda: down(optax.ema(0.7, debias=False)))
follow("apply_every", lambda: down(optax.apply_every(3)))
follow("keep_params_nonnegative", lambda: optax.chain(optax.sgd(0.3), optax.keep_params_nonnegative()))
follow("add_decayed_weights", lambda: down(optax.add_decayed_weights(0.1, mask=matrices)))
follow("masked", lambda: down(optax.masked(optax.scale_by_adam(), matrices)))
follow("freeze", lambda: optax.chain(optax.transforms.freeze({"w": True, "b": False, "c": False}), optax.sgd(lr)))
follow("multi_transform", lambda: optax.partition({"adam": optax.adam(lr), "sgd": optax.sgd(lr, momentum=0.5), "none": optax.set_to_zero()}, {"w": "adam", "b": "sgd", "c": "none"}))
follow("multi_steps", lambda dtype: optax.MultiSteps(optax.adam(lr), 4, accumulator_dtype=dtype), TAKES_DTYPE)
follow("multi_steps_sum", lambda dtype: optax.MultiSteps(optax.sgd(lr, momentum=0.9), 3, use_grad_mean=False, accumulator_dtype=dtype), TAKES_DTYPE)


def not_finite(g, k):
    return jax.tree.map(lambda x: x + (jnp.asarray(np.inf if k in (2, 5, 6, 7, 8, 9) else 0.0, x.dtype)), {"w": g["w"]}) | {"b": g["b"], "c": g["c"]}


def large(g, k):
    return g | {"b": g["b"] * (100.0 if k % 5 == 3 else 1.0)}


follow("apply_if_finite", lambda: optax.chain(optax.apply_if_finite(optax.adam(lr), 10)), gradient_of=not_finite)
every = wide(lambda step: jnp.where(step < 5, 2, 4))
follow("multi_steps_schedule", lambda dtype: optax.MultiSteps(optax.adam(lr), every, accumulator_dtype=dtype), TAKES_DTYPE)
follow("multi_steps_finite", lambda dtype: optax.MultiSteps(optax.adam(lr), 2, accumulator_dtype=dtype, should_skip_update_fn=optax.skip_not_finite), TAKES_DTYPE, gradient_of=not_finite)
follow("multi_steps_large", lambda dtype: optax.MultiSteps(optax.sgd(0.3), 2, accumulator_dtype=dtype, should_skip_update_fn=lambda u, s, p: optax.skip_large_updates(u, s, p, 40.0)), TAKES_DTYPE, gradient_of=large)
follow("zero_nans", lambda: optax.chain(optax.zero_nans(), optax.adam(lr)),
       gradient_of=lambda g, k: g | {"b": g["b"].at[1].set(np.nan) if k % 4 == 2 else g["b"]})  # fmt: skip
follow("reduce_on_plateau", lambda: optax.chain(optax.sgd(0.9), contrib.reduce_on_plateau(factor=0.5, patience=3, cooldown=2, rtol=0.3, accumulation_size=2, min_scale=0.01)), value=True)
follow("schedule_free", lambda: contrib.schedule_free(optax.sgd(0.1), 0.1, b1=0.8))
follow("schedule_free_sgd", lambda: contrib.schedule_free_sgd(wide(optax.warmup_constant_schedule(0.0, 0.3, 10)), weight_decay=0.01))
follow("schedule_free_adamw", lambda: contrib.schedule_free_adamw(wide(optax.warmup_constant_schedule(0.0, 0.1, 5)), weight_decay=0.01))
follow("schedule_free_f32", lambda: contrib.schedule_free(optax.sgd(0.1), 0.1, b1=0.8, state_dtype=jnp.float32))
follow("schedule_free_eval_params", lambda: contrib.schedule_free(optax.sgd(0.1), 0.1, b1=0.8), params_of=lambda p, s: contrib.schedule_free_eval_params(s, p))


class Lookahead:
    """Slow parameters beside the fast ones, in the state."""

    def __init__(self, reset):
        self.inner = optax.lookahead(optax.adam(lr), 5, 0.4, reset)

    def init(self, p):
        both = optax.LookaheadParams(fast=p, slow=p)
        return both, self.inner.init(both)

    def step(self, g, state, p):
        both, inner = state
        change, inner = self.inner.update(g, inner, both)
        both = optax.apply_updates(both, change)
        return both.fast, (both, inner)


follow("lookahead", lambda: Lookahead(False), step=lambda o, g, s, p: o.step(g, s, p))
follow("lookahead_reset", lambda: Lookahead(True), step=lambda o, g, s, p: o.step(g, s, p))
follow("scale_by_lbfgs", lambda: down(transform.scale_by_lbfgs(memory_size=3)))
follow("scale_by_lbfgs_plain", lambda: down(transform.scale_by_lbfgs(memory_size=5, scale_init_precond=False)))

count = np.array([0, 1, 2, 5, 9, 10, 11, 20, 29, 30, 31, 50, 84, 85, 86, 99, 100, 101, 130, 500])
for name, schedule in (
    ("constant", optax.constant_schedule(0.3)),
    ("polynomial", optax.polynomial_schedule(0.1, 0.02, 2.5, 50, 10)),
    ("linear", optax.linear_schedule(0.1, 0.01, 100)),
    ("linear_constant", optax.linear_schedule(0.1, 0.01, 0)),
    ("exponential_decay", optax.exponential_decay(0.1, 10, 0.5)),
    ("exponential_staircase", optax.exponential_decay(0.1, 10, 0.5, 5, True, 0.01)),
    ("exponential_growth", optax.exponential_decay(0.1, 10, 1.5, 0, False, 0.9)),
    ("exponential_constant", optax.exponential_decay(0.1, 10, 0.0, end_value=0.5)),
    ("cosine_decay", optax.cosine_decay_schedule(0.1, 100, alpha=0.05)),
    ("cosine_decay_exponent", optax.cosine_decay_schedule(0.1, 50, alpha=0.1, exponent=2.0)),
    ("piecewise_constant", optax.piecewise_constant_schedule(0.1, {30: 0.5, 10: 0.2, 100: 3.0})),
    ("piecewise_linear", optax.piecewise_interpolate_schedule("linear", 0.1, {30: 0.5, 10: 2.0, 100: 0.1})),
    ("piecewise_cosine", optax.piecewise_interpolate_schedule("cosine", 0.1, {30: 0.5, 10: 2.0, 100: 0.1})),
    ("linear_onecycle", optax.linear_onecycle_schedule(100, 0.5)),
    ("linear_onecycle_options", optax.linear_onecycle_schedule(97, 0.5, 0.2, 0.7, 10.0, 100.0)),
    ("cosine_onecycle", optax.cosine_onecycle_schedule(100, 0.5)),
    ("warmup_constant", optax.warmup_constant_schedule(0.01, 0.1, 20)),
    ("warmup_cosine_decay", optax.warmup_cosine_decay_schedule(0.0, 0.1, 10, 100, 0.001)),
    ("warmup_exponential_decay", optax.warmup_exponential_decay_schedule(0.0, 0.1, 10, 20, 0.8, 5, True, 0.04)),
    ("join", optax.join_schedules([optax.constant_schedule(0.1), optax.linear_schedule(0.5, 0.1, 20), optax.cosine_decay_schedule(0.3, 40)], [10, 30])),
    ("sgdr", optax.sgdr_schedule([{"init_value": 0.0, "peak_value": 0.1, "warmup_steps": 5, "decay_steps": 30, "end_value": 0.01}, {"init_value": 0.01, "peak_value": 0.05, "warmup_steps": 10, "decay_steps": 60}])),
):  # fmt: skip
    w.case("schedule", {"name": name}, count=count, value=np.array([np.float64(schedule(jnp.asarray(c))) for c in count]))

x = np.array([0.7, -1.5, 0.2, 3.0, -0.1, 0.0])
other = np.array([0.5, 1.0, -2.0, 0.25, 0.0, 1.5])
inside = x / 20
for name, project in (
    ("non_negative", optax.projections.projection_non_negative),
    ("box", lambda x: optax.projections.projection_box(x, -0.5 * jnp.ones(6), jnp.asarray(np.abs(other)))),
    ("hypercube", lambda x: optax.projections.projection_hypercube(x, 0.6)),
    ("simplex", optax.projections.projection_simplex),
    ("simplex_scale", lambda x: optax.projections.projection_simplex(x, 2.5)),
    ("l1_sphere", lambda x: optax.projections.projection_l1_sphere(x, 1.5)),
    ("l1_ball", lambda x: optax.projections.projection_l1_ball(x, 1.5)),
    ("l2_sphere", lambda x: optax.projections.projection_l2_sphere(x, 1.5)),
    ("l2_ball", lambda x: optax.projections.projection_l2_ball(x, 1.5)),
    ("linf_ball", lambda x: optax.projections.projection_linf_ball(x, 0.6)),
    ("vector", lambda x: optax.projections.projection_vector(x, jnp.asarray(other))),
    ("hyperplane", lambda x: optax.projections.projection_hyperplane(x, jnp.asarray(other), 0.7)),
    ("halfspace", lambda x: optax.projections.projection_halfspace(x, jnp.asarray(other), -0.7)),
):  # fmt: skip
    for at in (x, inside):
        w.case("projection", {"name": name}, x=at, other=other, result=np.asarray(project(jnp.asarray(at))),
               gradient=np.asarray(jax.grad(lambda v: jnp.vdot(project(v), jnp.asarray(other)))(jnp.asarray(at))))  # fmt: skip

A = np.array([[3.0, 0.5, -0.2], [0.5, 1.0, 0.1], [-0.2, 0.1, 0.25]])
B = np.array([1.0, -2.0, 0.5])


def quadratic(x):
    return 0.5 * x @ jnp.asarray(A) @ x - jnp.asarray(B) @ x


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


for objective, f, x0 in (("quadratic", quadratic, np.array([4.0, -3.0, 2.0])), ("rosenbrock", rosenbrock, np.array([-1.2, 1.0, 0.7]))):  # fmt: skip
    extra = {"A": A, "b": B} if objective == "quadratic" else {}
    r = minimize(f, x0, jac=jax.grad(f), method="BFGS", options={"gtol": 1e-10})
    w.case("minimum", {"objective": objective}, x0=x0, x=r.x, value=np.float64(r.fun), **extra)
    assert np.abs(np.asarray(jax.grad(f)(r.x))).max() < 1e-7
    for search, rows in (("zoom", None), ("backtracking", optax.scale_by_backtracking_linesearch(30))):
        optimizer = optax.lbfgs() if rows is None else optax.lbfgs(linesearch=rows)
        p = jnp.asarray(x0)
        state, points = optimizer.init(p), []
        for _ in range(25):
            value, g = jax.value_and_grad(f)(p)
            change, state = optimizer.update(g, state, p, value=value, grad=g, value_fn=f)
            p = optax.apply_updates(p, change)
            points.append(np.asarray(p))
        w.case("lbfgs", {"objective": objective, "search": search}, x0=x0, x=np.array(points), **extra)
w.write()
