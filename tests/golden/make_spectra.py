"""Values and gradients of what eigenvalues and Schur's form serve for: jax.lax.linalg, jax.scipy.linalg, jnp.roots.

Recorded is what depends neither on the order of eigenvalues nor on the phases of vectors. References of sqrtm, logm and
solve_sylvester, which JAX has without derivatives or not at all, are made of eigenvectors and of one linear system."""

import sys

import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import records
import scipy.linalg
from jax.lax import linalg as lax
from make_array import FORMAT, INF, NAN, record
from make_linalg import TYPES, definite, normal


def eig(a):
    return lax.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)


def eig_invariants(a):
    w, v = eig(a)
    return (
        jnp.sin(w).sum(-1),
        (v * jnp.sin(w)[..., None, :]) @ jnp.linalg.inv(v),
        (jnp.abs(v) ** 2 * jnp.cos(w.real)[..., None, :]).sum(-1),
        (v.sum(-2) ** 2 * jnp.sin(w)).sum(-1),
    )


def function_of(f):
    def of(a):
        w, v = eig(a)
        return (v * f(w)[..., None, :]) @ jnp.linalg.inv(v)

    return of


def sylvester(a, b, c):
    m, n = c.shape[-2:]
    t = jnp.result_type(a, b, c)
    system = jnp.kron(a, jnp.eye(n, dtype=t)) + jnp.kron(jnp.eye(m, dtype=t), b.T)
    return jnp.linalg.solve(system, c.ravel()).reshape(m, n)


def polar(a, left):
    """As jsl.polar, which drops imaginary parts."""
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    return u @ vh, (u * s) @ u.T.conj() if left else (vh.T.conj() * s) @ vh


def complex_of(t):
    return np.result_type(t, np.complex64)


def spectra(w):
    for t in TYPES:
        for shape in ((1, 1), (2, 2), (4, 4), (2, 3, 3)):
            a = normal(t, *shape)
            record(w, "eig", eig_invariants, a)
            record(w, "eigvals", lambda a: jnp.sin(jnp.linalg.eigvals(a)).sum(-1), a)
        turn = np.array([[0.5, -1], [1, 0.5]], t)
        record(w, "eigvals", lambda a: jnp.sin(jnp.linalg.eigvals(a)).sum(-1), turn)
        record(w, "eigvals", lambda a: jnp.sin(jnp.linalg.eigvals(a)).sum(-1), np.zeros((0, 0), t), grad=False, y=np.zeros((), complex_of(t)))
        for special in (NAN, INF):
            record(w, "eigvals", jnp.linalg.eigvals, np.array([[1, special], [2, 1]], t), grad=False, y=np.asarray(complex(NAN, NAN), complex_of(t)))
        for n in (1, 2, 4, 6):
            record(w, "hessenberg", lambda a: jsl.hessenberg(a, calc_q=True), normal(t, n, n), grad=False)
    record(w, "eigvals", lambda a: jnp.sin(jnp.linalg.eigvals(a)).sum(-1), np.array([[1, 2], [3, 4]], np.int32))


def functions(w):
    for t in TYPES:
        real = not np.issubdtype(t, np.complexfloating)
        for a in (definite(t, 1, 1), definite(t, 3, 3), normal(t, 3, 3) + 4 * np.eye(3, dtype=t), normal(t, 2, 4, 4) / 3 + 2 * np.eye(4, dtype=t)):
            a = np.asarray(a, t)
            record(w, "sqrtm", function_of(jnp.sqrt), a)
            record(w, "logm", function_of(jnp.log), a)
        turned = np.array([[0.2, -1.5], [1.0, 0.3]], t)
        record(w, "sqrtm", function_of(jnp.sqrt), turned)
        record(w, "logm", function_of(jnp.log), turned)
        spread = np.asarray(np.diag([1e-6, 1.0, 1e5]) + np.diag([1.0, 2.0], 1), t)
        record(w, "sqrtm", scipy.linalg.sqrtm, spread, grad=False, y=np.asarray(scipy.linalg.sqrtm(spread.astype(np.complex128)), complex_of(t)))
        record(w, "logm", scipy.linalg.logm, np.eye(2, dtype=t), grad=False, y=np.zeros((2, 2), complex_of(t)))
        record(w, "logm", scipy.linalg.logm, np.diag(np.array([0, 1], t)), grad=False, y=np.full((2, 2), complex(NAN, NAN), complex_of(t)))
        negative = np.asarray(np.diag([-4.0, 9.0]), t)
        if real:
            record(w, "sqrtm", scipy.linalg.sqrtm, negative, grad=False, y=np.diag([2j, 3]).astype(complex_of(t)))
        for name in ("sqrtm", "logm"):
            record(w, name, scipy.linalg.sqrtm, np.zeros((0, 0), t), grad=False, y=np.zeros((0, 0), complex_of(t)))
        for m, n in ((1, 1), (3, 3), (2, 4), (4, 1)):
            a, b = normal(t, m, m) + 3 * np.eye(m), normal(t, n, n) + 3 * np.eye(n)
            record(w, "solve_sylvester", sylvester, np.asarray(a, t), np.asarray(b, t), normal(t, m, n))
        none = np.array([[1, 1], [0, -1]], t)
        record(w, "solve_sylvester", None, none, none, np.ones((2, 2), t), grad=False, y=np.full((2, 2), NAN if real else complex(NAN, NAN), t))
        for shape in ((3, 3), (4, 2)):
            for left in (0, 1):
                record(w, "polar", lambda a: polar(a, left), normal(t, *shape), left=left)
        record(w, "expm_frechet", jsl.expm_frechet, normal(t, 3, 3), normal(t, 3, 3))


def polynomials(w):
    for t in TYPES:
        for n in (2, 3, 5):
            record(w, "roots", lambda p: jnp.sin(jnp.roots(p, strip_zeros=False)).sum(), normal(t, n), strip=1, smooth=False)  # large roots: differences are off
        record(w, "roots", lambda p: jnp.sin(jnp.roots(p)).sum(), np.array([0, 0, 1, 2, 0], t), strip=1, grad=False)
        record(w, "roots", lambda p: jnp.nansum(jnp.sin(jnp.roots(p, strip_zeros=False))), np.array([0, 0, 1, 2, 5], t), strip=0, grad=False)
        for p in (np.zeros(0, t), np.ones(1, t), np.zeros(3, t)):
            record(w, "roots", lambda p: jnp.sin(jnp.roots(p)).sum(), p, strip=1, grad=False)
    for t in (np.float64, np.int32, np.complex128):
        for x in ([0, 0, 1, 2, 0], [0, 0, 0], [1, 2], [], [0, 1]):
            for side in ("fb", "f", "b"):
                x = np.array(x, t)
                w.case("trim_zeros", {"side": side, "size": -1}, x0=x, y0=np.trim_zeros(x, side))


def tridiagonal(d, e):
    a = jnp.diag(d) + jnp.diag(e, -1) + jnp.diag(e.conj(), 1)
    w, v = jnp.linalg.eigh(a, symmetrize_input=False)
    return w, (v * jnp.sin(w)) @ v.T.conj()


def functions_by_triangles(w):
    for t in TYPES:
        for a in (normal(t, 1, 1), normal(t, 3, 3), normal(t, 6, 6), np.diag(np.asarray([1, 2, 1], t)), np.zeros((0, 0), t)):
            for name in ("sin", "exp"):
                of = lambda a: scipy.linalg.funm(a, getattr(np, name)) if a.size else a  # noqa: E731
                record(w, "funm", of, a, grad=False, y=np.asarray(of(a.astype(np.complex128)), complex_of(t)), of=name)
        for n in (1, 2, 5):
            record(w, "eigh_tridiagonal", tridiagonal, normal(np.zeros(1, t).real.dtype, n), normal(t, n - 1))


if __name__ == "__main__":
    writer = records.Writer(__file__, "array_spectra.txt", "What eigenvalues serve for.\n" + FORMAT.strip(), ("jax", "jaxlib", "numpy", "scipy"))
    for family in (spectra, functions, polynomials, functions_by_triangles):
        family(writer)
    writer.write()
    sys.exit(0)
