"""Values and gradients of linear algebra: jax.numpy.linalg, jax.lax.linalg and jax.scipy.linalg. Signs of eigenvectors and
singular vectors are those of a build of LAPACK: recorded is what does not depend on them."""

import sys

import jax.numpy as jnp
import jax.lax.linalg as lax
import jax.scipy.linalg as jsl
import numpy as np
import records
import scipy.linalg
from make_array import FLOATS, FORMAT, INF, NAN, record

rng = np.random.default_rng(17)
TYPES = (*FLOATS, np.complex128, np.complex64)


def numbers_of(t, *shape):
    return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if np.issubdtype(t, np.complexfloating) else 0)


def normal(t, *shape):
    return np.asarray(numbers_of(t, *shape), t)


def nan_of(t):
    return complex(NAN, NAN) if np.issubdtype(t, np.complexfloating) else NAN


def definite(t, *shape):
    """Symmetric, with eigenvalues from 1 to about 2 n."""
    a = numbers_of(t, *shape)
    n = shape[-1]
    return np.asarray(a @ np.swapaxes(a, -1, -2).conj() / max(n, 1) + np.eye(n), t)


def square(t, *shape):
    """Well-conditioned, with exchanges of rows."""
    n = shape[-1]
    return np.asarray(numbers_of(t, *shape) + 3 * np.eye(n)[::-1], t)


def symmetric(t, *shape):
    """With eigenvalues about 1 apart."""
    n = shape[-1]
    a = numbers_of(t, *shape) / 4 + np.diag(np.arange(n) - 0.3)
    return np.asarray((a + np.swapaxes(a, -1, -2).conj()) / 2, t)


def decompositions(w):
    for t in TYPES:
        for shape in ((0, 0), (1, 1), (3, 3), (2, 4, 4)):
            for upper in (0, 1):
                record(w, "cholesky", lambda a: jnp.linalg.cholesky(a, upper=bool(upper)), definite(t, *shape), upper=upper, symmetrize=1)
        lower = np.tril(definite(t, 3, 3)) + np.triu(normal(t, 3, 3), 1)
        record(w, "cholesky", lambda a: jnp.linalg.cholesky(a, symmetrize_input=False), lower, grad=False, upper=0, symmetrize=0)
        for special in (-1.0, 0.0, NAN):
            bad = np.array([[[4, 1], [1, 3]], [[1, special], [special, special]]], t)
            good = np.linalg.cholesky(bad[0])
            none = np.array([[nan_of(t), 0], [nan_of(t), nan_of(t)]], t)  # JAX's, but for NaN, which it does not spread over all of the factor
            record(w, "cholesky", jnp.linalg.cholesky, bad, grad=False, y=np.stack([good, none]), upper=0, symmetrize=1)
        for shape in ((0, 0), (0, 2), (1, 1), (3, 3), (4, 2), (2, 4), (2, 3, 3)):
            a = normal(t, *shape)
            record(w, "lu_factor", lax.lu, a, grad=a.size > 0)
            if a.ndim == 2 and a.size > 0:
                record(w, "lu", jsl.lu, a)
        for shape in ((1, 1), (3, 3), (4, 2), (2, 4), (2, 4, 3)):
            record(w, "qr", lambda a: lax.qr(a, full_matrices=False), normal(t, *shape), full=0)
        record(w, "qr", lambda a: lax.qr(a, full_matrices=True), normal(t, 4, 2), grad=False, full=1)
        record(w, "qr", lambda a: lax.qr(a, full_matrices=True), normal(t, 2, 4), full=1)
        record(w, "qr", lambda a: jnp.linalg.qr(a, "complete"), np.zeros((3, 0), t), grad=False, full=1)
        for shape in ((0, 0), (1, 1), (3, 3), (2, 4, 4)):
            record(w, "eigh", eigh_invariants, symmetric(t, *shape), grad=shape != (0, 0))
            record(w, "eigvalsh", jnp.linalg.eigvalsh, symmetric(t, *shape), grad=shape != (0, 0))
        record(w, "eigvalsh", jnp.linalg.eigvalsh, np.eye(3, dtype=t), smooth=False)
        for special in (NAN, INF):
            record(w, "eigvalsh", jnp.linalg.eigvalsh, np.array([[1, special], [special, 1]], t), grad=False, y=np.full(2, NAN, t).real)
        for shape in ((1, 1), (3, 3), (4, 2), (2, 4), (2, 3, 4)):
            record(w, "svd", svd_invariants, normal(t, *shape))
            record(w, "svdvals", jnp.linalg.svdvals, normal(t, *shape))
        record(w, "svdvals", jnp.linalg.svdvals, np.zeros((0, 3), t), grad=False)
        record(w, "svdvals", jnp.linalg.svdvals, np.array([[NAN, 1], [1, 1]], t), grad=False)
        record(w, "svdvals", jnp.linalg.svdvals, np.ones((3, 2), t), grad=False)
    for integer in (np.int64, np.int32):
        record(w, "cholesky", jnp.linalg.cholesky, np.array([[4, 1], [1, 3]], integer), upper=0, symmetrize=1)
        record(w, "eigvalsh", jnp.linalg.eigvalsh, np.array([[4, 1], [1, 3]], integer))


def eigh_invariants(a):
    w, v = jnp.linalg.eigh(a)
    return w, jnp.abs(v), (v * jnp.sin(w)[..., None, :]) @ v.mT.conj()


def svd_invariants(a):
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    return s, jnp.abs(u), jnp.abs(vh), (u * jnp.sin(s)[..., None, :]) @ vh


def lstsq(a, b, with_residuals, rcond=None):
    x, residuals, rank, s = jnp.linalg.lstsq(a, b, rcond=rcond)
    return (x, rank, s, residuals) if with_residuals else (x, rank, s)


def solves(w):
    for t in TYPES:
        for a, b in (((1, 1), (1,)), ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 2)), ((2, 3, 3), (3, 1)), ((3, 3), (2, 3, 2)), ((2, 3, 3), (3,)), ((0, 0), (0, 2)), ((3, 3), (3, 0))):
            x, y = square(t, *a), normal(t, *b)
            some = x.size > 0 and y.size > 0
            record(w, "solve", jnp.linalg.solve, x, y, grad=some)
            if a not in ((3, 3), (2, 3, 3)) or y.ndim > 2 or not some:
                continue
            for trans in (0, 1):
                record(w, "lu_solve", lambda a, b: jsl.lu_solve(jsl.lu_factor(a), b, trans=trans), x, y, grad=some, transpose=trans)
                for low in (0, 1):
                    for unit in (0, 1):
                        record(w, "solve_triangular", lambda a, b: jsl.solve_triangular(a, b, trans=trans, lower=bool(low), unit_diagonal=bool(unit)), x + 2 * np.eye(x.shape[-1], dtype=t), y, grad=some, transpose=trans, lower=low, unit=unit)
            for low in (0, 1):
                record(w, "cho_solve", lambda a, b: jsl.cho_solve((jnp.linalg.cholesky(a, upper=not low), bool(low)), b), definite(t, *a), y, grad=some, lower=low)
        record(w, "triangular_solve", lambda a, b: lax.triangular_solve(a, b, left_side=False, lower=True), square(t, 3, 3) + 3 * np.eye(3, dtype=t), normal(t, 2, 3), left=0, lower=1)
        for n in (1, 2, 5):
            d = [normal(t, n), normal(t, n) + t(4), normal(t, n), normal(t, n, 2)]
            d[0][0] = d[2][-1] = 0
            record(w, "tridiagonal_solve", lax.tridiagonal_solve, *d)
        for shape in ((0, 0), (1, 1), (4, 4), (2, 3, 3)):
            record(w, "inv", jnp.linalg.inv, square(t, *shape), grad=shape != (0, 0))
        singular = np.array([[1, 2], [2, 4]], t)
        record(w, "solve", jnp.linalg.solve, singular, np.array([1, 2.5], t), grad=False)
        record(w, "tensorinv", lambda a: jnp.linalg.tensorinv(a, 2), square(t, 6, 6).reshape(2, 3, 3, 2), ind=2)
        record(w, "tensorinv", lambda a: jnp.linalg.tensorinv(a, 1), square(t, 6, 6).reshape(6, 3, 2), ind=1)
        record(w, "tensorsolve", jnp.linalg.tensorsolve, square(t, 6, 6).reshape(2, 3, 6), normal(t, 2, 3), axes="")
        record(w, "tensorsolve", lambda a, b: jnp.linalg.tensorsolve(a, b, axes=(0,)), square(t, 6, 6).reshape(6, 2, 3), normal(t, 2, 3), axes=0)
        for a, b in (((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2, 3)), ((3, 3), (3, 1))):
            tall = a[0] > a[1]  # otherwise residuals are rounding errors
            record(w, "lstsq", lambda a, b: lstsq(a, b, tall), normal(t, *a), normal(t, *b), residuals=int(tall))
        low_rank = np.array([[1, 0], [0, 1], [1, 1], [1, -1]], t) @ np.array([[1, 2, 0], [0, 1, 1]], t)
        record(w, "lstsq", lambda a, b: lstsq(a, b, True, 1e-4), low_rank, normal(t, 4, 2), grad=False, rtol=4, residuals=1)
        record(w, "lstsq", lambda a, b: lstsq(a, b, True), np.zeros((3, 2), t), normal(t, 3, 1), grad=False, residuals=1)
        for shape in ((1, 1), (4, 2), (2, 4), (2, 3, 3)):
            # One of the stack is so ill-conditioned that differences are off.
            record(w, "pinv", jnp.linalg.pinv, normal(t, *shape), smooth=False if len(shape) == 3 else None)
        record(w, "pinv", lambda a: jnp.linalg.pinv(a, rtol=1e-4), low_rank, smooth=False, rtol=4)
        record(w, "pinv", jnp.linalg.pinv, np.eye(3, dtype=t))
        record(w, "pinv", jnp.linalg.pinv, np.zeros((0, 3), t), grad=False)


def numbers(w):
    for t in TYPES:
        for n in (0, 1, 2, 3, 4, 6):
            record(w, "det", jnp.linalg.det, square(t, n, n), grad=n > 0)
            record(w, "slogdet", jnp.linalg.slogdet, square(t, n, n), grad=n > 0)
        record(w, "det", jnp.linalg.det, square(t, 2, 4, 4))
        record(w, "slogdet", jnp.linalg.slogdet, square(t, 2, 3, 3))
        exact = np.array([[1, 2, 3, 4], [2, 4, 6, 8], [0, 1, 0, 1], [0, 0, 1, 3]], t)  # its zero pivot is exact
        record(w, "det", jnp.linalg.det, exact, smooth=False)
        record(w, "det", jnp.linalg.det, np.zeros((4, 4), t), smooth=False)
        record(w, "slogdet", jnp.linalg.slogdet, exact, grad=False)
        record(w, "slogdet", jnp.linalg.slogdet, np.full((2, 2), NAN, t), grad=False)
        x = normal(t, 2, 3, 4)
        for order in (2, 1, 3, -2, 0, 0.5, INF, -INF):
            for axis in ((), (1,), (0, 2)):
                record(w, "vector_norm", lambda v: jnp.linalg.vector_norm(v, ord=order, axis=axis or None), x, ord=order, axis=axis, keepdims=0, grad=order != 0)
        record(w, "vector_norm", lambda v: jnp.linalg.vector_norm(v, axis=1, keepdims=True), x, ord=2, axis=1, keepdims=1)
        record(w, "vector_norm", lambda v: jnp.linalg.vector_norm(v, axis=0, ord=INF), np.zeros((0, 2), t), grad=False, ord=INF, axis=0, keepdims=0)
        for order in ("fro", "nuc", 1, -1, 2, -2, INF, -INF):
            for keep in (0, 1):
                record(w, "matrix_norm", lambda v: jnp.linalg.matrix_norm(v, ord=order, keepdims=bool(keep)), x, ord=order, keepdims=keep)
            if order not in (2, -2):
                record(w, "cond", lambda v: jnp.linalg.cond(v, order), square(t, 3, 3), ord=order)
        record(w, "cond", jnp.linalg.cond, normal(t, 4, 2), ord=2)
        record(w, "cond", lambda v: jnp.linalg.cond(v, -2), normal(t, 2, 4), ord=-2)
        record(w, "cond", lambda v: jnp.linalg.cond(v, 1), np.array([[1, 2], [2, 4]], t), grad=False, ord=1)
        for rank in (np.zeros((3, 2), t), np.eye(3, dtype=t), np.diag(np.array([1, 2, 0], t)), normal(t, 2, 3, 4), np.zeros((0, 2), t)):
            if rank.size:
                record(w, "matrix_rank", jnp.linalg.matrix_rank, rank, grad=False)
        record(w, "trace", lambda v: jnp.linalg.trace(v, offset=1), x, offset=1)
        record(w, "diagonal", lambda v: jnp.linalg.diagonal(v, offset=-1), x, offset=-1)


def functions(w):
    for t in TYPES:
        for n in (-3, -1, 0, 1, 2, 3, 7):
            record(w, "matrix_power", lambda a: jnp.linalg.matrix_power(a, n), square(t, 3, 3) / t(3), n=n)
        record(w, "matrix_power", lambda a: jnp.linalg.matrix_power(a, 2), normal(t, 2, 3, 3), n=2)
        record(w, "multi_dot", lambda *a: jnp.linalg.multi_dot(a), normal(t, 2, 3), normal(t, 3, 4), normal(t, 4, 2), normal(t, 2, 5))
        record(w, "multi_dot", lambda *a: jnp.linalg.multi_dot(a), normal(t, 3), normal(t, 3, 4), normal(t, 4))
        record(w, "multi_dot", lambda *a: jnp.linalg.multi_dot(a), normal(t, 2, 3), normal(t, 3))
        for size in (1e-9, 0.01, 0.2, 0.9, 2.0, 5.0, 20.0):
            record(w, "expm", jsl.expm, np.asarray(normal(t, 3, 3) * size / 2, t))
        record(w, "expm", jsl.expm, np.zeros((2, 2), t))
        record(w, "expm", jsl.expm, np.zeros((0, 0), t), grad=False, y=np.zeros((0, 0), t))
        record(w, "expm", jsl.expm, np.asarray(normal(t, 2, 3, 3) * np.array([0.1, 10.0])[:, None, None], t))
        record(w, "expm", jsl.expm, np.array([[0, 1], [NAN, 0]], t), grad=False, y=np.full((2, 2), nan_of(t), t))
        record(w, "block_diag", jsl.block_diag, normal(t, 2, 3), t(1.5), normal(t, 2), normal(t, 0, 1))
        record(w, "toeplitz", jsl.toeplitz, normal(t, 3), normal(t, 4), one=0)
        record(w, "toeplitz", jsl.toeplitz, normal(t, 2, 3), one=1)
        record(w, "toeplitz", jsl.toeplitz, normal(t, 1), normal(t, 1), one=0)


def from_bands(ab, upper):
    """The matrix that scipy.linalg.solve_banded reads, written out."""
    rows, n = ab.shape[-2:]
    i, j = jnp.indices((n, n))
    row = upper + i - j
    return jnp.where((row >= 0) & (row < rows), ab[..., jnp.clip(row, 0, rows - 1), j], 0)


def banded(w):
    for t in TYPES:
        for n, lower, upper in ((1, 0, 0), (1, 2, 1), (3, 0, 1), (4, 2, 0), (6, 1, 1), (6, 2, 3), (3, 4, 3)):
            ab, b = normal(t, lower + 1 + upper, n), normal(t, n, 2)
            ab[upper] += 4
            if n > max(lower, upper):  # SciPy refuses wider bands
                np.testing.assert_allclose(scipy.linalg.solve_banded((lower, upper), ab, b), jnp.linalg.solve(from_bands(ab, upper), b), 1e-5)
            record(w, "solve_banded", lambda a, b: jnp.linalg.solve(from_bands(a, upper), b), ab, b, lower=lower, upper=upper)
        ab = normal(t, 2, 4, 5) + np.array([[0], [4], [0], [0]], t)
        for b in (normal(t, 5), normal(t, 2, 5, 3), normal(t, 5, 1)):
            record(w, "solve_banded", lambda a, b: jnp.linalg.solve(from_bands(a, 1), b), ab, b, lower=2, upper=1)
        record(w, "solve_banded", lambda a, b: jnp.linalg.solve(from_bands(a, 1), b), np.zeros((3, 0), t), np.zeros((0, 2), t), grad=False, lower=1, upper=1)


if __name__ == "__main__":
    writer = records.Writer(__file__, "array_linalg.txt", "Linear algebra.\n" + FORMAT.strip())
    for family in (decompositions, solves, numbers, functions, banded):
        family(writer)
    writer.write()
    sys.exit(0)
