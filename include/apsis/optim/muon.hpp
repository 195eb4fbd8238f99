#pragma once

#include "apsis/ops/creation.hpp"
#include "apsis/optim/adam.hpp"
#include "apsis/optim/matrix_axes.hpp"

namespace apsis::optim {

/// How a matrix is scaled before the steps of Newton and Schulz, which need singular values of 1 at most: by
/// its Frobenius or spectral norm, by almost orthogonal rows (Prach and Lampert, ECCV 2022), or by the
/// Frobenius norm of its product with itself.
enum class Preconditioning : std::uint8_t { Frobenius, Spectral, Aol, Schatten };

/// What `Muon` keeps between updates: mu of all leaves, nu of those that are no matrices.
template <class P>
struct MuonState {
  Array count;  ///< i64: updates so far
  P mu, nu;
};
/// Momentum of matrices made orthogonal by steps of Newton and Schulz (Jordan et al., Muon: an optimizer for
/// hidden layers in neural networks, 2024); leaves that are no matrices go by NAdamW.
struct Muon {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  /// Coefficients of the polynomial, [3], or [n, 3] for one a step, of which the last ns_steps count.
  Array ns_coeffs = array({3.4445, -4.775, 2.0315});
  std::int64_t ns_steps = 5;           ///< 1 or more
  Array beta = 0.95;                   ///< at least 0, less than 1
  Array eps = 1e-8;                    ///< at least 0
  ScalarOrSchedule weight_decay = 0.;  ///< of matrices, times the learning rate
  Mask mask = {};                      ///< the matrices that decay
  bool nesterov = true;
  bool adaptive =
      false;  ///< the orthogonal matrix times its product with the momentum (Bernstein and Newhouse 2024)
  Array consistent_rms =
      {};  ///< what the step's root mean square is about; empty: sqrt(max(1, columns / rows)) is its factor
  Array adam_b1 = 0.9, adam_b2 = 0.999;      ///< at least 0, less than 1
  Array adam_eps_root = 0.;                  ///< at least 0
  ScalarOrSchedule adam_weight_decay = 0.;   ///< of the others, times their learning rate
  ScalarOrSchedule adam_learning_rate = {};  ///< of the others; empty: learning_rate
  std::optional<Dtype> mu_dtype = {};        ///< that of mu; empty: the parameter's
  Preconditioning preconditioning = Preconditioning::Frobenius;
  /// Which axes of a leaf form matrices, as those of a convolution: empty: arrays with two axes are matrices.
  MatrixAxesOf matrix_axes = {};
  APSIS_TRANSFORMATION(MuonState<P>, {}, params, params)
};

/// The orthogonal matrix near x, by steps of Newton and Schulz. x: [m, n]. Throws for other shapes.
Array orthogonalize_via_newton_schulz(const Array& x,
                                      const Array& ns_coeffs = array({3.4445, -4.775, 2.0315}),
                                      std::int64_t ns_steps = 5, const Array& eps = 1e-8,
                                      Preconditioning preconditioning = Preconditioning::Frobenius,
                                      Loc loc = Loc::here());

}  // namespace apsis::optim
