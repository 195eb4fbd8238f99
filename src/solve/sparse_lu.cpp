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
  /// Entries of a matrix of this pattern whose pivots are those on the diagonal, in the order of the
  /// analysis; none where a diagonal has gaps in every order.
  std::vector<double> dominant;

  explicit Analysis(const SparsePattern& p) {
    APSIS_FROM(klu, klu_l_defaults)(&common);
    symbolic = APSIS_FROM(klu, klu_l_analyze)(p.rows(), integers(p.row_starts()),
                                              integers(p.column_indices()), &common);
    if (symbolic == nullptr || symbolic->structural_rank != p.rows()) return;
    dominant.assign(static_cast<std::size_t>(p.count()), 1e-3 / static_cast<double>(p.rows()));
    for (std::int64_t k = 0; k < p.rows(); ++k) {
      const auto row = static_cast<std::size_t>(symbolic->Q[k]);
      const auto begin = p.column_indices().begin();
      const auto at = std::find(begin + p.row_starts()[row], begin + p.row_starts()[row + 1], symbolic->P[k]);
      dominant[static_cast<std::size_t>(at - begin)] = 1;
    }
  }
  Analysis(const Analysis&) = delete;
  Analysis& operator=(const Analysis&) = delete;
  ~Analysis() { APSIS_FROM(klu, klu_l_free_symbolic)(&symbolic, &common); }
};

/// The factors of one matrix. Rows of ours are KLU's columns: it sees the transpose.
class Factors {
 public:
  explicit Factors(const SparsePattern& p)
      : analysis_(std::static_pointer_cast<const Analysis>(p.kept([](const SparsePattern& own) {
          return std::shared_ptr<const void>(std::make_shared<const Analysis>(own));
        }))) {
    APSIS_FROM(klu, klu_l_defaults)(&common_);
    if (!analysis_->dominant.empty()) diagonal_ = factor(p, analysis_->dominant.data());
  }
  Factors(const Factors&) = delete;
  Factors& operator=(const Factors&) = delete;
  ~Factors() {
    for (klu_l_numeric** n : {&diagonal_, &pivoted_})
      if (*n) APSIS_FROM(klu, klu_l_free_numeric)(n, &common_);
  }
  /// Factors of these entries. By the pivots on the diagonal where they do, as they do for most of Newton's
  /// matrices: their places are known, and only numbers are computed anew; otherwise by others. What was
  /// factorised before makes no difference.
  void make(const SparsePattern& p, const double* entries) {
    if (pivoted_) APSIS_FROM(klu, klu_l_free_numeric)(&pivoted_, &common_);
    common_.status = KLU_OK;
    const bool sound =
        diagonal_ != nullptr &&
        APSIS_FROM(klu, klu_l_refactor)(integers(p.row_starts()), integers(p.column_indices()),
                                        written(entries), analysis_->symbolic, diagonal_, &common_) &&
        APSIS_FROM(klu, klu_l_rgrowth)(integers(p.row_starts()), integers(p.column_indices()),
                                       written(entries), analysis_->symbolic, diagonal_, &common_) &&
        common_.rgrowth > least_growth;
    if (!sound && analysis_->symbolic) pivoted_ = factor(p, entries);
    made_ = sound ? diagonal_ : pivoted_;
  }
  /// Solves in place; false of singular matrices.
  bool solve(double* right, std::int64_t n, bool transposed) {
    if (!made_ || common_.status == KLU_SINGULAR) return false;
    klu_l_symbolic* symbolic = analysis_->symbolic;
    return transposed ? APSIS_FROM(klu, klu_l_solve)(symbolic, made_, n, 1, right, &common_)
                      : APSIS_FROM(klu, klu_l_tsolve)(symbolic, made_, n, 1, right, &common_);
  }

 private:
  /// The reciprocal growth of pivots, down to which a thousand roundings are lost.
  static constexpr double least_growth = 1e-3;
  static double* written(const double* entries) { return const_cast<double*>(entries); }
  klu_l_numeric* factor(const SparsePattern& p, const double* entries) {
    return APSIS_FROM(klu, klu_l_factor)(integers(p.row_starts()), integers(p.column_indices()),
                                         written(entries), analysis_->symbolic, &common_);
  }

  std::shared_ptr<const Analysis> analysis_;
  klu_l_common common_;
  klu_l_numeric *diagonal_ = nullptr, *pivoted_ = nullptr, *made_ = nullptr;
};

/// The factors of matrices of one pattern.
class FactorsOfOne {
 public:
  explicit FactorsOfOne(SparsePattern p) : pattern_(std::move(p)) {}
  const SparsePattern& pattern() const { return pattern_; }
  bool are_of(const SparsePattern& p, std::span<const double> entries) const {
    return !entries.empty() && entries_.size() == entries.size() && pattern_ == p &&
           std::memcmp(entries_.data(), entries.data(), entries.size_bytes()) == 0;
  }
  void make(std::span<const double> entries, std::int64_t matrices) {
    entries_.assign(entries.begin(), entries.end());
    factors_.resize(static_cast<std::size_t>(matrices));
    for (std::int64_t m = 0; m < matrices; ++m) {
      std::unique_ptr<Factors>& own = factors_[static_cast<std::size_t>(m)];
      if (own == nullptr) own = std::make_unique<Factors>(pattern_);
      own->make(pattern_, entries.data() + m * pattern_.count());
    }
  }
  Factors& operator[](std::int64_t matrix) const { return *factors_[static_cast<std::size_t>(matrix)]; }

 private:
  SparsePattern pattern_;
  std::vector<double> entries_;
  std::vector<std::unique_ptr<Factors>> factors_;
};

/// The factors of the matrices of a thread's last solves, which the next ones, of an iteration or of the
/// stages of a step, most often have again: a step may have several.
class KeptFactors {
 public:
  static constexpr std::int64_t most = 64;
  static constexpr std::size_t patterns = 4;
  static FactorsOfOne& of(const SparsePattern& p, std::span<const double> entries, std::int64_t matrices) {
    std::vector<FactorsOfOne>& all = of_thread();
    auto at = std::ranges::find_if(all, [&](const FactorsOfOne& f) { return f.are_of(p, entries); });
    const bool there = at != all.end();
    if (!there) at = std::ranges::find_if(all, [&](const FactorsOfOne& f) { return f.pattern() == p; });
    if (at == all.end()) {
      if (all.size() == patterns) all.pop_back();
      at = all.insert(all.end(), FactorsOfOne(p));
    }
    std::rotate(all.begin(), at, at + 1);
    if (!there) all.front().make(entries, matrices);
    return all.front();
  }
  /// Forgets those that were used last.
  static void drop() { of_thread().erase(of_thread().begin()); }

 private:
  static std::vector<FactorsOfOne>& of_thread() {
    static thread_local std::vector<FactorsOfOne> all;
    return all;
  }
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
  const FactorsOfOne& kept = KeptFactors::of(p, {values, static_cast<std::size_t>(groups * count)}, groups);
  for (std::int64_t s = 0; s < solves; ++s) {
    double* own = x.data() + s * n;
    if (!kept[which[s]].solve(own, n, transposed))
      std::fill_n(own, n, std::numeric_limits<double>::quiet_NaN());
  }
  if (groups > KeptFactors::most) KeptFactors::drop();
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
