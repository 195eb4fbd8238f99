#include "apsis/train/batches.hpp"

#include <algorithm>
#include <limits>

#include "apsis/core/op.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/random.hpp"
#include "train/messages.hpp"
#include "train/rows.hpp"

namespace apsis::train::detail {
namespace {

void require_positive(const char* name, std::int64_t value) {
  if (value < 1) fail(messages::batch_options, {name, std::to_string(value)});
}

}  // namespace

BatchOrder::BatchOrder(std::span<const Array> leaves, const std::vector<std::string>& paths,
                       const BatchOptions& options, Loc loc)
    : options_(options) {
  const LocScope place(loc);
  require_positive("batch_size", options.batch_size);
  require_positive("epochs", options.epochs);
  const Array& key = options.key;
  if (!key.is_empty() && (key.dtype() != u32 || key.shape() != Shape{2}))
    fail(messages::batch_key, {to_string(key.aval())});
  rows_ = rows_of("batches", leaves, paths);
  per_epoch_ = rows_ / options.batch_size;
  if (!options.drop_last) {
    per_epoch_ += rows_ % options.batch_size != 0;
  } else if (per_epoch_ == 0) {
    fail(messages::batch_dropped, {std::to_string(rows_), std::to_string(options.batch_size)});
  }
  if (__builtin_mul_overflow(per_epoch_, options.epochs, &size_))
    size_ = std::numeric_limits<std::int64_t>::max();
}

void BatchOrder::check(const BatchNumber& i) const {
  if (i.value >= 0 && i.value < size()) return;
  fail(messages::batch_number,
       {std::to_string(i.value),
        size() ? "they are numbered from 0 to " + std::to_string(size() - 1) : "the data has no rows"},
       i.loc);
}

void BatchOrder::take(const BatchNumber& i, std::span<Array> leaves) const {
  const LocScope place(i.loc);
  check(i);
  const std::int64_t epoch = i.value / per_epoch_, begin = i.value % per_epoch_ * options_.batch_size,
                     end = std::min(begin + options_.batch_size, rows_);
  Array rows;
  if (!options_.key.is_empty()) {
    Array order = order_;
    if (epoch != epoch_) {
      order = random::permutation(random::fold_in(options_.key, epoch), rows_);
      // What a trace computes is that trace's.
      if (is_concrete(order)) {
        order_ = order;
        epoch_ = epoch;
      }
    }
    rows = order[range(begin, end)];
  }
  for (Array& leaf : leaves)
    if (!leaf.is_empty()) leaf = rows.is_empty() ? leaf[range(begin, end)] : apsis::take(leaf, rows, 0);
}

}  // namespace apsis::train::detail
