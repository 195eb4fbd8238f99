// What the losses share.
#pragma once

#include "apsis/nn/activation.hpp"
#include "apsis/optim/loss.hpp"
#include "optim/support.hpp"

namespace apsis::optim::detail {

void require_floating(const char* loss, const char* name, const Array& x);
void require_integers(const char* loss, const char* name, const Array& x);
void require_same_shape(const char* loss, const Array& a, const char* name, const Array& b);
/// Throws unless the shapes broadcast to one.
void require_fit(const char* loss, const char* name_a, const Array& a, const char* name_b, const Array& b);
/// `where` with the dimensions of x; empty if it is.
Array where_of(const LossOptions& options, const Array& x);
/// Over what counts.
Array masked_sum(const Array& x, const Axes& axis, const Array& where_, bool keepdims = false);
/// log(softmax(x)) over several axes, of what counts.
Array log_softmax_where(const Array& x, const Axes& axis, const Array& where_);
/// log(Σ exp(x)) over an axis, of what counts.
Array logsumexp_where(const Array& x, const Axes& axis, const Array& where_);

}  // namespace apsis::optim::detail
