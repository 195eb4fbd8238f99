"""Trajectories of Optax's optimisers and end points of BFGS by SciPy."""

import records
import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.optimize import minimize

ABOUT = """
Optimisers by Optax: 30 steps from `x0`, `x` row k the parameters after k + 1 steps, `value` the objective there.
Objectives: quadratic 0.5 x'Ax - b'x (fields A, b); rosenbrock sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2.
Options of the optimiser are fields of its case. Defaults are Optax's (adam: b1 0.9, b2 0.999, eps 1e-8).
Schedules: `value` at `count`. minimum: the minimiser found by SciPy's BFGS with gtol 1e-10, and the value there.
"""

A = np.array([[3.0, 0.5, -0.2], [0.5, 1.0, 0.1], [-0.2, 0.1, 0.25]])
B = np.array([1.0, -2.0, 0.5])


def quadratic(x):
    return 0.5 * x @ jnp.asarray(A) @ x - jnp.asarray(B) @ x


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


OBJECTIVES = {"quadratic": (quadratic, np.array([4.0, -3.0, 2.0])), "rosenbrock": (rosenbrock, np.array([-1.2, 1.0, 0.7]))}
w = records.Writer(__file__, "optim.txt", ABOUT, ("jax", "optax", "scipy", "numpy"))


def trajectory(name, optimiser, dtype=np.float64, **options):
    for objective, (f, x0) in OBJECTIVES.items():
        x = jnp.asarray(x0, dtype)
        state, xs, values = optimiser.init(x), [], []
        for _ in range(30):
            updates, state = optimiser.update(jax.grad(f)(x), state, x)
            x = optax.apply_updates(x, updates)
            xs.append(np.asarray(x))
            values.append(np.asarray(f(x)))
        extra = {"A": A, "b": B} if objective == "quadratic" else {}
        w.case(name, {"objective": objective}, x0=np.asarray(x0, dtype), x=np.array(xs), value=np.array(values),
               **{k: np.float64(v) for k, v in options.items()}, **extra)  # fmt: skip


trajectory("sgd", optax.sgd(1e-3), learning_rate=1e-3)
trajectory("sgd", optax.sgd(1e-3, momentum=0.9), learning_rate=1e-3, momentum=0.9, nesterov=0)
trajectory("sgd", optax.sgd(1e-3, momentum=0.9, nesterov=True), learning_rate=1e-3, momentum=0.9, nesterov=1)
trajectory("adam", optax.adam(1e-2), learning_rate=1e-2, b1=0.9, b2=0.999, eps=1e-8)
trajectory("adam", optax.adam(1e-2), np.float32, learning_rate=1e-2, b1=0.9, b2=0.999, eps=1e-8)
trajectory("adam", optax.adam(3e-2, b1=0.8, b2=0.99, eps=1e-6), learning_rate=3e-2, b1=0.8, b2=0.99, eps=1e-6)
trajectory("adamw", optax.adamw(1e-2, weight_decay=0.05), learning_rate=1e-2, weight_decay=0.05)
trajectory("adabelief", optax.adabelief(1e-2), learning_rate=1e-2, b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16)
trajectory("rmsprop", optax.rmsprop(1e-2), learning_rate=1e-2, decay=0.9, eps=1e-8)
trajectory("clipped_sgd", optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(1e-2)), learning_rate=1e-2, max_norm=1.0)

count = np.array([0, 1, 5, 10, 50, 99, 100, 101, 500])
for name, schedule, options in (
    ("cosine_decay", optax.cosine_decay_schedule(0.1, 100, alpha=0.05), {"init": 0.1, "steps": 100, "alpha": 0.05}),
    ("exponential_decay", optax.exponential_decay(0.1, 10, 0.5), {"init": 0.1, "steps": 10, "rate": 0.5}),
    ("linear", optax.linear_schedule(0.1, 0.01, 100), {"init": 0.1, "end": 0.01, "steps": 100}),
    ("warmup_cosine", optax.warmup_cosine_decay_schedule(0.0, 0.1, 10, 100, 0.001), {"init": 0.0, "peak": 0.1, "warmup": 10, "steps": 100, "end": 0.001}),
):  # fmt: skip
    w.case(f"schedule_{name}", count=count, value=np.array([schedule(c) for c in count]), **{k: np.float64(v) for k, v in options.items()})

for objective, (f, x0) in OBJECTIVES.items():
    r = minimize(f, x0, jac=jax.grad(f), method="BFGS", options={"gtol": 1e-10})
    extra = {"A": A, "b": B} if objective == "quadratic" else {}
    w.case("minimum", {"objective": objective}, x0=x0, x=r.x, value=np.float64(r.fun), **extra)
    assert np.abs(np.asarray(jax.grad(f)(r.x))).max() < 1e-7
w.write()
