"""The promotion table of JAX: 15 dtypes and the three weak scalar kinds, as the result of jnp.add."""

import records
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
Type promotion of two operands. One line a pair: LEFT RIGHT RESULT WEAK.
int*, float* and complex* are weakly typed scalars (Python numbers); WEAK is 1 where the result is weakly typed.
u64 with a signed integer is JAX's weak default float, hence f64 1.
"""


def operand(name):
    weak = {"int*": np.int64, "float*": np.float64, "complex*": np.complex128}
    if name in weak:
        return jax.ShapeDtypeStruct((), weak[name], weak_type=True)
    return jax.ShapeDtypeStruct((), jnp.dtype(records.NUMPY_NAMES[name]))


w = records.Writer(__file__, "promotion.txt", ABOUT)
names = list(records.NUMPY_NAMES) + ["int*", "float*", "complex*"]
for a in names:
    for b in names:
        r = jax.eval_shape(jnp.add, operand(a), operand(b))
        w.lines.append(f"{a} {b} {records.DTYPES[r.dtype.name]} {int(r.weak_type)}")
w.write()
