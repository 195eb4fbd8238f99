"""Interpolations of data by Diffrax: what is missing filled in, values, increments and derivatives."""

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
Interpolations of the data `ys` [n, channels] at times `ts`, in which NaN is missing.

`end` says whether values at the end are filled forwards, `start` what takes the place of NaN in the first row (if it is
there), `deriv0` the derivative there (if it is there). `linear` is linear_interpolation, `rectilinear_ts` and `rectilinear`
are rectilinear_interpolation, `d`, `c`, `b`, `a` are backward_hermite_coefficients. `at` are times, knots and times beyond the ends among them: `linear_values`,
`linear_right` (from the right), `linear_slopes`, `linear_slopes_right`, and the same of the cubic; `increments` are those
of the cubic from each time to the next. There are no cases of two faults of Diffrax: it fills nothing forwards where the
only value of a channel is in the first row, and `start` takes the place of first values that are there, in cubics.
"""

w = records.Writer(__file__, "interpolation.txt", ABOUT, ("jax", "diffrax", "equinox", "numpy"))
TS = np.array([0.0, 0.5, 0.7, 1.9, 2.0, 3.25, 4.0])
AT = np.array([-0.3, 0.0, 0.2, 0.5, 0.61, 1.0, 1.9, 1.99, 2.0, 3.0, 3.25, 3.9, 4.0, 4.5])
YS = np.stack([np.sin(1.3 * TS) + 0.1 * TS**2, np.cos(TS) - TS, 1.0 / (1.0 + TS), np.exp(-TS)], axis=1)


def case(name, ys, end=False, start=None, deriv0=None, ts=TS, at=AT):
    more = {} if start is None else {"replace_nans_at_start": jnp.asarray(start)}
    linear = diffrax.linear_interpolation(ts, ys, fill_forward_nans_at_end=end, **more)
    rectilinear_ts, rectilinear = diffrax.rectilinear_interpolation(ts, ys, **more)
    d, c, b, a = diffrax.backward_hermite_coefficients(
        ts, ys, fill_forward_nans_at_end=end, **more,
        **({} if deriv0 is None else {"deriv0": jnp.asarray(deriv0)}),
    )  # fmt: skip
    fields = dict(ts=ts, ys=ys, at=at, linear=linear, rectilinear_ts=rectilinear_ts, rectilinear=rectilinear, d=d, c=c, b=b, a=a)
    if start is not None:
        fields["start"] = np.asarray(start)
    if deriv0 is not None:
        fields["deriv0"] = np.asarray(deriv0)
    paths = {"linear": diffrax.LinearInterpolation(ts, linear), "cubic": diffrax.CubicInterpolation(ts, (d, c, b, a))}
    for kind, path in paths.items():
        for side, left in (("", True), ("_right", False)):
            values = jax.vmap(lambda t: path.evaluate(t, left=left))(at)
            fields[f"{kind}_{'values' if left else 'right'}"] = values
            fields[f"{kind}_slopes{side}"] = jax.vmap(lambda t: path.derivative(t, left=left))(at)
    fields["increments"] = jax.vmap(lambda t, u: paths["cubic"].evaluate(t, u))(at[:-1], at[1:])
    w.case(name, text={"end": int(end)}, **{k: np.asarray(v) for k, v in fields.items()})


def without(*places):
    ys = YS.copy()
    for place in places:
        ys[place] = np.nan
    return ys


case("complete", YS)
case("deriv0", YS, deriv0=np.array([0.5, -1.0, 2.0, 0.0]))
inside = without((2, 0), (3, 0), (1, 1), (3, 1), (5, 2))
case("inside", inside)
case("inside_deriv0", inside, deriv0=0.25)
both = without((0, 0), (1, 0), (6, 1), (5, 1), (0, 2), (2, 2), (6, 2))
case("ends", both)
case("ends_filled", both, end=True)
start = both.copy()
start[0] = np.nan
case("ends_replaced", start, start=np.array([0.1, 0.2, 0.3, 0.4]))
case("ends_replaced_filled", start, end=True, start=0.75)
case("nothing", np.full((7, 2), np.nan))
case("two_times", YS[:2], ts=TS[:2], at=np.array([0.0, 0.3, 0.5]))
case("single", inside.astype(np.float32), ts=TS.astype(np.float32), at=AT.astype(np.float32))
w.write()
