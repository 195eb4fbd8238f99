// The controls of an equation: what they do in a step, and what vector fields make of it.

#include <algorithm>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/linalg.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/step.hpp"

namespace apsis {
namespace {

std::string text_of(std::span<const Array> leaves) {
  std::string text;
  for (const Array& a : leaves) text += (text.empty() ? "" : ", ") + to_string(a.aval());
  return text.empty() ? "nothing" : text;
}

/// g · x for one leaf of the state, where g has the axes of x behind those of the state.
Array contracted(const Array& g, const Array& x) { return x.ndim() == 0 ? g * x : tensordot(g, x, x.ndim()); }

bool fits(const ControlField& field, const Array& g, const Array& y, const Array& x) {
  Shape shape = y.shape();
  if (field.diagonal) return g.shape() == shape && x.shape() == shape;
  for (std::int64_t size : x.shape()) shape.push_back(size);
  return g.shape() == shape;
}

}  // namespace

namespace detail {

std::vector<Array> control_product(const ControlField& field, std::span<const Array> y,
                                   std::span<const Array> control) {
  if (field.like) {
    const auto& like = *static_cast<const LinearOperator*>(field.like.get());
    const bool vectors = y.size() == 1 && y[0].ndim() == 1 && control.size() == 1 && control[0].ndim() == 1;
    if (!vectors || like.rows() != y[0].size() || like.columns() != control[0].size())
      fail(messages::operator_mismatch,
           {std::to_string(like.rows()), std::to_string(like.columns()), text_of(y), text_of(control)});
    return {with_leaves(like, field.leaves).mv(control[0])};
  }
  const std::span<const Array> whole = y;
  y = y.subspan(field.first);
  const bool shared = control.size() == 1;
  bool fit = field.leaves.size() == y.size() && (shared || control.size() == y.size());
  for (std::size_t i = 0; fit && i < y.size(); ++i)
    fit = fits(field, field.leaves[i], y[i], control[shared ? 0 : i]);
  if (!fit)
    fail(field.diagonal ? messages::diagonal_mismatch : messages::control_mismatch,
         {text_of(y), text_of(control), text_of(field.leaves)});
  std::vector<Array> out;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Array &g = field.leaves[i], &x = control[shared ? 0 : i];
    out.push_back(field.diagonal ? g * x : contracted(g, x));
    if (out[i].dtype() != y[i].dtype() && !out[i].weak())
      fail(messages::control_dtype, {text_of(y.subspan(i, 1)), text_of({&x, 1}), text_of({&g, 1})});
  }
  std::vector<Array> all;
  for (const Array& a : whole.first(field.first)) all.push_back(zeros_like(a));
  all.insert(all.end(), out.begin(), out.end());
  return all;
}

void check_own_control(std::span<const Array> control) {
  if (control.empty() || !std::ranges::all_of(control, [](const Array& a) { return is_floating(a.dtype()); }))
    fail(messages::own_control, {text_of(control)});
}

void check_own_product(std::span<const Array> y, std::span<const Array> product) {
  const bool fit = std::ranges::equal(product, y, [](const Array& p, const Array& of_state) {
    return p.shape() == of_state.shape() && (p.dtype() == of_state.dtype() || p.weak());
  });
  if (!fit) fail(messages::own_product, {text_of(y), text_of(product)});
}

}  // namespace detail

bool Slopes::is_control(std::size_t i) const {
  return std::ranges::find(terms_.controls.terms, i) != terms_.controls.terms.end();
}

ControlIncrement Slopes::increment(const Array& t0, const Array& t1) const {
  const Array from = t0 * direction_, to = t1 * direction_;
  ControlIncrement out;
  for (std::size_t i = 0; i < terms_.controls.terms.size(); ++i) {
    std::vector<Array> none;
    detail::FlatIncrement one = terms_.controls.increment(terms_.context, terms_.controls.terms[i], from, to,
                                                          memory_ ? (*memory_)[i] : none);
    out.w.push_back(std::move(one.w));
    out.h.push_back(std::move(one.h));
    out.k.push_back(std::move(one.k));
  }
  return out;
}

std::vector<ControlField> Slopes::fields(const Array& t, std::span<const Array> y) const {
  std::vector<ControlField> out;
  for (std::size_t term : terms_.controls.terms)
    out.push_back(terms_.controls.field(terms_.context, term, t * direction_, y));
  return out;
}

std::vector<Array> Slopes::product(std::span<const ControlField> fields, std::span<const Array> y,
                                   const Controls& controls) const {
  std::vector<Array> total;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::vector<Array> one =
        terms_.controls.product(terms_.context, terms_.controls.terms[i], fields[i], y, controls[i]);
    for (std::size_t leaf = 0; i > 0 && leaf < total.size(); ++leaf) one[leaf] = total[leaf] + one[leaf];
    total = std::move(one);
  }
  return total;
}

std::pair<detail::PathTraits, Calculus> Slopes::path(std::size_t control) const {
  return terms_.controls.traits(terms_.context, terms_.controls.terms[control]);
}

detail::PathMemory Slopes::start_memory() const {
  detail::PathMemory memory;
  for (std::size_t term : terms_.controls.terms)
    memory.push_back(terms_.controls.start(terms_.context, term));
  return memory;
}
Slopes Slopes::remembering(detail::PathMemory& memory) const {
  Slopes with = *this;
  with.memory_ = &memory;
  return with;
}

Controls combined(std::initializer_list<std::pair<Array, const Controls&>> terms) {
  Controls out;
  for (const auto& [factor, controls] : terms)
    for (std::size_t i = 0; i < controls.size(); ++i) {
      if (out.size() <= i) out.emplace_back();
      for (std::size_t leaf = 0; leaf < controls[i].size(); ++leaf) {
        const Array one = astype(factor, controls[i][leaf].dtype()) * controls[i][leaf];
        if (out[i].size() <= leaf)
          out[i].push_back(one);
        else
          out[i][leaf] = out[i][leaf] + one;
      }
    }
  return out;
}

namespace detail {

std::vector<Array> slope_along(const Slopes& slopes, const Array& t, std::span<const Array> y,
                               const Controls& rate) {
  std::vector<Array> slope = slopes(t, y);
  const std::vector<Array> more = slopes.diffusion(t, y, rate);
  for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = slope[i] + more[i];
  return slope;
}

}  // namespace detail
}  // namespace apsis
