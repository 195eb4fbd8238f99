"""Random numbers of JAX's threefry2x32 (partitionable): keys, splits, bits and the distributions."""

import records
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

ABOUT = """
threefry2x32 keys and draws. `key` is the key's two 32-bit words. Keys, bits, uniforms, integers and permutations are
exact; normal and the other distributions go through log and erf_inv, so their last bits are the backend's.
`bits16`/`bits8` fields of half-precision uniforms are the values' bit patterns.
"""

w = records.Writer(__file__, "threefry.txt", ABOUT)
data = jr.key_data


def bits_of(x):
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[x.dtype.itemsize]
    return np.asarray(x).view(unsigned)


SEEDS = [0, 1, 2, 7, 42, 12345, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40 + 5, 2**62 + 12345, 2**63 - 1,
         -1, -2, -42, -(2**31), -(2**32), -(2**32) - 7, -(2**63)]  # fmt: skip
for seed in SEEDS:
    w.case("key", seed=np.int64(seed), key=data(jr.key(seed)))

# The block function itself, with the known answers of the Threefry paper among the inputs.
from jax.extend.random import threefry_2x32  # noqa: E402

for k, c in [((0, 0), (0, 0)), ((2**32 - 1,) * 2, (2**32 - 1,) * 2), ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3)),
             ((1, 2), (3, 4)), ((0, 42), (1, 0))]:  # fmt: skip
    k, c = np.array(k, np.uint32), np.array(c, np.uint32)
    w.case("block", key=k, counter=c, out=threefry_2x32(k, c))

SOME = [0, 1, 42, -1, 2**40 + 5]
for seed in SOME:
    key = jr.key(seed)
    for shape in [(), (1,), (2,), (3,), (7,), (2, 3), (0,)]:
        w.case("split", key=data(key), shape=np.array(shape, np.int64), out=data(jr.split(key, shape)))
    for d in [0, 1, 7, 2**31, 2**32 - 1]:
        w.case("fold_in", key=data(key), data=np.uint32(d), out=data(jr.fold_in(key, d)))
    for width in (8, 16, 32, 64):
        for shape in [(), (1,), (5,), (17,), (3, 4)]:
            w.case("bits", key=data(key), out=jr.bits(key, shape, f"uint{width}"))
    for dtype in (jnp.float32, jnp.float64, jnp.float16, jnp.bfloat16):
        for shape in [(), (9,), (2, 3)]:
            u = jr.uniform(key, shape, dtype)
            w.case("uniform", key=data(key), out=u, bits=bits_of(u))
        u = jr.uniform(key, (16,), dtype, -2.5, 3.0)
        w.case("uniform_range", key=data(key), lo=np.float64(-2.5), hi=np.float64(3), out=u, bits=bits_of(u))
    for dtype in (jnp.float32, jnp.float64):
        for shape in [(), (16,), (3, 5)]:
            w.case("normal", key=data(key), out=jr.normal(key, shape, dtype))
        w.case("truncated_normal", key=data(key), lo=np.float64(-1), hi=np.float64(1.5),
               out=jr.truncated_normal(key, -1.0, 1.5, (8,), dtype))  # fmt: skip
        w.case("exponential", key=data(key), out=jr.exponential(key, (8,), dtype))
        w.case("gumbel", key=data(key), out=jr.gumbel(key, (8,), dtype))
    for dtype, lo, hi in [("int32", 0, 10), ("int32", -7, 5), ("int32", -(2**31), 2**31 - 1), ("int64", 0, 10),
                          ("int64", -(2**40), 2**41), ("uint32", 3, 2**32 - 1), ("int32", 5, 5), ("uint8", 0, 255),
                          ("int8", -100, 100), ("int16", -300, 300), ("int64", 5, 3)]:  # fmt: skip
        w.case("randint", key=data(key), lo=np.int64(lo), hi=np.int64(hi), out=jr.randint(key, (12,), lo, hi, dtype))
    for p in (0.3, 0.5):
        w.case("bernoulli", key=data(key), p=np.float64(p), out=jr.bernoulli(key, p, (12,)))
        w.case("bernoulli", key=data(key), p=np.float32(p), out=jr.bernoulli(key, np.float32(p), (12,)))
    for n in (1, 2, 8, 33, 2000):
        out = jr.permutation(key, n)
        w.case("permutation", key=data(key), n=np.int64(n), out=out)
    w.case("permutation_rows", key=data(key), x=np.arange(15.0).reshape(5, 3), out=jr.permutation(key, jnp.arange(15.0).reshape(5, 3)))
    logits = jnp.log(jnp.array([0.1, 0.2, 0.7]))
    w.case("categorical", key=data(key), logits=logits, out=jr.categorical(key, logits, shape=(20,)))
    w.case("choice", key=data(key), n=np.int64(5), out=jr.choice(key, 5, (12,)))
    w.case("choice_p", key=data(key), p=np.array([0.1, 0.5, 0.15, 0.25]), out=jr.choice(key, 4, (12,), p=jnp.array([0.1, 0.5, 0.15, 0.25])))
w.write()
