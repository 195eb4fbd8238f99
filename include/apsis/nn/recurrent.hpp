#pragma once

// Steps of recurrent networks. A `scan` makes a network of them:
//
//   auto step = [&](const Array& h, const Array& x) {
//     Array next = cell(x, h);
//     return std::pair{next, next};
//   };
//   auto [last, all] = scan(step, zeros({cell.hidden_size()}), xs);

#include "apsis/core/array.hpp"

namespace apsis::nn {

/// Options of `make_gru_cell` and `make_lstm_cell`.
struct CellOptions {
  std::int64_t in = 1, hidden = 1;  ///< sizes of inputs and of the state
  bool use_bias = true;
  Dtype dtype = f64;
};

/// A step of a gated recurrent unit (Cho et al. 2014). Rows are those of reset, update and candidate.
struct GRUCell {
  Array weight_ih, weight_hh;  ///< [3 hidden, in], [3 hidden, hidden]
  Array bias, bias_n;          ///< [3 hidden], [hidden] of the candidate's state; empty: none
  std::int64_t hidden_size(Loc loc = Loc::here()) const { return weight_hh.dim(1, loc); }
  /// x: [in], the state: [hidden] → the next state. Throws for other shapes.
  Array operator()(const Array& x, const Array& hidden, Loc loc = Loc::here()) const;
};
/// Uniform in ±1/√hidden. Throws if a size is not positive.
GRUCell make_gru_cell(const CellOptions& options, const Array& key, Loc loc = Loc::here());

/// The state of an LSTMCell: [hidden] each. Its output is h.
struct LSTMState {
  Array h, c;
};
/// A step of long short-term memory (Hochreiter and Schmidhuber 1997). Rows are those of the input, forget,
/// cell and output gates.
struct LSTMCell {
  Array weight_ih, weight_hh;  ///< [4 hidden, in], [4 hidden, hidden]
  Array bias;                  ///< [4 hidden]; empty: none
  std::int64_t hidden_size(Loc loc = Loc::here()) const { return weight_hh.dim(1, loc); }
  /// Zeros.
  LSTMState init_state() const;
  /// x: [in] → the next state. Throws for other shapes.
  LSTMState operator()(const Array& x, const LSTMState& state, Loc loc = Loc::here()) const;
};
/// Uniform in ±1/√hidden. Throws if a size is not positive.
LSTMCell make_lstm_cell(const CellOptions& options, const Array& key, Loc loc = Loc::here());

}  // namespace apsis::nn
