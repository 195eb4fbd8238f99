"""robertson/*, pollution/*: stiff chemistry of 3 and 20 equations, by Kvaerno5."""

import common
import diffrax
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
END = 1e5
LANES = 500  # of the ensemble; what is reported is the time of one


def robertson(t, y, slow):
    a, b, c = y
    first, last = slow * a - 1e4 * b * c, 3e7 * b * b
    return jnp.stack([-first, first - last, last])


def robertson_end(slow):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(robertson), diffrax.Kvaerno5(), 0.0, END, None, jnp.array([1.0, 0.0, 0.0]), slow,
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-10),
    ).ys[0]  # fmt: skip


def solve():
    time, y = common.median_seconds(jax.jit(robertson_end), jnp.array(0.04))
    common.emit("robertson/solve", "us", time * 1e6, "diffrax Kvaerno5", y)


def first():
    common.warm_compiler()
    time, y = common.seconds(jax.jit(robertson_end), jnp.array(0.04))
    common.emit("robertson/first-call", "ms", time * 1e3, "diffrax", y)


def ensemble():
    all_of_them = 0.02 + 0.04 * jnp.arange(10_000.0) / 9999.0
    some = all_of_them[:: 10_000 // LANES]
    time, ends = common.median_seconds(jax.jit(jax.vmap(robertson_end)), some, least=1)
    step = 4000 * LANES // 10_000
    common.emit("robertson/ensemble", "us/solve", time * 1e6 / LANES, "diffrax", ends[jnp.array([0, step, 2 * step])])


def pollution_slope(t, y, args):
    y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, y18, y19, y20 = y
    r1, r2, r3, r4, r5 = 0.35 * y1, 26.6 * y2 * y4, 12300.0 * y5 * y2, 0.00086 * y7, 0.00082 * y7
    r6, r7, r8, r9, r10 = 15000.0 * y7 * y6, 0.00013 * y9, 24000.0 * y9 * y6, 16500.0 * y11 * y2, 9000.0 * y11 * y1
    r11, r12, r13, r14, r15 = 0.022 * y13, 12000.0 * y10 * y2, 1.88 * y14, 16300.0 * y1 * y6, 4.8e6 * y3
    r16, r17, r18, r19, r20 = 0.00035 * y4, 0.0175 * y4, 1e8 * y16, 4.44e11 * y16, 1240.0 * y17 * y6
    r21, r22, r23, r24, r25 = 2.1 * y19, 5.78 * y19, 0.0474 * y1 * y4, 1780.0 * y19 * y1, 3.12 * y20
    return jnp.stack([
        -r1 - r10 - r14 - r23 - r24 + r2 + r3 + r9 + r11 + r12 + r22 + r25, -r2 - r3 - r9 - r12 + r1 + r21,
        -r15 + r1 + r17 + r19 + r22, -r2 - r16 - r17 - r23 + r15, -r3 + 2 * r4 + r6 + r7 + r13 + r20,
        -r6 - r8 - r14 - r20 + r3 + 2 * r18, -r4 - r5 - r6 + r13, r4 + r5 + r6 + r7, -r7 - r8, -r12 + r7 + r9,
        -r9 - r10 + r8 + r11, r9, -r11 + r10, -r13 + r12, r14, -r18 - r19 + r16, -r20, r20,
        -r21 - r22 - r24 + r23 + r25, -r25 + r24,
    ])  # fmt: skip


def pollution():
    @jax.jit
    def run(y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(pollution_slope), diffrax.Kvaerno5(), 0.0, 60.0, None, y0,
            stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-10),
        ).ys[0]  # fmt: skip

    y0 = jnp.zeros(20).at[jnp.array([1, 3, 6, 7, 8, 16])].set(jnp.array([0.2, 0.04, 0.1, 0.3, 0.01, 0.007]))
    time, y = common.median_seconds(run, y0)
    common.emit("pollution/solve", "us", time * 1e6, "diffrax Kvaerno5", y[jnp.array([0, 1, 3, 6, 7, 14])])


if __name__ == "__main__":
    common.main({"robertson": solve, "robertson-first": first, "robertson-ensemble": ensemble, "pollution": pollution})
