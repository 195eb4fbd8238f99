// What a user's file looks like to the compiler: three structs, five transformed functions (see
// header_cost.py).
#include <apsis/apsis.hpp>

using namespace apsis;

struct Layer {
  Array weight, bias;
};

struct Network {
  Layer first, second;
  Array operator()(const Array& x) const {
    return matmul(second.weight, tanh(matmul(first.weight, x) + first.bias)) + second.bias;
  }
};

struct Batch {
  Array x, y;
};

Array loss(const Network& network, const Batch& batch) {
  return mean(square(vmap(network)(batch.x) - batch.y));
}

auto step(const Network& network, const Batch& batch) { return jit(value_and_grad(loss))(network, batch); }

auto predictions(const Network& network, const Array& x) { return jit(vmap(network))(x); }

auto slopes(const Network& network, const Array& x) { return jacfwd(network)(x); }

auto change(const Network& network, const Batch& batch, const Network& direction) {
  return jvp([&](const Network& n) { return loss(n, batch); }, std::tuple(network), std::tuple(direction));
}

auto sensitivity(const Array& x) {
  return grad([](const Array& v) { return sum(sin(v) * v); })(x);
}
