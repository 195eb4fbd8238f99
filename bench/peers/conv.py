"""conv/*: convolutions of images, forward and backward."""

import common
import jax
import jax.numpy as jnp
import numpy as np


def waves(shape, scale):
    j = np.arange(np.prod(shape)) % 4093.0
    return jnp.asarray((scale * np.sin(0.37 * j * j)).reshape(shape), jnp.float32)


def measure(name, groups):
    def loss(of):
        y = jax.lax.conv_general_dilated(
            of[0], of[1], (1, 1), "SAME", feature_group_count=groups, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return jnp.sum(jnp.square(y)) / 1000

    step = jax.jit(jax.value_and_grad(loss))
    squares = jax.jit(lambda g: [jnp.sum(jnp.square(part)) for part in g])

    def answered(of):
        value, gradient = step(of)
        return value, squares(gradient)

    of = waves((8, 56, 56, 64), 1), waves((3, 3, 64 // groups, 64), 0.1)
    time, (value, sums) = common.median_seconds(answered, of)
    common.emit(name, "us", time * 1e6, "jax", [value, *sums])


def conv():
    measure("conv/resnet", 1)
    measure("conv/depthwise", 64)


if __name__ == "__main__":
    common.main({"conv": conv})
