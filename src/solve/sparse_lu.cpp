// Sparse LU by KLU of SuiteSparse (T. A. Davis and E. Palamadai Natarajan, "Algorithm 907: KLU, a direct
// sparse solver for circuit simulation problems", ACM TOMS 37, 2010), called by the host.

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

#include "apsis/control/callback.hpp"
#include "apsis/control/implicit.hpp"
#include "apsis/core/outside_library.hpp"
#include "apsis/solve/linear_solve.hpp"
#include "solve/sparse.hpp"
#include "solve/support.hpp"

#ifdef APSIS_KLU_FILE
#include <klu.h>
#endif

namespace apsis::detail {

void require_sparse_lu(bool there, Loc loc) {
  if (!there) fail(messages::linear_no_klu, {}, loc);
}

#ifdef APSIS_KLU_FILE

bool has_sparse_lu() { return true; }

namespace {

constexpr OutsideLibrary klu{APSIS_KLU_FILE};

static_assert(sizeof(SuiteSparse_long) == sizeof(std::int64_t));
SuiteSparse_long* integers(std::span<const std::int64_t> values) {
  // KLU does not write to them, and is not written with const.
  return reinterpret_cast<SuiteSparse_long*>(const_cast<std::int64_t*>(values.data()));
}

/// The analysis of a pattern, null where memory was too little: the same for all entries.
struct Analysis {
  klu_l_common common;
  klu_l_symbolic* symbolic;
  explicit Analysis(const SparsePattern& p) {
    APSIS_FROM(klu, klu_l_defaults)(&common);
    symbolic = APSIS_FROM(klu, klu_l_analyze)(p.rows(), integers(p.row_starts()),
                                              integers(p.column_indices()), &common);
  }
  Analysis(const Analysis&) = delete;
  Analysis& operator=(const Analysis&) = delete;
  ~Analysis() { APSIS_FROM(klu, klu_l_free_symbolic)(&symbolic, &common); }
};

/// The factors of one matrix. Rows of ours are KLU's columns: it sees the transpose.
class Factors {
 public:
  Factors(const SparsePattern& p, const double* entries)
      : analysis_(std::static_pointer_cast<const Analysis>(p.kept([](const SparsePattern& own) {
          return std::shared_ptr<const void>(std::make_shared<const Analysis>(own));
        }))) {
    APSIS_FROM(klu, klu_l_defaults)(&common_);
    if (analysis_->symbolic)
      numeric_ = APSIS_FROM(klu, klu_l_factor)(integers(p.row_starts()), integers(p.column_indices()),
                                               const_cast<double*>(entries), analysis_->symbolic, &common_);
  }
  Factors(const Factors&) = delete;
  Factors& operator=(const Factors&) = delete;
  ~Factors() {
    if (numeric_) APSIS_FROM(klu, klu_l_free_numeric)(&numeric_, &common_);
  }
  /// Solves in place; false of singular matrices.
  bool solve(double* right, std::int64_t n, bool transposed) {
    if (!numeric_ || common_.status == KLU_SINGULAR) return false;
    klu_l_symbolic* symbolic = analysis_->symbolic;
    return transposed ? APSIS_FROM(klu, klu_l_solve)(symbolic, numeric_, n, 1, right, &common_)
                      : APSIS_FROM(klu, klu_l_tsolve)(symbolic, numeric_, n, 1, right, &common_);
  }

 private:
  std::shared_ptr<const Analysis> analysis_;
  klu_l_common common_;
  klu_l_numeric* numeric_ = nullptr;
};

/// The factors of the matrices of a thread's last solves, which the next ones, of an iteration or of the
/// stages of a step, most often have again.
class KeptFactors {
 public:
  static constexpr std::int64_t most = 64;
  static KeptFactors& of(const SparsePattern& p, std::span<const double> entries, std::int64_t matrices) {
    static thread_local KeptFactors kept;
    const std::size_t bytes = entries.size() * sizeof(double);
    if (kept.factors_.size() == static_cast<std::size_t>(matrices) && kept.pattern_ == p &&
        kept.entries_.size() == entries.size() && bytes > 0 &&
        std::memcmp(kept.entries_.data(), entries.data(), bytes) == 0)
      return kept;
    kept.pattern_ = p;
    kept.factors_.clear();
    for (std::int64_t m = 0; m < matrices; ++m)
      kept.factors_.push_back(std::make_unique<Factors>(p, entries.data() + m * p.count()));
    kept.entries_.assign(entries.begin(), entries.end());
    return kept;
  }
  void drop() { factors_.clear(), entries_ = {}; }
  Factors& operator[](std::int64_t matrix) const { return *factors_[static_cast<std::size_t>(matrix)]; }

 private:
  SparsePattern pattern_;
  std::vector<double> entries_;
  std::vector<std::unique_ptr<Factors>> factors_;
};

/// Solves of concrete arrays: entries [.., count], right sides [.., n], whose first axes, those of vmap,
/// broadcast. One factorisation for each matrix.
template <bool transposed>
Array solve_all(const SparsePattern& p, const Array& entries, const Array& right) {
  const std::int64_t n = p.rows(), count = p.count();
  Shape matrices = entries.shape(), shape = right.shape();
  matrices.erase(matrices.size() - 1);
  for (std::size_t i = 0; i < matrices.size(); ++i) shape[i] = std::max(shape[i], matrices[i]);
  const Array all = broadcast_to(right, shape);
  std::vector<double> x(static_cast<const double*>(data_of(all)),
                        static_cast<const double*>(data_of(all)) + all.size());
  const auto* values = static_cast<const double*>(data_of(entries));
  const std::int64_t solves = n == 0 ? 0 : all.size() / n, groups = matrices.product();
  // Which matrix each right side is of.
  Shape leading = shape;
  leading.erase(leading.size() - 1);
  const Array matrix_of = ravel(broadcast_to(reshape(arange(groups), matrices), leading));
  const auto* which = static_cast<const std::int64_t*>(data_of(matrix_of));
  KeptFactors& kept = KeptFactors::of(p, {values, static_cast<std::size_t>(groups * count)}, groups);
  for (std::int64_t s = 0; s < solves; ++s) {
    double* own = x.data() + s * n;
    if (!kept[which[s]].solve(own, n, transposed))
      std::fill_n(own, n, std::numeric_limits<double>::quiet_NaN());
  }
  if (groups > KeptFactors::most) kept.drop();
  return array(std::span<const double>(x), shape);
}

/// As a function of values of programs.
template <bool transposed>
Array by_host(const SparsePattern& p, const Array& entries, const Array& right) {
  const auto solve =
      pure_callback([](const SparsePattern& own, const Array& a,
                       const Array& b) { return solve_all<transposed>(own, a, b); },
                    zeros({p.rows()}), {.vmap_method = VmapMethod::ExpandDims, .name = "sparse_lu"});
  return astype(solve(p, astype(entries, f64), astype(right, f64)), right.dtype());
}

}  // namespace

Array sparse_lu_solve(const LinearOperator& a, const Array& b) {
  // Derivatives are those of the equation, and none of the solver's.
  const Array entries = stop_gradient(a.entries());
  const SparsePattern& p = a.pattern();
  return custom_linear_solve(
      [&](const Array& x) { return a.mv(x); }, b,
      [&](const auto&, const Array& right) { return by_host<false>(p, entries, right); },
      [&](const auto&, const Array& right) { return by_host<true>(p, entries, right); });
}

#else

bool has_sparse_lu() { return false; }
Array sparse_lu_solve(const LinearOperator&, const Array&) {
  require_sparse_lu(false, Loc::here());
  return {};
}

#endif

}  // namespace apsis::detail
