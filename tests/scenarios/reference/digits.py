"""What a perceptron of 24 hidden units gets right of the last hundred digits: JAX and Optax, five seeds."""
import jax, jax.numpy as jnp, numpy as np, optax

lines = [l for l in open("../data/digits_600.txt").read().split("\n") if l and not l.startswith("#")]
x = jnp.array([[int(c, 17) / 16 for c in l[:64]] for l in lines], jnp.float32)
y = jnp.array([int(l[65]) for l in lines])


def init(key):
    a, b, c, d = jax.random.split(key, 4)
    u = lambda k, s, f: jax.random.uniform(k, s, minval=-(f**-0.5), maxval=f**-0.5)
    return [u(a, (64, 24), 64), u(b, (24,), 64), u(c, (24, 10), 24), u(d, (10,), 24)]


f = lambda p, x: jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]
loss = lambda p, x, y: optax.softmax_cross_entropy_with_integer_labels(f(p, x), y).mean()
opt = optax.adam(1e-2)


@jax.jit
def step(p, s, rows):
    g = jax.grad(loss)(p, x[rows], y[rows])
    u, s = opt.update(g, s)
    return optax.apply_updates(p, u), s


for seed in range(5):
    key = jax.random.key(seed)
    p = init(key)
    s = opt.init(p)
    for e in range(15):
        for rows in jax.random.permutation(jax.random.fold_in(key, e), 500).reshape(20, 25):
            p, s = step(p, s, rows)
    print(int((f(p, x[500:]).argmax(1) == y[500:]).sum()), end=" ")
