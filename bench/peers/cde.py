"""cde/*: a training step of a neural controlled differential equation, as in Diffrax's example."""

import common
import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, POINTS, CHANNELS, HIDDEN, WIDTH = 32, 100, 3, 8, 128


class NeuralCDE(eqx.Module):
    initial: eqx.nn.MLP
    field: eqx.nn.MLP
    readout: eqx.nn.Linear

    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.initial = eqx.nn.MLP(CHANNELS, HIDDEN, WIDTH, 1, jax.nn.softplus, key=a)
        self.field = eqx.nn.MLP(HIDDEN, HIDDEN * CHANNELS, WIDTH, 1, jax.nn.softplus, jnp.tanh, key=b)
        self.readout = eqx.nn.Linear(HIDDEN, "scalar", key=c)

    def __call__(self, ts, seen):
        path = diffrax.CubicInterpolation(ts, diffrax.backward_hermite_coefficients(ts, seen))
        term = diffrax.ControlTerm(lambda t, z, args: self.field(z).reshape(HIDDEN, CHANNELS), path).to_ode()
        end = diffrax.diffeqsolve(
            term, diffrax.Tsit5(), ts[0], ts[-1], ts[1] - ts[0], self.initial(path.evaluate(ts[0])),
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
        ).ys[-1]  # fmt: skip
        return self.readout(end)


def data():
    """Spirals from all around the unit circle, every other one the other way."""
    ts = np.linspace(0.0, 4 * np.pi, POINTS)
    k = np.arange(BATCH, dtype=np.float64)[:, None]
    turns = k % 2
    angle = k * (2 * np.pi / BATCH) + (1 - 2 * turns) * ts
    radius, time = np.exp(-0.1 * ts), np.broadcast_to(ts, (BATCH, POINTS))
    paths = np.stack([time, radius * np.cos(angle), radius * np.sin(angle)], 2)
    return [jnp.asarray(a, jnp.float32) for a in (ts, paths, turns[:, 0])]


def train():
    ts, paths, turns = data()
    model = NeuralCDE(jax.random.key(0))
    optimizer = optax.adam(1e-3)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state, ts, paths, turns):
        def loss(model):
            logits = jax.vmap(model, in_axes=(None, 0))(ts, paths)
            return jnp.mean(optax.sigmoid_binary_cross_entropy(logits, turns))

        value, gradient = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(gradient, state)
        return value, eqx.apply_updates(model, updates), state

    losses = []
    for _ in range(5):
        value, model, state = step(model, state, ts, paths, turns)
        losses.append(value)
    # From here on the same step again and again, so that both sides time the same work.
    time, _ = common.median_seconds(lambda: step(model, state, ts, paths, turns), budget=2.0)
    common.emit("cde/spiral-step", "ms", time * 1e3, "diffrax + optax", losses)


if __name__ == "__main__":
    common.main({"cde": train})
