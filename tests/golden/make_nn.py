"""Layers of Equinox, initialisers and attention of JAX, for room `nn`: outputs, and gradients of all weights and inputs.

The inputs of a layer's case are its arrays in the order of its fields, then what it is called with."""

import sys

import records
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from equinox.nn._embedding import internal_rope_embedding_cache
from make_array import FLOATS, FORMAT, record

KEY = jr.PRNGKey(20261125)
rng = np.random.default_rng(20261125)


def file(name, about):
    return records.Writer(__file__, f"nn_{name}.txt", about.strip() + "\n" + FORMAT.strip(), ("jax", "jaxlib", "equinox", "numpy"))


def normal(t, *shape):
    return np.asarray(rng.standard_normal(shape), t)


def ties(t, *shape):
    return np.asarray(rng.integers(0, 3, shape), t)


def shaken(module):
    """With random arrays in the place of those that begin as zeros or ones."""
    return jax.tree.map(lambda a: jnp.asarray(normal(a.dtype, *a.shape)) if eqx.is_inexact_array(a) else a, module)


def layer(w, name, module, *xs, call=lambda m, *a: m(*a), **text):
    params, static = eqx.partition(module, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(params)
    n = len(leaves)

    def f(*a):
        return call(eqx.combine(jax.tree.unflatten(structure, a[:n]), static), *a[n:])

    record(w, name, f, *leaves, *xs, **text)


def renewed(state):
    """A function that gives the state again and again: Equinox lets each be used once."""
    leaves, structure = jax.tree.flatten(state)
    return lambda: jax.tree.unflatten(structure, leaves)


def flags(**values):
    return {k: int(v) for k, v in values.items()}


def layers():
    w = file("layers", "Layers that are no convolutions, pools or attention: Equinox's.")
    nn = eqx.nn
    for t in FLOATS:
        for use_bias in (True, False):
            for size_in, size_out in ((3, 2), ("scalar", 2), (3, "scalar"), ("scalar", "scalar")):
                x = normal(t) if size_in == "scalar" else normal(t, size_in)
                text = flags(bias=use_bias, scalar_in=size_in == "scalar", scalar_out=size_out == "scalar")
                layer(w, "linear", nn.Linear(size_in, size_out, use_bias, t, key=KEY), x, **text)
        for depth, scan, bias, final in ((0, 0, 1, 1), (1, 0, 1, 1), (3, 0, 0, 1), (3, 0, 1, 0), (4, 1, 1, 1), (2, 1, 0, 0)):
            last = jax.nn.sigmoid if depth else lambda x: x  # Equinox leaves it out of a single layer
            m = nn.MLP(3, 2, 4, depth, jnp.tanh, last, bool(bias), bool(final), t, scan=bool(scan), key=KEY)
            layer(w, "mlp", m, normal(t, 3), depth=depth, scan=scan, bias=bias, final=final)
        for shape in ((5,), (2, 3), ()):
            for weight, bias in ((1, 1), (1, 0), (0, 1), (0, 0)):
                text = dict(shape=shape, weight=weight, bias=bias)
                smooth = None if shape else False  # one entry is its own mean
                layer(w, "layer_norm", shaken(nn.LayerNorm(shape, 1e-4, bool(weight), bool(bias), t)), normal(t, *shape), smooth=smooth, **text)
                layer(w, "rms_norm", shaken(nn.RMSNorm(shape, 1e-4, bool(weight), bool(bias), t)), normal(t, *shape), **text)
        for groups, shape in ((2, (4, 3)), (2, (6,)), (1, (2, 2, 3)), (4, (4, 5))):
            smooth = False if groups == shape[0] and len(shape) == 1 else None
            for affine in (1, 0):
                m = shaken(nn.GroupNorm(groups, shape[0], 1e-4, bool(affine), t))
                layer(w, "group_norm", m, normal(t, *shape), groups=groups, affine=affine, smooth=smooth)
        batch_norm(w, t)
        for iterations, inference in ((1, 0), (3, 0), (1, 1)):
            spectral_norm(w, t, nn.Linear(3, 4, dtype=t, key=KEY), normal(t, 3), iterations, inference, conv=0)
        spectral_norm(w, t, nn.Conv1d(2, 3, 2, dtype=t, key=KEY), normal(t, 2, 4), 1, 0, conv=1)
        for axis in (0, 1, None):
            m = nn.WeightNorm(nn.Linear(3, 4, dtype=t, key=KEY), axis=axis)
            m = eqx.tree_at(lambda m: m.g, m, jnp.asarray(normal(t, *m.g.shape)))
            layer(w, "weight_norm", m, normal(t, 3), axis=-1 if axis is None else axis)
        for bias in (1, 0):
            layer(w, "gru", nn.GRUCell(3, 4, bool(bias), t, key=KEY), normal(t, 3), normal(t, 4), bias=bias)
            lstm = lambda m, x, h, c: m(x, (h, c))  # noqa: E731
            layer(w, "lstm", nn.LSTMCell(3, 4, bool(bias), t, key=KEY), normal(t, 3), normal(t, 4), normal(t, 4), call=lstm, bias=bias)
        for i in (0, 3, -1):
            layer(w, "embedding", nn.Embedding(4, 3, dtype=t, key=KEY), np.int64(i))
        for length, size, theta in ((5, 4, 10000.0), (3, 6, 100.0), (1, 2, 10000.0), (0, 2, 10000.0)):
            internal_rope_embedding_cache.clear()  # whose key lacks theta
            m = nn.RotaryPositionalEmbedding(size, theta, t)
            layer(w, "rope", m, normal(t, length, size), theta=theta)
        layer(w, "prelu", nn.PReLU(t(0.3)), normal(t, 4), smooth=False)
        layer(w, "prelu", nn.PReLU(normal(t, 3)), normal(t, 2, 3), smooth=False)
        for p, shape in ((0.5, (4, 5)), (0.2, (30,)), (0.0, (3,))):
            m = eqx.nn.Dropout(p)
            record(w, "dropout", lambda x, k: m(x, key=k), normal(t, *shape), np.asarray(jr.PRNGKey(3)), p=p, smooth=False)
    w.write()


def batch_norm(w, t):
    for mode in ("ema", "batch"):
        for inference in (0, 1):
            for count in (0, 3):
                for affine, shape in ((1, (4, 3)), (0, (5, 2, 2))):
                    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(shape[1], "batch", 1e-4, bool(affine), 0.9, dtype=t, mode=mode)
                    norm, state = shaken(norm), renewed(state)

                    def call(norm, mean, var, n, xs, count=count):
                        s = state()
                        if mode == "ema":
                            s = s.set(norm.ema_first_time_index, n == 0).set(norm.ema_state_index, (mean, var))
                        else:
                            s = s.set(norm.batch_counter, jnp.array(count)).set(norm.batch_state_index, (mean, var))
                        f = lambda x, s: norm(x, s, inference=bool(inference))  # noqa: E731
                        y, s = jax.vmap(f, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(xs, s)
                        return y, *s.get(norm.ema_state_index if mode == "ema" else norm.batch_state_index)

                    mean, var = normal(t, shape[1]), np.asarray(rng.uniform(0.5, 2, shape[1]), t)
                    text = dict(mode=mode, inference=inference, affine=affine)
                    layer(w, "batch_norm", norm, mean, var, np.int64(count), normal(t, *shape), call=call, **text)


def spectral_norm(w, t, inner, x, iterations, inference, conv):
    norm, state = eqx.nn.make_with_state(eqx.nn.SpectralNorm)(inner, "weight", iterations, inference=bool(inference), key=KEY)
    u, v = (np.asarray(a) for a in state.get(norm.uv_index))
    state = renewed(state)

    def call(norm, u, v, x):
        y, s = norm(x, state().set(norm.uv_index, (u, v)))
        return y, *s.get(norm.uv_index)

    start = dict(iterations=iterations, inference=inference, conv=conv)
    # Differences see the weight through the iterations, of which derivatives know nothing.
    layer(w, "spectral_norm", norm, u + normal(t, *u.shape) / 4, v, x, call=call, smooth=False, **start)


def compositions():
    w = file("compositions", "Models put together of layers: Equinox's Sequential (with keys, with states), Shared and inference_mode.")
    nn = eqx.nn
    for t in FLOATS:
        linear = lambda i, o, k: nn.Linear(i, o, dtype=t, key=jr.fold_in(KEY, k))  # noqa: E731
        m = nn.Sequential([linear(3, 5, 1), nn.Lambda(jax.nn.silu), shaken(nn.LayerNorm(5, dtype=t)), nn.Identity(), linear(5, 2, 2)])
        layer(w, "sequential", m, normal(t, 3))
        m = nn.Sequential([linear(3, 6, 1), nn.Dropout(0.4), nn.Lambda(jnp.tanh), nn.Dropout(0.2), linear(6, 2, 2)])
        with_key = lambda m, x, k: m(x, key=k)  # noqa: E731
        layer(w, "dropped", m, normal(t, 3), np.asarray(jr.PRNGKey(4)), call=with_key, smooth=False)
        layer(w, "used", nn.inference_mode(m), normal(t, 3))
        for inference in (0, 1):
            stateful(w, t, linear, inference)
        embedding, out = nn.Embedding(4, 3, dtype=t, key=KEY), linear(3, 4, 3)
        tied = nn.Shared((embedding, out), lambda m: m[1].weight, lambda m: m[0].weight)

        def scores(shared, i):
            embedding, out = shared()
            return out(jnp.tanh(embedding(i)))

        layer(w, "shared", tied, np.int64(2), call=scores)
    w.write()


def stateful(w, t, linear, inference):
    """A BatchNorm and a SpectralNorm in a row, over a batch of samples."""

    def make():
        norm = eqx.nn.BatchNorm(4, "batch", 1e-4, momentum=0.9, dtype=t, mode="batch")
        spectral = eqx.nn.SpectralNorm(linear(4, 2, 2), "weight", key=KEY)
        return eqx.nn.Sequential([linear(3, 4, 1), norm, eqx.nn.Lambda(jnp.tanh), spectral])

    model, state = eqx.nn.make_with_state(make)()
    model, state = shaken(eqx.nn.inference_mode(model, bool(inference))), renewed(state)
    u, v = (np.asarray(a) for a in state().get(model.layers[3].uv_index))

    def call(m, mean, var, u, v, xs):
        norm, spectral = m.layers[1], m.layers[3]
        s = state().set(norm.batch_counter, jnp.array(3)).set(norm.batch_state_index, (mean, var)).set(spectral.uv_index, (u, v))
        y, s = jax.vmap(m, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(xs, s)
        return y, *s.get(norm.batch_state_index), *s.get(spectral.uv_index)

    start = normal(t, 4), np.asarray(rng.uniform(0.5, 2, 4), t), u, v
    layer(w, "stateful", model, *start, normal(t, 5, 3), call=call, smooth=False, inference=inference)


def sides(padding):
    if isinstance(padding, str):
        return dict(padding=padding)
    return dict(low=[a for a, _ in padding], high=[b for _, b in padding])


def convolutions():
    w = file("convolutions", "Convolutions and pools: Equinox's.")
    nn = eqx.nn

    def conv(t, axes, shape, size_out, kernel, stride=None, padding=None, dilation=None, groups=1, bias=True, mode="ZEROS"):
        one = [1] * axes
        stride, padding, dilation = stride or one, padding or [(0, 0)] * axes, dilation or one
        m = nn.Conv(axes, shape[0], size_out, kernel, stride, padding, dilation, groups, bias, mode, t, key=KEY)
        text = dict(stride=stride, dilation=dilation, groups=groups, bias=int(bias), mode=mode, **sides(padding))
        layer(w, "conv", m, normal(t, *shape), **text)

    def transpose(t, axes, shape, size_out, kernel, stride=None, padding=None, extra=None, dilation=None, groups=1, bias=True, mode="ZEROS"):
        one = [1] * axes
        stride, padding, dilation, extra = stride or one, padding or [(0, 0)] * axes, dilation or one, extra or [0] * axes
        m = nn.ConvTranspose(axes, shape[0], size_out, kernel, stride, padding, extra, dilation, groups, bias, mode, t, key=KEY)
        text = dict(stride=stride, dilation=dilation, output_padding=extra, groups=groups, bias=int(bias), mode=mode, **sides(padding))
        layer(w, "conv_transpose", m, normal(t, *shape), **text)

    def pool(t, kind, shape, kernel, stride, padding=None, ceil=False, data=normal):
        axes = len(shape) - 1
        padding = padding or [(0, 0)] * axes
        m = getattr(nn, f"{kind}Pool{axes}d")(kernel, stride, padding, ceil)
        record(w, f"{kind.lower()}_pool", m, data(t, *shape), kernel=kernel, stride=stride, ceil=int(ceil), smooth=False if data is ties else None, **sides(padding))

    def adaptive(t, kind, shape, target, data=normal):
        m = getattr(nn, f"Adaptive{kind}Pool{len(shape) - 1}d")(target)
        record(w, f"adaptive_{kind.lower()}_pool", m, data(t, *shape), target=target, smooth=False if data is ties else None)

    for t in FLOATS:
        conv(t, 1, (2, 6), 3, [3])
        conv(t, 1, (4, 7), 2, [2], [2], [(2, 1)], [2], 2, False)
        for mode in ("REFLECT", "REPLICATE", "CIRCULAR"):
            conv(t, 1, (2, 6), 2, [3], [2], [(2, 1)], mode=mode)
            conv(t, 2, (1, 4, 5), 2, [3, 2], [1, 2], "SAME", mode=mode)
        for padding in ("SAME", "SAME_LOWER", "VALID", [(1, 1), (0, 2)]):
            conv(t, 2, (2, 5, 4), 3, [2, 3], [2, 1], padding)
        conv(t, 2, (2, 5, 5), 4, [3, 3], None, [(1, 1), (1, 1)], [1, 2], 2)
        conv(t, 3, (1, 3, 4, 3), 2, [2, 2, 3], [1, 2, 1], [(1, 0), (0, 0), (1, 1)])
        for padding in ("SAME", "SAME_LOWER", "VALID", [(1, 0)]):
            for stride in (1, 3):
                transpose(t, 1, (2, 4), 3, [3], [stride], padding, [stride - 1])
        transpose(t, 1, (2, 4), 2, [2], [4], "SAME", [1])
        transpose(t, 2, (4, 3, 3), 2, [3, 2], [2, 1], [(1, 1), (0, 1)], [1, 0], [1, 2], 2, False)
        transpose(t, 3, (1, 2, 2, 3), 2, [2, 2, 2], [1, 2, 1])
        for padding in ("SAME", "SAME_LOWER"):
            transpose(t, 1, (2, 5), 2, [4], [2], padding, mode="CIRCULAR")
            transpose(t, 2, (1, 3, 4), 2, [3, 3], [1, 2], padding, mode="CIRCULAR")
        for kind in ("Avg", "Max"):
            pool(t, kind, (2, 7), [3], [2])
            pool(t, kind, (2, 7), [3], [2], [(0, 1)], True)
            pool(t, kind, (1, 5, 4), [2, 3], [2, 1], [(1, 0), (1, 1)])
            pool(t, kind, (2, 4, 5), [2, 2], [1, 2], None, True, ties)
            pool(t, kind, (1, 3, 4, 4), [2, 2, 3], [1, 2, 1], None, False)
            adaptive(t, kind, (2, 7), [3])
            adaptive(t, kind, (2, 5, 6), [2, 3])
            adaptive(t, kind, (1, 4, 3, 5), [2, 3, 2], ties)
    w.write()


def reference_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, query_seq_lengths=None, key_value_seq_lengths=None, local_window_size=None):
    """jax.nn.dot_product_attention with its softmax in f64: JAX's is in f32 whatever the dtype."""
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    q = query.reshape(b, t, k, n // k, h)
    logits = jnp.einsum("btkgh,bskh->bkgts", q, key).reshape(b, n, t, s) * (h**-0.5 if scale is None else scale)
    if bias is not None:
        logits = logits + bias
    seen = jnp.ones((b, n, t, s), bool) if mask is None else jnp.broadcast_to(mask, (b, n, t, s))
    i, j = jnp.arange(t)[:, None], jnp.arange(s)[None, :]
    if is_causal:
        seen &= j <= i
    if local_window_size is not None:
        seen &= (i <= j + local_window_size[0]) & (i >= j - local_window_size[1])
    inside = None
    if query_seq_lengths is not None:
        inside = jnp.arange(t)[None, :] < query_seq_lengths[:, None]
        seen &= inside[:, None, :, None]
    if key_value_seq_lengths is not None:
        seen &= (jnp.arange(s)[None, :] < key_value_seq_lengths[:, None])[:, None, None, :]
    weights = jax.nn.softmax(jnp.where(seen, logits, -0.7 * jnp.finfo(logits.dtype).max), axis=-1)
    y = jnp.einsum("bkgts,bskh->btkgh", weights.reshape(b, k, n // k, t, s), value).reshape(b, t, n, -1)
    return y if inside is None else jnp.where(inside[:, :, None, None], y, 0)


def attention():
    w = file("attention", "Attention: JAX's in f32; the same formula in f64, where JAX's has a softmax in f32. Layers: Equinox's.")
    for t in FLOATS:
        reference = reference_attention if t is np.float64 else jax.nn.dot_product_attention

        def case(b, q, s, n, k, h, bias=None, mask=None, lengths=None, scale=None, causal=False, window=None):
            arrays = [normal(t, b, q, n, h), normal(t, b, s, k, h), normal(t, b, s, k, h)]
            names = []
            if bias:
                arrays.append(normal(t, *bias))
                names.append("bias")
            if mask:
                arrays.append(rng.random(mask) < 0.7)
                names.append("mask")
            if lengths:
                arrays += [np.asarray(rng.integers(0, q + 1, b), np.int32), np.asarray(rng.integers(1, s + 1, b), np.int32)]
                names += ["query_seq_lengths", "key_value_seq_lengths"]
            more = dict(scale=scale, is_causal=causal, local_window_size=window)
            f = lambda a, c, v, *rest: reference(a, c, v, **dict(zip(names, rest)), **more)  # noqa: E731
            text = dict(operands=names, causal=int(causal), window=window or ())
            if scale is not None:
                text["scale"] = scale
            record(w, "dot_product_attention", f, *arrays, **text)

        case(1, 4, 4, 2, 2, 3)
        case(2, 3, 5, 2, 1, 4, scale=0.7)
        case(2, 3, 5, 4, 2, 2, bias=(2, 4, 3, 5), mask=(2, 4, 3, 5))
        case(2, 4, 4, 2, 2, 2, bias=(1, 2, 4, 4), causal=True)
        case(1, 5, 5, 2, 2, 2, bias=(1, 1, 1, 5), mask=(1, 1, 5, 1), window=(2, 1))
        case(1, 5, 6, 4, 2, 2, mask=(1, 1, 1, 6), causal=True, window=(1, 0))
        case(3, 4, 5, 2, 2, 2, lengths=True)
        case(3, 4, 5, 4, 1, 2, lengths=True, causal=True, mask=(1, 4, 1, 5))
        mha = lambda m, q, k, v, mask=None, key=None: m(q, k, v, mask=mask, key=key)  # noqa: E731
        for bias in (1, 0):
            options = dict.fromkeys(("use_query_bias", "use_key_bias", "use_value_bias", "use_output_bias"), bool(bias))
            m = eqx.nn.MultiheadAttention(2, 4, dtype=t, key=KEY, **options)
            x = [normal(t, 3, 4) for _ in range(3)]
            layer(w, "multihead_attention", m, *x, call=mha, heads=2, bias=bias, operands="", p=0)
            m = eqx.nn.MultiheadAttention(2, 4, 3, 5, 6, 2, 3, dtype=t, key=KEY, **options)
            x = [normal(t, 3, 4), normal(t, 5, 3), normal(t, 5, 5)]
            for shape in ((3, 5), (2, 3, 5)):
                layer(w, "multihead_attention", m, *x, rng.random(shape) < 0.6, call=mha, heads=2, bias=bias, operands="mask", p=0)
            m = eqx.nn.MultiheadAttention(2, 4, 3, 5, 6, 2, 3, dtype=t, dropout_p=0.4, key=KEY, **options)
            dropped = lambda m, q, k, v, mask, key: m(q, k, v, mask=mask, key=key)  # noqa: E731
            layer(w, "multihead_attention", m, *x, rng.random((3, 5)) < 0.8, np.asarray(jr.PRNGKey(5)), call=dropped, heads=2, bias=bias, operands=("mask", "key"), p=0.4, smooth=False)
    w.write()


def initializers():
    w = file("initializers", "jax.nn.initializers, and the arrays that Equinox's layers begin with: x0 is the key's data.")
    init = jax.nn.initializers
    dtypes = {np.float64: "f64", np.float32: "f32"}
    for t in FLOATS:
        draw = lambda name, f, shape, **text: record(w, name, lambda k: f(k, shape, t), np.asarray(KEY), grad=False, shape=shape, dtype=dtypes[t], **text)  # noqa: E731
        for shape in ((3, 4), (2, 3, 4), (5,), ()):
            draw("zeros", init.zeros, shape)
            draw("ones", init.ones, shape)
            draw("constant", init.constant(-7.5), shape, value=-7.5)
            draw("uniform", init.uniform(3.0), shape, scale=3.0)
            draw("normal", init.normal(0.5), shape, scale=0.5)
            draw("truncated_normal", init.truncated_normal(0.5, dtype=t, lower=-1.0, upper=2.5), shape, scale=0.5, lower=-1.0, upper=2.5)
        for name in ("lecun_normal", "lecun_uniform", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform"):
            f = getattr(init, name)
            draw(name, f(), (3, 4))
            draw(name, f(), (3, 3, 4, 5))
            draw(name, f(in_axis=1, out_axis=0), (6, 2, 3), axes=(1, 0))
            draw(name, f(in_axis=1, out_axis=2, batch_axis=0), (3, 2, 4), axes=(1, 2, 0))
        for mode in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
            for distribution in ("truncated_normal", "normal", "uniform"):
                draw("variance_scaling", init.variance_scaling(1.5, mode, distribution), (2, 5, 3), mode=mode, distribution=distribution)
        for shape, axis in (((3, 4), -1), ((4, 3), -1), ((4, 4), -1), ((3, 2, 5), 0), ((3, 2, 5), 1), ((2, 3, 3), -1)):
            draw("orthogonal", init.orthogonal(1.5, axis), shape, scale=1.5, column_axis=axis)
        for shape in ((3, 2, 2), (4, 2, 3), (2, 3, 2, 4), (3, 1, 3, 1, 5)):
            draw("delta_orthogonal", init.delta_orthogonal(0.5), shape, scale=0.5, column_axis=-1)
        made = dict(
            linear=lambda k: eqx.nn.Linear(3, 4, dtype=t, key=k),
            linear_scalar=lambda k: eqx.nn.Linear("scalar", "scalar", dtype=t, key=k),
            mlp=lambda k: eqx.nn.MLP(3, 2, 4, 3, dtype=t, key=k),
            mlp_scan=lambda k: eqx.nn.MLP(3, 2, 4, 3, dtype=t, scan=True, key=k),
            gru=lambda k: eqx.nn.GRUCell(3, 4, dtype=t, key=k),
            lstm=lambda k: eqx.nn.LSTMCell(3, 4, dtype=t, key=k),
            embedding=lambda k: eqx.nn.Embedding(5, 3, dtype=t, key=k),
            conv=lambda k: eqx.nn.Conv2d(4, 6, (3, 2), groups=2, dtype=t, key=k),
            conv_transpose=lambda k: eqx.nn.ConvTranspose1d(4, 6, 3, dtype=t, key=k),
            multihead_attention=lambda k: eqx.nn.MultiheadAttention(2, 4, 3, 5, 6, 2, 3, use_key_bias=True, dtype=t, key=k),
            spectral_norm=lambda k: spectral_start(k, t),
        )
        for name, make in made.items():
            arrays = lambda k: jax.tree.leaves(eqx.filter(make(k), eqx.is_inexact_array))  # noqa: E731
            record(w, f"make_{name}", arrays, np.asarray(KEY), grad=False, dtype=dtypes[t])
    w.write()


def spectral_start(key, t):
    norm, state = eqx.nn.make_with_state(eqx.nn.SpectralNorm)(eqx.nn.Linear(3, 4, dtype=t, key=KEY), "weight", key=key)
    return state.get(norm.uv_index)


def descend(loss, model, state, steps, rate):
    """The losses of gradient descent, with what the loss passes on as its state."""

    @eqx.filter_jit
    def step(model, state):
        (value, state), slope = eqx.filter_value_and_grad(loss, has_aux=True)(model, state)
        return eqx.apply_updates(model, jax.tree.map(lambda g: -rate * g, slope)), state, value

    losses = []
    for _ in range(steps):
        model, state, value = step(model, state)
        losses.append(float(value))
    return model, np.asarray(losses)


class Characters(eqx.Module):
    embedding: eqx.nn.Embedding
    cell: eqx.nn.GRUCell
    out: eqx.nn.Linear

    def __call__(self, text):
        def step(h, c):
            h = self.cell(self.embedding(c), h)
            return h, self.out(h)

        return jax.lax.scan(step, jnp.zeros(self.cell.hidden_size), text)[1]


class Pictures(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm
    pool: eqx.nn.MaxPool2d
    out: eqx.nn.Linear

    def __call__(self, x, state):
        h, state = self.norm(self.conv(x), state)
        return self.out(self.pool(jax.nn.relu(h)).ravel()), state


def training():
    w = file("training", "Losses of gradient descent on whole models of Equinox, all parameters drawn from x0, the key's data.")
    entropy = lambda logits, labels: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))  # noqa: E731

    def case(name, losses, *data, **more):
        w.case(name, {}, x0=np.asarray(KEY), **{f"x{i + 1}": d for i, d in enumerate(data)}, y0=losses, **more)

    angle = np.linspace(0, np.pi, 30)
    moons = np.stack([np.r_[np.cos(angle), 1 - np.cos(angle)], np.r_[np.sin(angle), 0.5 - np.sin(angle)]], 1)
    moons += 0.1 * rng.standard_normal(moons.shape)
    sides = np.repeat([0, 1], 30)
    model = eqx.nn.MLP(2, 2, 16, 2, jnp.tanh, key=KEY)
    loss = lambda m, s: (entropy(jax.vmap(m)(moons), sides), s)  # noqa: E731
    model, losses = descend(loss, model, None, 400, 0.5)
    right = np.mean(np.argmax(jax.vmap(model)(moons), 1) == sides)
    case("moons", losses, moons, sides, y1=right)

    text = "she sells sea shells by the sea shore"
    letters = sorted(set(text))
    codes = np.asarray([letters.index(c) for c in text])
    a, b, c = jr.split(KEY, 3)
    n = len(letters)
    model = Characters(eqx.nn.Embedding(n, 6, key=a), eqx.nn.GRUCell(6, 24, key=b), eqx.nn.Linear(24, n, key=c))
    loss = lambda m, s: (entropy(m(codes[:-1]), codes[1:]), s)  # noqa: E731
    model, losses = descend(loss, model, None, 300, 1.0)
    case("characters", losses, codes)

    pictures = rng.standard_normal((12, 1, 6, 6)) / 2
    kinds = np.arange(12) % 3
    for i, k in enumerate(kinds):  # a row, a column, or a diagonal
        at = range(6)
        pictures[i, 0, *((2, at), (at, 3), (at, at))[k]] += 1.5
    a, b = jr.split(KEY, 2)
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(4, "batch", momentum=0.9, mode="batch")
    model = Pictures(eqx.nn.Conv2d(1, 4, 3, padding=1, key=a), norm, eqx.nn.MaxPool2d(2, 2), eqx.nn.Linear(36, 3, key=b))

    def loss(m, s):
        logits, s = jax.vmap(m, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(pictures, s)
        return entropy(logits, kinds), s

    model, losses = descend(loss, model, state, 60, 0.2)
    case("pictures", losses, pictures, kinds)
    w.write()


families = {f.__name__: f for f in (layers, compositions, convolutions, attention, initializers, training)}
for name in sys.argv[1:] or families:
    rng = np.random.default_rng(20261125)  # of each family, so that one can be made alone
    families[name]()
