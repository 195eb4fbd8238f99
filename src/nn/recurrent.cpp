#include "apsis/nn/recurrent.hpp"

#include <cmath>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/shape.hpp"
#include "nn/support.hpp"

namespace apsis::nn {
namespace {

double checked_bound(const char* where, const CellOptions& o) {
  check_size(where, "in", o.in);
  check_size(where, "hidden", o.hidden);
  return std::sqrt(1 / static_cast<double>(o.hidden));
}

}  // namespace

Array GRUCell::operator()(const Array& x, const Array& hidden, Loc loc) const {
  const LocScope place(loc);
  check_input("GRUCell", x, {weight_ih.dim(1)});
  check_input("GRUCell", hidden, {weight_hh.dim(1)});
  Array input = matmul(weight_ih, x);
  if (!bias.is_empty()) input = input + bias;
  const auto [reset_x, update_x, candidate_x] = unstack<3>(reshape(input, {3, hidden_size()}));
  auto [reset_h, update_h, candidate_h] = unstack<3>(reshape(matmul(weight_hh, hidden), {3, hidden_size()}));
  const Array reset = logistic(reset_x + reset_h), update = logistic(update_x + update_h);
  if (!bias_n.is_empty()) candidate_h = candidate_h + bias_n;
  const Array candidate = tanh(candidate_x + reset * candidate_h);
  return candidate + update * (hidden - candidate);
}

GRUCell make_gru_cell(const CellOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  const double bound = checked_bound("make_gru_cell", o);
  const auto [ih, hh, b, bn] = random::split<4>(key);
  const std::int64_t rows = 3 * o.hidden;
  GRUCell cell{uniform_within(bound, ih, {rows, o.in}, o.dtype),
               uniform_within(bound, hh, {rows, o.hidden}, o.dtype),
               {},
               {}};
  if (o.use_bias) {
    cell.bias = uniform_within(bound, b, {rows}, o.dtype);
    cell.bias_n = uniform_within(bound, bn, {o.hidden}, o.dtype);
  }
  return cell;
}

LSTMState LSTMCell::init_state() const {
  const Array zero = zeros({hidden_size()}, weight_hh.dtype());
  return {zero, zero};
}

LSTMState LSTMCell::operator()(const Array& x, const LSTMState& state, Loc loc) const {
  const LocScope place(loc);
  check_input("LSTMCell", x, {weight_ih.dim(1)});
  check_input("LSTMCell", state.h, {weight_hh.dim(1)});
  check_input("LSTMCell", state.c, {weight_hh.dim(1)});
  Array gates = matmul(weight_ih, x) + matmul(weight_hh, state.h);
  if (!bias.is_empty()) gates = gates + bias;
  const auto [input, forget, cell, output] = unstack<4>(reshape(gates, {4, hidden_size()}));
  const Array c = logistic(forget) * state.c + logistic(input) * tanh(cell);
  return {logistic(output) * tanh(c), c};
}

LSTMCell make_lstm_cell(const CellOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  const double bound = checked_bound("make_lstm_cell", o);
  const auto [ih, hh, b] = random::split<3>(key);
  const std::int64_t rows = 4 * o.hidden;
  return {uniform_within(bound, ih, {rows, o.in}, o.dtype),
          uniform_within(bound, hh, {rows, o.hidden}, o.dtype),
          o.use_bias ? uniform_within(bound, b, {rows}, o.dtype) : Array()};
}

}  // namespace apsis::nn
