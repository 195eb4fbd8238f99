"""Discrete Fourier transforms. fft_exact.txt: of lengths 1 to 128 by mpmath with 40 digits, rounded once, and some
entries of long ones. fft.txt: jax.numpy.fft with its pull-backs."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import records

mpmath.mp.dps = 40
LONG = (1000, 1024, 1155, 2187, 4096, 6561, 10007, 65536)
rng = np.random.default_rng(29)


def numbers(count):
    """The same numbers as numbers() of fft_accuracy_test.cpp: 24 bits each, between -1 and 1."""
    state, out = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append((state >> 40) / 2.0**23 - 1)
    return out


def exact():
    w = records.Writer(__file__, "fft_exact.txt", "Transforms of the numbers that numbers() gives: pairs of real and imaginary parts.", ("mpmath",))
    for n in (*range(1, 129), *LONG):
        x = numbers(2 * n)
        x = [mpmath.mpc(x[2 * j], x[2 * j + 1]) for j in range(n)]
        roots = [mpmath.expjpi(mpmath.mpf(-2 * j) / n) for j in range(n)]
        entries = range(n) if n <= 128 else sorted({1, n // 3, n // 2, n - 1})
        y = [complex(mpmath.fsum(v * roots[j * k % n] for j, v in enumerate(x))) for k in entries]
        w.case("fft", {"n": n}, entries=np.array(list(entries) if n > 128 else [], np.int64), y=np.array(y))
    w.write()


def normal(dtype, *shape):
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return np.asarray(a, dtype)


def record(w, name, x, grad=True, **options):
    """One case: the function of that name of jax.numpy.fft, and its pull-back of a fixed cotangent."""
    f = lambda a: getattr(jnp.fft, name)(a, **options)  # noqa: E731
    arrays = {"x": x, "y": np.asarray(f(x))}
    if grad and x.dtype.kind in "fc":
        y, pull = jax.vjp(f, jnp.asarray(x))
        turn = np.arange(y.size).reshape(y.shape) + 1.0
        ct = np.cos(turn) + 1j * np.sin(turn) if np.iscomplexobj(y) else np.cos(turn)
        arrays["ct"] = np.asarray(ct, y.dtype)
        arrays["g"] = np.asarray(pull(jnp.asarray(arrays["ct"]))[0])
    words = {k: " ".join(map(str, v)) if isinstance(v, (tuple, list)) else str(v) for k, v in options.items()}
    w.case(name, words, **arrays)


def against_jax():
    w = records.Writer(__file__, "fft.txt", "jax.numpy.fft. Options are those of the text fields.")
    real, complex_ = (np.float64, np.float32), (np.complex128, np.complex64)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        takes_real = name in ("rfft", "ihfft")
        for t in real if takes_real else complex_ + real:
            for n in (2, 5, 8, 17) if np.dtype(t).itemsize < 16 else (1, 2, 3, 4, 6, 7, 8, 12, 15, 16, 17, 34):
                if name in ("irfft", "hfft"):
                    record(w, name, normal(t, n // 2 + 1), n=n)
                else:
                    record(w, name, normal(t, n))
            for norm in ("backward", "ortho", "forward"):
                record(w, name, normal(t, 6), norm=norm)
            for n in (3, 4, 9):
                record(w, name, normal(t, 6), n=n)
        t = np.float64 if takes_real else np.complex128
        for shape, axis in (((3, 4), 0), ((3, 4), 1), ((4, 3, 2), 1), ((2, 5, 20), -2), ((20, 5), -1), ((0, 4), 1)):
            record(w, name, normal(t, *shape), axis=axis, grad=0 not in shape)
        for t in (np.int64, np.int32, bool):
            if not (t is bool and takes_real):
                record(w, name, np.asarray(normal(np.float64, 5) * 4, t))
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        t = np.float64 if name == "rfftn" else np.complex128
        for norm in ("backward", "ortho", "forward"):
            record(w, name, normal(t, 3, 4), norm=norm)
        record(w, name, normal(t, 2, 3, 4))
        record(w, name, normal(t, 2, 3, 4), axes=(2, 0))
        record(w, name, normal(t, 2, 3, 4), axes=(-1,))
        record(w, name, normal(t, 2, 3, 4), s=(4, 3), axes=(0, 1))
        record(w, name, normal(t, 2, 3, 4), s=(4, 5))
        record(w, name, normal(np.float32, 2, 3, 4))
    for name in ("fft2", "ifft2", "rfft2", "irfft2"):
        t = np.float64 if name == "rfft2" else np.complex128
        record(w, name, normal(t, 4, 3))
        record(w, name, normal(t, 2, 4, 3), norm="ortho")
        record(w, name, normal(t, 2, 4, 3), axes=(0, 1), s=(3, 5))
    for name in ("fftshift", "ifftshift"):
        for t in (np.float64, np.complex128, np.int32):
            grad = t is np.float64  # that of a complex one adds complex numbers
            record(w, name, np.asarray(normal(np.float64, 5) * 4, t), grad=grad)
            record(w, name, np.asarray(normal(np.float64, 4, 3) * 4, t), grad=grad)
            record(w, name, np.asarray(normal(np.float64, 4, 3) * 4, t), grad=grad, axes=(1,))
    for name in ("fftfreq", "rfftfreq"):
        for n in (1, 2, 5, 8):
            for d in (1.0, 0.25):
                w.case(name, {"n": str(n), "d": str(d)}, y=np.asarray(getattr(jnp.fft, name)(n, d)))
    w.write()


exact()
against_jax()
