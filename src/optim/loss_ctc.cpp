#include "apsis/control/scan.hpp"
#include "apsis/ops/index.hpp"
#include "optim/loss_support.hpp"

namespace apsis::optim {

using namespace detail;

namespace {

struct Alphas {
  Array phi, emit;
};
struct Row {
  Array emit, phi, pad;  // of one time: log probabilities of the labels and of the blank, and its padding
};

/// A blank after each label: phi[n] may come from the label before it.
Array with_labels(const Array& phi, const Array& added) {
  return concatenate({phi(ellipsis, range(0, 1)), logaddexp(phi(ellipsis, range(1, {})), added)}, -1);
}

void require_shapes(const Array& logits, const Array& logit_paddings, const Array& labels,
                    const Array& label_paddings) {
  const char* name = "ctc_loss";
  require_floating(name, "logits", logits);
  require_integers(name, "labels", labels);
  if (logits.ndim() != 3) fail(messages::loss_rank, {name, "logits", to_string(logits.aval()), "3"});
  if (labels.ndim() != 2) fail(messages::loss_rank, {name, "labels", to_string(labels.aval()), "2"});
  require_same_shape(name, labels, "label_paddings", label_paddings);
  const Shape times{logits.dim(0), logits.dim(1)};
  if (logit_paddings.shape() != times)
    fail(messages::loss_shape, {name, "logit_paddings", to_string(logit_paddings.shape()), to_string(times)});
  if (labels.dim(0) != logits.dim(0))
    fail(messages::loss_shape,
         {name, "labels", to_string(labels.shape()), to_string(Shape{logits.dim(0), labels.dim(1)})});
}

}  // namespace

CtcForward ctc_loss_with_forward_probs(const Array& logits, const Array& logit_paddings, const Array& labels,
                                       const Array& label_paddings, const CtcOptions& o, Loc loc) {
  const LocScope place(loc);
  require_shapes(logits, logit_paddings, labels, label_paddings);
  const std::int64_t batch = logits.dim(0), time = logits.dim(1), n = labels.dim(1);
  const Dtype dtype = logits.dtype();
  const Array log_p = log_softmax_where(logits, -1, {});
  // [time, batch, …]: of the blank, and of each label.
  const Array blank = transpose(log_p(ellipsis, range(o.blank_id, o.blank_id + 1)), {1, 0, 2});
  const Array places = broadcast_to(expand_dims(labels, 1), {batch, time, n});
  const Array emit = transpose(take_along_axis(log_p, places, 2), {1, 0, 2});
  // Whether a label is the same as the next: then there is a blank between them.
  const Array repeats =
      n == 0 ? zeros({batch, 0}, dtype)
             : pad(astype(labels(ellipsis, range(0, -1)) == labels(ellipsis, range(1, {})), dtype), {0, 0},
                   {0, 1});
  const Array padding = transpose(astype(logit_paddings, dtype));

  const Array first = full({batch, n + 1}, o.log_epsilon, dtype);
  const Alphas start{first.at(ellipsis, 0).set(0.), full({batch, n}, o.log_epsilon, dtype)};
  auto [end, all] = scan(
      [&](const Alphas& before, const Row& row) {
        const Array phi = with_labels(before.phi, before.emit + o.log_epsilon * repeats);
        const Array next_emit = logaddexp(phi(ellipsis, range(0, -1)) + row.emit, before.emit + row.emit);
        const Array next_phi =
            with_labels(phi + row.phi, before.emit + row.phi + o.log_epsilon * (1. - repeats));
        const Array padded = expand_dims(row.pad, -1);
        const Alphas next{padded * before.phi + (1. - padded) * next_phi,
                          padded * before.emit + (1. - padded) * next_emit};
        return std::pair{next, next};
      },
      start, Row{emit, blank, padding});
  if (time == 0) return {zeros({batch}, dtype), all.phi, all.emit};

  const Array last = with_labels(all.phi[-1], all.emit[-1]);
  const Array lengths = n - astype(sum(label_paddings, {.axis = 1}), i64);
  const Array loss = -squeeze(take_along_axis(last, expand_dims(lengths, 1), 1), 1);
  return {loss, all.phi.at(-1).set(last), all.emit};
}

Array ctc_loss(const Array& logits, const Array& logit_paddings, const Array& labels,
               const Array& label_paddings, const CtcOptions& options, Loc loc) {
  return ctc_loss_with_forward_probs(logits, logit_paddings, labels, label_paddings, options, loc).loss;
}

}  // namespace apsis::optim
