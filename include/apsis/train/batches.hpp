#pragma once

// The data of a training loop, batch by batch.
//
//   auto batches = train::batches(std::pair{images, labels}, {.batch_size = 64, .epochs = 20, .key = key});
//   for (std::int64_t i = first; i < batches.size(); ++i) {
//     auto [x, y] = batches[i];
//     …
//   }
//
// Batch i is a function of data, options and i alone: a loop that was interrupted goes on from its number.

#include <concepts>
#include <span>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/tree/map.hpp"

/// Loops over data: batches, progress, early stopping.
namespace apsis::train {

/// Options of `batches`.
struct BatchOptions {
  std::int64_t batch_size = 1;  ///< rows of a batch, 1 or more
  std::int64_t epochs = 1;      ///< how often each row comes, 1 or more; any great number: without end
  Array key = {};               ///< of the order, another one in each epoch; empty: rows as they stand
  bool drop_last = false;       ///< whether the rows at the end of an epoch that fill no batch are left out
};

/// The number of a batch, and where it is asked for.
struct BatchNumber {
  std::int64_t value;
  Loc loc;
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) BatchNumber(I i, Loc loc_ = Loc::here())
      : value(static_cast<std::int64_t>(i)), loc(loc_) {}
};

namespace detail {

/// Which rows are in which batch.
class BatchOrder {
 public:
  BatchOrder(std::span<const Array> leaves, const std::vector<std::string>& paths,
             const BatchOptions& options, Loc loc);
  std::int64_t batches_per_epoch() const { return per_epoch_; }
  std::int64_t size() const { return size_; }
  /// Throws unless there is a batch i.
  void check(const BatchNumber& i) const;
  /// The rows of batch i of each of the leaves; those that are empty stay empty.
  void take(const BatchNumber& i, std::span<Array> leaves) const;

 private:
  BatchOptions options_;
  std::int64_t rows_ = 0, per_epoch_ = 0, size_ = 0;
  // The order of the last epoch that was asked for.
  mutable std::int64_t epoch_ = -1;
  mutable Array order_;
};

}  // namespace detail

/// The batches of a tree of arrays. Made by `batches`. It remembers the order of an epoch: threads take
/// copies.
template <class T>
class Batches {
 public:
  Batches(T data, const BatchOptions& options, Loc loc)
      : data_(static_cast<T&&>(data)), order_(tree_leaves(data_), tree_paths(data_, "data"), options, loc) {}

  /// How many batches there are in all epochs.
  std::int64_t size() const { return order_.size(); }
  std::int64_t batches_per_epoch() const { return order_.batches_per_epoch(); }
  /// The epoch that a batch belongs to, from 0 on. Throws beyond the last batch.
  std::int64_t epoch_of(BatchNumber i) const {
    order_.check(i);
    return i.value / batches_per_epoch();
  }
  /// Batch i, counted through all epochs: the same tree with fewer rows. Throws beyond the last.
  T operator[](BatchNumber i) const {
    std::vector<Array> leaves = tree_leaves(data_);
    order_.take(i, leaves);
    return unflatten_like(data_, leaves, i.loc);
  }

  /// From the first batch of the first epoch to the last of the last.
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::int64_t;
    Iterator() = default;
    Iterator(const Batches* batches, std::int64_t i) : batches_(batches), i_(i) {}
    T operator*() const { return (*batches_)[i_]; }
    Iterator& operator++() { return ++i_, *this; }
    Iterator operator++(int) { return {batches_, i_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.i_ == b.i_; }

   private:
    const Batches* batches_ = nullptr;
    std::int64_t i_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  T data_;
  detail::BatchOrder order_;
};

/// The rows (axis 0) of all arrays of a tree in batches, each array alike. With a key their order in epoch e
/// is `random::permutation(random::fold_in(key, e), rows)`. Throws if an array has no axis, their numbers of
/// rows differ, there is no array, or `drop_last` leaves nothing.
template <class T>
Batches<T> batches(T data, const BatchOptions& options, Loc loc = Loc::here()) {
  return {static_cast<T&&>(data), options, loc};
}

}  // namespace apsis::train
