#include "apsis/optim/lbfgs.hpp"

#include "apsis/ops/index.hpp"
#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

namespace {
Array product(const std::vector<Array>& a, const std::vector<Array>& b) {
  Array total = 0.;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!a[i].is_empty()) total = total + sum(a[i] * b[i]);
  return total;
}
std::vector<Array> entry(Leaves memory, const std::vector<Array>& like_, const Array& place) {
  std::vector<Array> at(memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i)
    if (!like_[i].is_empty()) at[i] = memory[i][place];
  return at;
}
void add(std::vector<Array>& x, const Array& factor, const std::vector<Array>& y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!x[i].is_empty()) keep(x[i], x[i] + like(factor, x[i]) * y[i]);
}
}  // namespace

void ScaleByLbfgs::start(Start& s) const {
  if (memory_size < 1)
    fail(messages::optimizer_option,
         {"ScaleByLbfgs", "memory_size", std::to_string(memory_size), "1 or more"}, s.loc);
  s.count();
  s.scalar(zeros({memory_size}, f64));
  s.zeros();
  s.zeros();
  for (int memory = 0; memory < 2; ++memory)
    s.each([&](const Array& p) {
      Dims dims{memory_size};
      for (std::int64_t length : p.shape()) dims.push_back(length);
      return zeros(Shape(dims), p.dtype());
    });
}

void ScaleByLbfgs::step(Step& s) const {
  Array &count = s.scalar(), &weights = s.scalar();
  const std::size_t n = s.updates.size();
  const Leaves before = s.tree(), gradient_before = s.tree(), moves = s.leaves(n), changes = s.leaves(n);
  const Array place = count % memory_size, last = (count - 1) % memory_size, first = count == 0;

  std::vector<Array> move(n), change(n);
  s.each([&](std::size_t i) {
    move[i] = where(first, 0, s.params[i] - before[i]);
    change[i] = where(first, 0, s.updates[i] - gradient_before[i]);
    moves[i] = moves[i].at(last).set(astype(move[i], moves[i].dtype()));
    changes[i] = changes[i].at(last).set(astype(change[i], changes[i].dtype()));
  });
  const Array curvature = product(change, move), none = curvature == 0;
  weights = weights.at(last).set(astype(where(none, 0, 1. / where(none, 1, curvature)), f64));

  Array scale = 1.;
  if (scale_init_precond) {
    const Array squares = product(change, change), still = squares <= 0, length = global_norm(s);
    scale = where(first, minimum(1., 1. / length), where(still, 1, curvature / where(still, 1, squares)));
  }
  s.each([&](std::size_t i) {
    before[i] = astype(s.params[i], before[i].dtype());
    gradient_before[i] = astype(s.updates[i], gradient_before[i].dtype());
  });

  std::vector<Array> alphas(static_cast<std::size_t>(memory_size));
  for (std::int64_t k = memory_size; k-- > 0;) {
    const Array at = (place + k) % memory_size;
    Array& alpha = alphas[static_cast<std::size_t>(k)];
    alpha = weights[at] * product(entry(moves, s.updates, at), s.updates);
    add(s.updates, -alpha, entry(changes, s.updates, at));
  }
  s.map([&](std::size_t i) { return like(scale, s.updates[i]) * s.updates[i]; });
  for (std::int64_t k = 0; k < memory_size; ++k) {
    const Array at = (place + k) % memory_size;
    const Array beta = weights[at] * product(entry(changes, s.updates, at), s.updates);
    add(s.updates, alphas[static_cast<std::size_t>(k)] - beta, entry(moves, s.updates, at));
  }
  count = count + 1;
}

}  // namespace apsis::optim
