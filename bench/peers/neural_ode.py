"""neural-ode/*: a training step of a neural differential equation, as in Diffrax's first example."""

import common
import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from call import mlp

BATCH, POINTS = 32, 100


class NeuralODE(eqx.Module):
    mlp: eqx.nn.MLP

    def __call__(self, ts, y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: self.mlp(y)), diffrax.Tsit5(), ts[0], ts[-1], ts[1] - ts[0], y0,
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6), saveat=diffrax.SaveAt(ts=ts),
        ).ys  # fmt: skip


def data():
    """Damped rotations from 32 starts on the unit circle, in closed form."""
    ts = np.linspace(0.0, 10.0, POINTS)
    angle = 2 * np.pi * np.arange(BATCH)[:, None] / BATCH + ts
    ys = np.exp(-0.1 * ts)[None, :, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    return jnp.asarray(ts, jnp.float32), jnp.asarray(ys, jnp.float32)


def problem():
    model = NeuralODE(mlp([2, 64, 64, 2], jax.nn.softplus))
    ts, ys = data()
    optimiser = optax.adabelief(3e-3)
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state, ts, ys):
        def loss(model):
            predicted = jax.vmap(model, in_axes=(None, 0))(ts, ys[:, 0])
            return jnp.mean((ys - predicted) ** 2)

        value, gradient = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimiser.update(gradient, state)
        return value, eqx.apply_updates(model, updates), state

    return step, model, state, ts, ys


def train():
    step, model, state, ts, ys = problem()
    losses = []
    for _ in range(5):
        value, model, state = step(model, state, ts, ys)
        losses.append(value)
    # From here on the same step again and again, so that both sides time the same work.
    time, _ = common.median_seconds(lambda: step(model, state, ts, ys), budget=2.0)
    for name in ("neural-ode/step", "neural-ode/step-lanes", "neural-ode/step-lockstep"):
        common.emit(name, "ms", time * 1e3, "diffrax + optax", losses)


def first():
    common.warm_compiler()
    step, *arguments = problem()
    time, (value, *_) = common.seconds(step, *arguments)
    common.emit("neural-ode/first-call", "ms", time * 1e3, "diffrax + optax", value)


if __name__ == "__main__":
    common.main({"neural-ode": train, "neural-ode-first": first})
