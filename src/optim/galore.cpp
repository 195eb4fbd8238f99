#include "apsis/optim/galore.hpp"

#include "apsis/control/cond.hpp"
#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/index.hpp"
#include "optim/matrices.hpp"

namespace apsis::optim {
namespace detail {
namespace {

AsMatrices form_of(const GaloreOptions& options, const Array& leaf, const std::string& path, Loc loc) {
  return *as_matrices(leaf, options.matrix_axes, "galore", path, loc);
}
/// The projector stands on the longer side.
bool is_left(const AsMatrices& form) { return form.rows >= form.columns; }

}  // namespace

void check_galore(const GaloreOptions& options, Loc loc) {
  check_count("galore", "rank", options.rank, loc);
  check_count("galore", "update_proj_gap", options.update_proj_gap, loc);
}

std::pair<Array, Array> galore_start(const GaloreOptions& options, const Array& leaf, const std::string& path,
                                     Loc loc) {
  if (!Start::is_trained(leaf)) return {Array(), leaf};
  const auto form = as_matrices(leaf, options.matrix_axes, "galore", path, loc);
  if (!form) return {Array(), leaf};
  const Array matrices = (*form)(leaf);
  const std::int64_t rank = std::min({options.rank, form->rows, form->columns});
  auto zeros_of = [&](std::int64_t rows, std::int64_t columns) {
    return matrices.ndim() == 3 ? zeros({matrices.dim(0), rows, columns}, leaf.dtype())
                                : zeros({rows, columns}, leaf.dtype());
  };
  if (is_left(*form)) return {zeros_of(form->rows, rank), zeros_of(rank, form->columns)};
  return {zeros_of(form->columns, rank), zeros_of(form->rows, rank)};
}

Array galore_projector(const GaloreOptions& options, const Array& gradient, const Array& projector,
                       const Array& renew, const std::string& path, Loc loc) {
  const AsMatrices form = form_of(options, gradient, path, loc);
  const Array matrices = form(gradient);
  const bool left = is_left(form);
  const std::int64_t rank = projector.dim(-1);
  auto decompose = [=](const Array& g, const Array& p) {
    const linalg::SVDResult found = linalg::svd(g, {.full_matrices = false});
    const Array vectors = left ? found.u : transposed(found.vh);
    return astype(vectors(ellipsis, range(0, rank)), p.dtype());
  };
  return cond(
      renew, decompose, [](const Array&, const Array& p) { return p; }, matrices, projector);
}

Array galore_project(const GaloreOptions& options, const Array& gradient, const Array& projector,
                     const std::string& path, Loc loc) {
  const AsMatrices form = form_of(options, gradient, path, loc);
  const Array g = form(gradient);
  return is_left(form) ? matmul(transposed(projector), g) : matmul(g, projector);
}

Array galore_back(const GaloreOptions& options, const Array& change, const Array& gradient,
                  const Array& projector, const std::string& path, Loc loc) {
  const AsMatrices form = form_of(options, gradient, path, loc);
  const Array full = is_left(form) ? matmul(projector, change) : matmul(change, transposed(projector));
  return astype(like(options.scale, full) * form.back(full), gradient.dtype());
}

}  // namespace detail

Chain<ScaleByGalore<ScaleByAdam>, AddDecayedWeights, ScaleByLearningRate> galore(const GaloreDescent& o) {
  return chain(scale_by_galore(o.projection), AddDecayedWeights{o.weight_decay, o.mask},
               ScaleByLearningRate{o.learning_rate});
}

}  // namespace apsis::optim
