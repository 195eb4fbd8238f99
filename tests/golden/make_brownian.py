"""Brownian paths by Diffrax: values and Lévy areas of virtual trees at many times."""

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
VirtualBrownianTree by Diffrax, with text levy: none, space_time or space_time_time. Fields: seed, t0, t1, tol, and times [n, 2], of
whose intervals the increments w and, where there are, h and k are given. Leaves of a path are numbered: w0, w1, ….
Text shape: `vector` is f64[3], `scalar` f64[], `tree` a tuple of f64[2] and f64[2, 2].
Times of cases with text times = nodes are ends of halved intervals; with LevyArea.space_time_time there alone values are Diffrax's.
"""

LEVY = {
    "none": diffrax.BrownianIncrement,
    "space_time": diffrax.SpaceTimeLevyArea,
    "space_time_time": diffrax.SpaceTimeTimeLevyArea,
}
f64 = jnp.float64
SHAPES = {
    "vector": (jax.ShapeDtypeStruct((3,), f64),),
    "scalar": (jax.ShapeDtypeStruct((), f64),),
    "tree": (jax.ShapeDtypeStruct((2,), f64), jax.ShapeDtypeStruct((2, 2), f64)),
}

w = records.Writer(__file__, "brownian.txt", ABOUT, ("jax", "diffrax", "equinox", "numpy"))


def case(levy, shape, times_kind, seed, t0, t1, tol):
    structs = SHAPES[shape]
    structure = structs if len(structs) > 1 else structs[0]
    path = diffrax.VirtualBrownianTree(t0, t1, tol, structure, jax.random.key(seed), LEVY[levy])
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, 65, (10, 2)) / 64 if times_kind == "nodes" else rng.random((10, 2))
    parts = np.concatenate([parts, [[0.0, 1.0], [0.0, parts[0, 1]], [parts[1, 0], 1.0]]])
    parts = parts[parts[:, 0] != parts[:, 1]]
    times = np.sort(t0 + (t1 - t0) * parts, axis=1)
    step = jax.jit(jax.vmap(lambda a, b: path.evaluate(a, b, use_levy=True)))(times[:, 0], times[:, 1])
    fields = {}
    for part in ("W", "H", "K"):
        if hasattr(step, part):
            for i, leaf in enumerate(jax.tree_util.tree_leaves(getattr(step, part))):
                fields[f"{part.lower()}{i}"] = leaf
    w.case(
        f"{levy}_{shape}_{times_kind}", {"levy": levy, "shape": shape, "times": times_kind},
        seed=np.int64(seed), t0=np.float64(t0), t1=np.float64(t1), tol=np.float64(tol), times=times, **fields,
    )  # fmt: skip


seed = 10
for levy in LEVY:
    for shape in SHAPES:
        for times_kind in ("nodes",) if levy == "space_time_time" else ("nodes", "any"):
            seed += 1
            case(levy, shape, times_kind, seed, *((0.0, 1.0, 1e-3) if times_kind == "nodes" else (-0.5, 2.0, 0.01)))
w.write()
