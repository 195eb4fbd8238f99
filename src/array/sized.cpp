#include "apsis/array/sized.hpp"

#include <algorithm>

#include "apsis/array/index.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

/// The length of the result: what was asked for, or the count.
std::int64_t known_size(const char* where, const Array& count, std::int64_t asked, const char* option) {
  if (asked >= 0) return asked;
  const Array value = concrete_value(count);
  if (value.is_empty()) fail(messages::array_traced, {where, option});
  return value.item<std::int64_t>();
}

constexpr const char* with_size = "{.size = n}";

/// The places of the elements of a vector of conditions that hold, in order; `n` where there are no more.
Array places_of(const char* where, const Array& holds, std::int64_t asked) {
  const Array before = cumsum(astype(holds, i64));
  const std::int64_t n = holds.size();
  const Array count = n > 0 ? before[-1] : array(std::int64_t{0});
  const std::int64_t size = known_size(where, count, asked, with_size);
  if (size == 0) return zeros({0}, i64);
  const Array slot = apsis::where(holds, before - 1, size);
  return full({size}, n, i64).at(slot).set(arange(n));
}

Array filling(const SizedOptions& options, Dtype dtype) {
  return options.fill.is_empty() ? Array(0, dtype) : astype(options.fill, dtype);
}

}  // namespace

Array flatnonzero(const Array& x, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array places = places_of("flatnonzero", ravel(x) != 0, options.size);
  return where(places == x.size(), filling(options, i64), places);
}

std::vector<Array> nonzero(const Array& x, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  check_rank("nonzero", x.ndim() >= 1, "an axis or more", x);
  const Array places = places_of("nonzero", ravel(x) != 0, options.size);
  std::vector<Array> out = unravel_index(places, x.shape());
  for (Array& index : out) index = where(places == x.size(), filling(options, i64), index);
  return out;
}

Array argwhere(const Array& x, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  if (x.ndim() == 0) return reshape(flatnonzero(x, options), {-1, 0});
  return stack(nonzero(x, options), 1);
}

Array extract(const Array& condition, const Array& x, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  if (condition.size() != x.size())
    fail(messages::array_sizes,
         {"extract", to_string(condition.aval()), to_string(x.aval()), "both need as many elements"});
  return compress(ravel(condition), ravel(x), 0, options);
}

Array compress(const Array& condition, const Array& x, int axis, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("compress", axis, x);
  check_rank("compress", condition.ndim() == 1, "one axis as condition", condition);
  const std::int64_t n = x.dim(along);
  if (condition.size() > n)
    fail(messages::array_sizes, {"compress", to_string(condition.aval()), to_string(x.aval()),
                                 "there are more conditions than entries"});
  const Array places = places_of("compress", condition != 0, options.size);
  const Shape along_it = with_size_at(Dims::filled(x.shape().size(), 1), along, places.size());
  const Array missing = reshape(places == condition.size(), along_it);
  if (n == 0) return broadcast_to(filling(options, x.dtype()), with_size_at(x.shape(), along, places.size()));
  return where(missing, filling(options, x.dtype()), take(x, places, along));
}
Array compress(const Array& condition, const Array& x, const SizedOptions& options, Loc loc) {
  return compress(condition, ravel(x, loc), 0, options, loc);
}

namespace {

/// Sorted elements, which of them are the first of their value, and where they came from.
struct Runs {
  Array sorted, order, first;
};

Runs runs_of(const Array& x) {
  const Array flat = ravel(x), order = argsort(flat);
  const Array sorted = take(flat, order, 0);
  if (flat.size() == 0) return {sorted, order, sorted != sorted};
  const Array later = part(sorted, 0, 1, {}), earlier = part(sorted, 0, 0, -1);
  Array differs = later != earlier;
  if (is_inexact(x.dtype())) differs = differs && !(isnan(later) && isnan(earlier));
  return {sorted, order, concatenate({array({true}), differs})};
}

/// The entries of a vector, in order and all different, that `kept` says; filled with the first.
Array kept_entries(const char* where, const Array& sorted, const Array& kept, const SizedOptions& options) {
  const Array places = places_of(where, kept, options.size);
  if (sorted.size() == 0) return broadcast_to(filling(options, sorted.dtype()), places.shape());
  const Array found = take(sorted, places, 0);
  const Array fill =
      options.fill.is_empty() && places.size() > 0 ? found[0] : filling(options, sorted.dtype());
  return apsis::where(places == sorted.size(), fill, found);
}

}  // namespace

Array unique(const Array& x, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  const Runs runs = runs_of(x);
  return kept_entries("unique", runs.sorted, runs.first, options);
}

Unique unique_all(const Array& x, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  const Runs runs = runs_of(x);
  const std::int64_t n = x.size();
  const Array starts = places_of("unique_all", runs.first, options.size);
  const Array values = kept_entries("unique_all", runs.sorted, runs.first, {starts.size(), options.fill});
  const Array number = cumsum(astype(runs.first, i64)) - 1;
  const Array inverse = zeros({n}, i64).at(runs.order).set(number);
  const Array ends = starts.size() > 0 ? concatenate({part(starts, 0, 1, {}), array({n})}) : starts;
  const Array indices = n > 0 && starts.size() > 0
                            ? take(runs.order, where(starts == n, starts[0], starts), 0)
                            : zeros(starts.shape(), i64);
  return {values, indices, reshape(inverse, x.shape()), ends - starts};
}

Array isin(const Array& x, const Array& among, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {x, ravel(among)};
  const std::vector<Array> v = promoted(given);
  if (among.size() == 0) return zeros(x.shape(), boolean);
  const Array sorted = sort(v[1]);
  return take(sorted, searchsorted(sorted, v[0]), 0) == v[0];
}

Array union1d(const Array& a, const Array& b, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  return unique(concatenate({ravel(a), ravel(b)}), options);
}

Array intersect1d(const Array& a, const Array& b, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {ravel(a), ravel(b)};
  const std::vector<Array> v = promoted(given);
  const Runs runs = runs_of(v[0]);
  return kept_entries("intersect1d", runs.sorted, runs.first && isin(runs.sorted, v[1]), options);
}

Array setdiff1d(const Array& a, const Array& b, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  const Runs runs = runs_of(a);
  return kept_entries("setdiff1d", runs.sorted, runs.first && !isin(runs.sorted, b), options);
}

Array setxor1d(const Array& a, const Array& b, const SizedOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {ravel(a), ravel(b)};
  const std::vector<Array> v = promoted(given);
  const Array both = concatenate(v);
  const Runs runs = runs_of(both);
  const Array in_a = isin(runs.sorted, v[0]), in_b = isin(runs.sorted, v[1]);
  return kept_entries("setxor1d", runs.sorted, runs.first && !(in_a && in_b), options);
}

Array bincount(const Array& x, const BincountOptions& options, Loc loc) {
  const LocScope place(loc);
  check_dtype("bincount", is_integer(x.dtype()), "integers", x);
  check_rank("bincount", x.ndim() == 1, "one axis", x);
  const Array count = x.size() > 0 ? max(astype(x, i64)) + 1 : array(std::int64_t{0});
  const std::int64_t length =
      std::max<std::int64_t>(0, known_size("bincount", count, options.length, "{.length = n}"));
  const Array weights = options.weights.is_empty() ? ones(x.shape(), i64) : options.weights;
  if (weights.shape() != x.shape())
    fail(messages::array_sizes,
         {"bincount", to_string(x.aval()), "weights " + to_string(weights.aval()), "give one an element"});
  return zeros({length}, weights.dtype()).at(maximum(astype(x, i64), 0)).add(weights);
}

}  // namespace apsis
