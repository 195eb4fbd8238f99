// Programs like those of users: buffers that nested loops and branches carry, capture, read and write.
//
// No step makes elements or derivatives grow by much, so that comparisons mean something after sixty trips: a
// step adds something bounded, or halves.

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "compositions/generate.hpp"

namespace apsis::compositions {
namespace {

struct Value {
  int name;
  Shape shape;
  Dtype dtype = f64;  // or f32: what x has
  bool real() const { return dtype == f64; }
};

// Sizes at which the compiler decides otherwise: loops written out and lists of few elements (16), arrays in
// registers (32, 64), orders of sums (16, 256, 4096), of dot products (32), inline products (4096), records
// of tapes (2 KiB: 256 doubles), free blocks (2 KiB, 64 KiB), the optimisation of large arrays (32768),
// blocks of tapes and arrays held through loops (1 MiB: 131072 doubles; several lanes have that together).
constexpr std::int64_t thresholds[] = {2,   4,   8,    16,   32,   64,   100,  128,
                                       256, 512, 1024, 2048, 4096, 8192, 32768};

class NestGenerator {
 public:
  explicit NestGenerator(std::uint64_t seed) : random_(seed ^ 0x9e3779b97f4a7c15u) {}

  Block program() {
    choose_sizes();
    unchosen_ = random_.chance(15);
    Block b;
    const bool whole = random_.chance(25);  // the parameter is a buffer
    const Shape parameter = whole ? buffer_ : small_shape();
    const Value x = parameter_of(b, parameter);
    // What the loops around carry and capture.
    std::vector<Value> carried;
    const Value first = whole ? x : spread(b, scalar_of(b, x));
    carried.push_back(first);
    if (random_.chance(50)) carried.push_back(random_.chance(50) ? ramp(b) : spread(b, scalar_of(b, x)));
    if (random_.chance(60)) carried.push_back(tame(b, scalar_of(b, x)));
    if (random_.chance(30)) carried.push_back(count_of(b, x));
    if (random_.chance(40) && parameter.size() == 1) carried.push_back(x);
    if (!unchosen_ && random_.chance(30)) carried.push_back(integers_of(b, first));
    if (random_.chance(40)) ramp(b);
    if (!unchosen_ && random_.chance(15)) integers_of(b, first);
    count_of(b, x);

    const int nests = random_.chance(90) ? 1 : 2;
    for (int i = 0; i < nests; ++i) nest(b, carried, large() || random_.chance(25) ? 2 : 3);
    std::vector<Value> ends;
    for (const Value& v : carried)
      if (v.real()) ends.push_back(v);
    const Value end = ends[static_cast<std::size_t>(
        random_.chance(70) ? 0 : random_.below(static_cast<std::int64_t>(ends.size())))];
    if (end.shape.product() <= 8 || (random_.chance(25) && whole)) {
      b.results = {end.name};
    } else if (random_.chance(25)) {
      b.results = {add(b, Shape{}, "mean", {end}).name};
    } else {
      b.results = {add(b, Shape{4}, "summary", {end}).name};
    }
    return b;
  }

 private:
  using Values = std::vector<Value>;

  // Sizes.

  void choose_sizes() {
    const std::int64_t kind = random_.below(1000);
    std::int64_t from = 0, to = 6;        // 2 … 100
    if (kind >= 700) from = 6, to = 12;   // … 2048
    if (kind >= 920) from = 11, to = 13;  // … 4096
    if (kind >= 985) from = 13, to = 15;  // … 32768
    const std::int64_t at = thresholds[from + random_.below(to - from)];
    size_ =
        random_.chance(25) ? at + random_.below(at) : std::max<std::int64_t>(1, at - 1 + random_.below(3));
    if (kind < 30) size_ = 1;
    if (kind >= 998) size_ = random_.chance(50) ? 100'000 : 131'071 + random_.below(3);
    if (random_.chance(45) && kind < 700) size_ = 17 + random_.below(48);
    buffer_ = {size_};
    if (random_.chance(20) && size_ > 1) {
      static const std::int64_t widths[] = {2, 3, 4, 5, 8, 16, 17};
      const std::int64_t width = std::min(widths[random_.below(7)], size_);
      buffer_ = {std::max<std::int64_t>(1, size_ / width), width};
    }
  }
  bool large() const { return size_ > 2100; }
  Shape small_shape() {
    static const Shape shapes[] = {{1}, {2}, {3}, {3}, {5}, {5}};
    return random_.chance(15) ? Shape{} : shapes[random_.below(6)];
  }
  std::int64_t rows() const { return buffer_[0]; }
  Shape row() const {
    Shape s = buffer_;
    s.erase(0);
    return s;
  }

  /// That a scalar is above a number.
  struct Condition {
    Value by;
    double above;
  };

  // Steps.

  Value parameter_of(Block& b, const Shape& shape, Dtype dtype = f64) {
    const Value v{next_name_++, shape, dtype};
    b.parameters.push_back({v.name, shape});
    visible_.push_back(v);
    return v;
  }
  Value add(Block& b, const Shape& shape, const char* op, const Values& operands,
            std::vector<double> numbers = {}, Dtype dtype = f64) {
    Step step{next_name_++, shape, op, {}, std::move(numbers)};
    for (const Value& v : operands) step.operands.push_back(v.name);
    const Value made{step.name, shape, dtype};
    visible_.push_back(made);
    b.steps.push_back(std::move(step));
    return made;
  }

  Values all_of(const Shape& shape, Dtype dtype = f64) const {
    Values fit;
    for (const Value& v : visible_)
      if (v.shape == shape && v.dtype == dtype) fit.push_back(v);
    return fit;
  }
  /// One of them, of late more often than not.
  const Value& one_of(const Values& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return values[static_cast<std::size_t>(
        random_.chance(60) ? n - 1 - random_.below(std::min<std::int64_t>(n, 3)) : random_.below(n))];
  }
  double eighths(std::int64_t from, std::int64_t to) {
    return static_cast<double>(from + random_.below(to - from + 1)) / 8;
  }

  Value ramp(Block& b) { return add(b, buffer_, "ramp", {}, {0.625, 1.5 / static_cast<double>(size_)}); }
  Value spread(Block& b, const Value& scalar) {
    std::vector<double> numbers{0.375, 1.25 / static_cast<double>(size_)};
    numbers.insert(numbers.end(), buffer_.begin(), buffer_.end());
    return add(b, buffer_, "spread", {scalar}, numbers);
  }
  Value tame(Block& b, const Value& v) {
    static const char* const ways[] = {"tanh", "sin", "cos"};
    return add(b, v.shape, ways[random_.below(3)], {v});
  }
  /// A scalar made of a value.
  Value scalar_of(Block& b, const Value& v) {
    if (v.shape.empty()) return v;
    switch (random_.below(4)) {
      case 0:
        return add(b, {}, "mean", {v});
      case 1:
        return add(b, {}, "largest", {v});
      default: {
        Value at = v;
        while (!at.shape.empty()) {
          Shape inner = at.shape;
          inner.erase(0);
          const double offset = static_cast<double>(random_.below(at.shape[0]));
          at = add(b, inner, "read_i", {at, index(b)}, {1, offset, random_.chance(80) ? 1. : 0.});
        }
        return at;
      }
    }
  }
  Value count_of(Block& b, const Value& v) { return add(b, {}, "index_of", {scalar_of(b, v)}, {}, i64); }
  Value scalar(Block& b) {
    const Values fit = all_of({});
    if (!fit.empty() && random_.chance(75)) return one_of(fit);
    const Values buffers = all_of(buffer_);
    return buffers.empty() ? add(b, {}, "constant", {}, {eighths(-8, 8)}) : scalar_of(b, one_of(buffers));
  }
  Value index(Block& b) {
    const Values fit = all_of({}, i64), buffers = integer_buffers();
    if (!buffers.empty() && random_.chance(15)) return index_in(b, one_of(buffers));
    if (!fit.empty() && random_.chance(92)) return one_of(fit);
    return add(b, {}, "index_of", {add(b, {}, "constant", {}, {eighths(0, 16)})}, {}, i64);
  }
  Value buffer(Block& b) {
    const Values fit = all_of(buffer_);
    return fit.empty() ? ramp(b) : one_of(fit);
  }
  /// A bounded row of a buffer.
  Value row_value(Block& b) {
    if (buffer_.size() == 1) return tame(b, scalar(b));
    const Values fit = all_of(row());
    if (!fit.empty() && random_.chance(60)) return tame(b, one_of(fit));
    return tame(b, add(b, row(), "read_i", {buffer(b), index(b)}, place()));
  }
  std::vector<double> place() {
    const double stride = random_.chance(60) ? 1 : static_cast<double>(1 + random_.below(rows()));
    return {stride, random_.chance(60) ? 0 : static_cast<double>(random_.below(rows())),
            random_.chance(75) ? 1. : 0.};
  }

  // Buffers of integers and masks, of every dtype.

  Values integer_buffers() const {
    Values fit;
    for (const Value& v : visible_)
      if (v.shape == buffer_ && !v.real()) fit.push_back(v);
    return fit;
  }
  Value integers_of(Block& b, const Value& buffer) {
    static const Dtype dtypes[] = {i64, i64, i32, i32, i16, i8, u8, u16, u32, u64, boolean, boolean, boolean};
    const Dtype dtype = dtypes[random_.below(13)];
    if (dtype == boolean) return mask(b, buffer);
    return add(b, buffer.shape, "integers_of", {buffer}, {static_cast<double>(dtype)}, dtype);
  }
  Value mask(Block& b, const Value& buffer) {
    return add(b, buffer.shape, "mask_above", {buffer}, {0.1414 + eighths(-4, 8)}, boolean);
  }
  /// A count or a place in what a buffer of integers holds.
  Value index_in(Block& b, const Value& v) {
    if (random_.chance(25))
      return add(b, {}, "total_of", {v}, {static_cast<double>(2 + random_.below(6))}, i64);
    const Values counts = all_of({}, i64);
    if (counts.empty() || buffer_.size() > 1)
      return random_.chance(50) ? add(b, {}, "place_of_largest", {buffer(b)}, {}, i64)
                                : add(b, {}, "total_of", {v}, {5}, i64);
    return add(b, {}, "widened", {add(b, {}, "read_i", {v, one_of(counts)}, place(), v.dtype)}, {}, i64);
  }
  /// A row for a buffer of integers.
  Value integer_row(Block& b, const Value& v) {
    if (v.dtype == boolean || buffer_.size() > 1)
      return add(b, row(), "read_i", {one_of(all_of(buffer_, v.dtype)), index(b)}, place(), v.dtype);
    return add(b, {}, "like_integers", {index(b), v}, {}, v.dtype);
  }
  Value next_integers(Block& b, const Value& v) {
    const auto like = [&](const char* op, const Values& operands, std::vector<double> numbers = {}) {
      return add(b, buffer_, op, operands, std::move(numbers), v.dtype);
    };
    const bool flags = v.dtype == boolean;
    const auto other = [&] { return one_of(all_of(buffer_, v.dtype)); };
    switch (random_.below(10)) {
      case 0:
        return flags ? like("mask_other", {v})
                     : like("plus_bounded", {v}, {static_cast<double>(random_.below(5))});
      case 1:
        return flags ? like("mask_differ", {v, random_.chance(50) ? mask(b, buffer(b)) : other()})
                     : like("sum_bounded", {v, other()});
      case 2:
        return like(random_.chance(50) ? "larger_integers" : "bits_of_both", {v, other()});
      case 3:
      case 4:
        return like("set_i", {v, integer_row(b, v), index(b)}, place());
      case 5:
        return flags ? mask(b, buffer(b))
                     : like("plus_bounded", {like("add_i", {v, integer_row(b, v), index(b)}, place())}, {0});
      case 6: {
        Shape some = buffer_;
        some[0] = 1 + random_.below(std::min<std::int64_t>(rows(), 20));
        const double count = static_cast<double>(some[0]);
        if (random_.chance(50)) {
          std::vector<double> from{1, 0, 0, count};
          const Value part = add(b, some, "slice_i", {other(), index(b)}, from, v.dtype);
          return like("set_slice_i", {v, part, index(b)}, {1, 0, 0});
        }
        const double stride = static_cast<double>(1 + random_.below(rows()));
        const Value part = add(b, some, "gather_i", {other(), index(b)}, {stride, count}, v.dtype);
        return like("scatter_set_i", {v, part, index(b)}, {1, count});
      }
      case 7:
        return random_.chance(60) ? like("rolled", {v}, {static_cast<double>(1 + random_.below(3))})
                                  : like("flip", {v}, {0});
      case 8:
        return like("chosen_by", {mask(b, buffer(b)), v, other()});
      default: {
        const Values places = all_of(buffer_, random_.chance(50) ? i64 : i32);
        if (places.empty() || buffer_.size() > 1) return like("flip", {v}, {0});
        return random_.chance(50) ? like("taken", {v, one_of(places)})
                                  : like("set_at", {v, other(), one_of(places)});
      }
    }
  }
  /// A buffer made of one and of integers.
  Value next_by_integers(Block& b, const Value& v, const Value& integers) {
    const auto like = [&](const char* op, const Values& operands, std::vector<double> numbers = {}) {
      return add(b, buffer_, op, operands, std::move(numbers));
    };
    if (integers.dtype == boolean) return like("chosen_by", {integers, v, buffer(b)});
    switch (buffer_.size() > 1 ? 0 : random_.below(4)) {
      case 0:
        return like("lifted", {v, like("quarter", {v, integers})});
      case 1:
        return like("half_of_each", {v, like("taken", {v, integers})});
      case 2:
        return like("set_at", {v, tame(b, buffer(b)), integers});
      default:  // all may go to one place
        return like("added_at",
                    {v, like("times", {tame(b, buffer(b))}, {0.5 / static_cast<double>(size_)}), integers});
    }
  }

  /// Another value in the place of one that is carried.
  Value next(Block& b, const Value& v) {
    if (!v.real() && v.shape == buffer_) return next_integers(b, v);
    if (!v.real())
      return random_.chance(70)
                 ? add(b, {}, "next_index", {v}, {static_cast<double>(1 + random_.below(2))}, i64)
                 : add(b, {}, "modulo", {add(b, {}, "twice_index", {v}, {1}, i64)}, {7}, i64);
    if (condition_ && random_.chance(35))
      return add(b, v.shape, "steep_if", {v, condition_->by}, {condition_->above});
    if (v.shape == buffer_) return next_buffer(b, v);
    if (v.shape.empty()) return next_scalar(b, v);
    return random_.chance(50) ? add(b, v.shape, "half_of_each", {v, tame(b, one_of(all_of(v.shape)))})
                              : add(b, v.shape, "plus_scalar", {tame(b, v), tame(b, scalar(b))});
  }
  Value next_scalar(Block& b, const Value& v) {
    switch (random_.below(6)) {
      case 0:
        return add(b, {}, "lifted", {v, scalar_of(b, buffer(b))});
      case 1:
        return add(b, {}, "half_of_each", {v, tame(b, scalar(b))});
      case 2: {
        const Value with = buffer(b), other = buffer(b);
        return tame(b, add(b, {}, random_.chance(50) ? "mean_product" : "dot_product", {with, other}));
      }
      case 3:
        return tame(b, add(b, {}, "add", {v, add(b, {}, "quarter", {v, index(b)})}));
      case 4:
        return add(b, {}, "plus", {v}, {eighths(-4, 4)});
      default:
        return tame(b, add(b, {}, "add", {v, scalar_of(b, buffer(b))}));
    }
  }
  Value next_buffer(Block& b, const Value& v) {
    const auto like = [&](const char* op, const Values& operands, std::vector<double> numbers = {}) {
      return add(b, buffer_, op, operands, std::move(numbers));
    };
    if (const Values integers = integer_buffers(); !integers.empty() && random_.chance(20))
      return next_by_integers(b, v, one_of(integers));
    const std::int64_t most = std::min<std::int64_t>(rows(), 20);
    Shape some = buffer_;
    some[0] = 1 + random_.below(random_.chance(70) ? most : rows());
    const double count = static_cast<double>(some[0]);
    switch (unchosen_ ? 10 + random_.below(7) : random_.below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return like("set_i", {v, row_value(b), index(b)}, place());
      case 4:
      case 5:
        return like("add_i", {v, row_value(b), index(b)}, place());
      case 6:
        return like("multiply_i", {v, row_value(b), index(b)}, place());
      case 7: {  // a part of it, or of another one, changed and put back
        std::vector<double> from = place();
        from[2] = 0;
        std::vector<double> to = from;
        from.push_back(count);
        const Value part = add(b, some, "slice_i", {random_.chance(60) ? v : buffer(b), index(b)}, from);
        return like(random_.chance(50) ? "set_slice_i" : "add_slice_i", {v, tame(b, part), index(b)}, to);
      }
      case 8: {
        const double stride = static_cast<double>(1 + random_.below(rows()));
        const Value part =
            add(b, some, "gather_i", {random_.chance(50) ? v : buffer(b), index(b)}, {stride, count});
        const std::int64_t step = random_.chance(50) ? static_cast<std::int64_t>(stride) : 1;
        const std::vector<double> to{static_cast<double>(step), count};
        if (random_.chance(50)) return like("scatter_set_i", {v, tame(b, part), index(b)}, to);
        // Some go to the same place, where they add up. (Elements that add to each other again and again are
        // chaotic if they add more than a part.)
        const std::int64_t places = rows() / std::gcd(step, rows()), most = (some[0] + places - 1) / places;
        return like(
            "scatter_add_i",
            {v, add(b, some, "times", {tame(b, part)}, {0.125 / static_cast<double>(most)}), index(b)}, to);
      }
      case 9: {
        const std::int64_t start = random_.below(rows());
        const double stop = static_cast<double>(start + 1 + random_.below(rows() - start));
        return like(random_.chance(50) ? "set_range" : "add_range", {v, tame(b, scalar(b))},
                    {static_cast<double>(start), stop, static_cast<double>(1 + random_.below(3))});
      }
      case 10:
      case 11:
        return like("plus", {v}, {random_.chance(50) ? 1. : eighths(-8, 8)});
      case 12: {
        const char* const ways[] = {"rolled", "flip"};
        const bool roll = random_.chance(60);
        const Value moved =
            like(ways[roll ? 0 : 1], {v}, {roll ? static_cast<double>(1 + random_.below(3)) : 0.});
        return like("half_of_each", {v, moved});
      }
      case 13:
        return like("half_of_each", {v, buffer(b)});
      case 14:
        return like("lifted", {v, buffer(b)});
      case 15:
        return like("plus_scalar", {v, tame(b, scalar(b))});
      case 16:
        return like("times_tame", {v, scalar(b)});
      case 17:
        return like("chosen_above", {v, buffer(b)}, {0.4142 + eighths(0, 8)});
      case 18: {
        if (random_.chance(40)) return like("running_mean", {v});
        if (random_.chance(40) && rows() <= 256) return like("sort", {v}, {0});
        return like("times", {v}, {0.75});
      }
      default:
        return tame(b, v);
    }
  }

  // Nests.

  struct Trips {
    std::vector<double> numbers;  // most, kind, checkpoints, for each, and
    Value by;
  };
  Trips trips(Block& b, int depth, bool alone) {
    std::int64_t most = 2 + random_.below(depth == 2 ? 5 : 3);
    double each = 1, offset = static_cast<double>(random_.below(2));
    if (random_.chance(8)) most = random_.below(2);
    // A long one, about the lengths at which loops are written out or blocked.
    if (alone && random_.chance(12) && runs_ * size_ < 3000) {
      static const std::int64_t lengths[] = {15, 16, 17, 31, 33, 59, 60, 61, 63, 64, 65, 130};
      most = lengths[random_.below(runs_ > 1 ? 4 : 12)];
      each = 5;
      offset = static_cast<double>(random_.below(most));
    }
    while (most > 1 && runs_ * most * size_ > (size_ > 20'000 ? 500'000 : 150'000)) --most;
    const double kept = random_.chance(15) && !unchosen_ ? static_cast<double>(2 + random_.below(4)) : 0;
    return {{static_cast<double>(most), 0, kept, each, offset}, index(b)};
  }

  /// What a nest carries: some of what it may, at least one.
  std::vector<std::size_t> choose_carries(const Values& carried) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < carried.size(); ++i)
      if (random_.chance(i == 0 ? 85 : 55)) chosen.push_back(i);
    if (chosen.empty())
      chosen.push_back(static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(carried.size()))));
    return chosen;
  }

  /// A nest that counts only under a condition, without which the derivatives of what it makes are NaN: other
  /// values take the place of its results.
  void unchosen_nest(Block& b, Values& carried, int levels) {
    const Condition condition{scalar(b), 0.1414 + eighths(-4, 4)};
    const std::optional<Condition> around = std::exchange(condition_, condition);
    const Values before = carried;
    const auto outside = static_cast<std::ptrdiff_t>(visible_.size());
    nest_of_some_kind(b, carried, levels);
    condition_ = around;
    Values made(visible_.begin() + outside, visible_.end());
    visible_.resize(static_cast<std::size_t>(outside));
    for (std::size_t i = 0; i < carried.size(); ++i) {
      if (carried[i].name == before[i].name) continue;
      std::erase_if(made, [&](const Value& v) { return v.name == carried[i].name; });
      carried[i] = chosen(b, carried[i], before[i], condition);
    }
    for (const Value& v : made)
      if (const Values others = all_of(v.shape, v.dtype); !others.empty() && random_.chance(50))
        chosen(b, v, one_of(others), condition);
  }
  Value chosen(Block& b, const Value& v, const Value& other, const Condition& condition) {
    return add(b, v.shape, "chosen_if", {v, other, condition.by}, {condition.above}, v.dtype);
  }

  void nest(Block& b, Values& carried, int levels) {
    if (unchosen_ && random_.chance(50)) return unchosen_nest(b, carried, levels);
    nest_of_some_kind(b, carried, levels);
  }

  /// A nest, and some steps about it if there are levels left; replaces what it carries.
  void nest_of_some_kind(Block& b, Values& carried, int levels) {
    const std::int64_t kind = random_.below(100);
    if (levels <= 1 && random_.chance(12)) return solve(b, carried);
    if (kind < 32)
      loop(b, carried, levels, "while_all");
    else if (kind < 60)
      loop(b, carried, levels, "fori_all");
    else if (kind < 72)
      scan(b, carried, levels);
    else if (kind < 88)
      branch(b, carried, levels);
    else if (kind < 92)
      mapped(b, carried, levels);
    else
      wrapped(b, carried, levels);
  }

  /// The body of a nest: statements, the nest within, statements.
  void statements(Block& b, Values& carried, int levels) {
    const auto some = [&](std::int64_t most) {
      for (std::int64_t i = 0, n = random_.below(most + 1); i < n; ++i) {
        Value& v = carried[static_cast<std::size_t>(
            random_.chance(50) ? 0 : random_.below(static_cast<std::int64_t>(carried.size())))];
        v = next(b, v);
      }
    };
    if (levels <= 1) {
      some(2);
      carried[0] = next(b, carried[0]);
      return;
    }
    some(1);
    if (random_.chance(90))
      nest(b, carried, levels - 1);
    else
      some(2);
    if (levels == 2 && random_.chance(15)) nest(b, carried, 1);
    some(1);
    // Two buffers that take turns.
    if (carried.size() > 1 && carried[0].shape == carried[1].shape && carried[0].dtype == carried[1].dtype &&
        random_.chance(15))
      std::swap(carried[0], carried[1]);
  }

  Block body(const Values& start, int levels, bool counter, const Value* entry, Value* y) {
    const std::size_t outside = visible_.size();
    Block b;
    if (counter) parameter_of(b, {}, i64);
    Values carried;
    for (const Value& v : start) carried.push_back(parameter_of(b, v.shape, v.dtype));
    if (entry) parameter_of(b, entry->shape, entry->dtype);
    statements(b, carried, levels);
    for (const Value& v : carried) b.results.push_back(v.name);
    if (y) {
      const Value& v = carried[0];
      *y = !v.real()                                    ? tame(b, scalar(b))
           : random_.chance(50) && runs_ * size_ < 2000 ? v
                                                        : tame(b, scalar_of(b, v));
      b.results.push_back(y->name);
    }
    visible_.resize(outside);
    return b;
  }

  void finish(Block& b, Values& carried, const std::vector<std::size_t>& chosen, Step step) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      Value& v = carried[chosen[i]];
      v = {next_name_++, v.shape, v.dtype};
      if (i == 0) {
        step.name = v.name;
        step.shape = v.shape;
      } else {
        step.more.push_back({v.name, v.shape});
      }
      visible_.push_back(v);
    }
    b.steps.push_back(std::move(step));
  }
  Values start_of(const Values& carried, const std::vector<std::size_t>& chosen, Step& step) {
    Values start;
    for (std::size_t c : chosen) {
      start.push_back(carried[c]);
      step.operands.push_back(carried[c].name);
    }
    return start;
  }

  void loop(Block& b, Values& carried, int levels, const char* op) {
    Trips t = trips(b, levels, levels <= 1);
    Step step{0, {}, op, {}, t.numbers};
    const bool is_while = step.op == "while_all";
    step.numbers[1] = is_while ? (random_.chance(20) ? 1 : random_.chance(20) ? 2 : 0) : random_.chance(55);
    const auto chosen = choose_carries(carried);
    const Values start = start_of(carried, chosen, step);
    if (is_while && !start[0].real()) step.numbers[1] = 0;
    if (is_while && step.numbers[1] == 2) step.numbers[2] = 0;
    step.operands.push_back(t.by.name);
    const std::int64_t most = std::max<std::int64_t>(1, static_cast<std::int64_t>(t.numbers[0]));
    runs_ *= most;
    step.blocks.push_back(body(start, levels, true, nullptr, nullptr));
    runs_ /= most;
    finish(b, carried, chosen, std::move(step));
  }

  void scan(Block& b, Values& carried, int levels) {
    // Over a few rows of a buffer, or over all if they are few.
    Value xs = buffer(b);
    if (const Values integers = integer_buffers(); !integers.empty() && random_.chance(30))
      xs = one_of(integers);
    const std::int64_t most = std::max<std::int64_t>(1, std::min<std::int64_t>(5, 150'000 / (runs_ * size_)));
    if (rows() > (levels <= 1 && runs_ * size_ < 600 && random_.chance(30) ? 70 : most)) {
      Shape few = buffer_;
      few[0] = 1 + random_.below(most);
      xs = add(b, few, "slice_i", {xs, index(b)}, {1, 0, 0, static_cast<double>(few[0])}, xs.dtype);
    }
    Step step{
        0, {}, "scan_all", {}, {random_.chance(30) ? 1. : 0., random_.chance(15) && !unchosen_ ? 3. : 0.}};
    const auto chosen = choose_carries(carried);
    const Values start = start_of(carried, chosen, step);
    step.operands.push_back(xs.name);
    Value entry = xs, y{};
    entry.shape.erase(0);
    const std::int64_t length = xs.shape[0];
    runs_ *= length;
    step.blocks.push_back(body(start, levels, false, &entry, &y));
    runs_ /= length;
    finish(b, carried, chosen, std::move(step));
    // What was stacked is one more result.
    Shape stacked = y.shape;
    stacked.insert(0, length);
    const Value ys{next_name_++, stacked};
    b.steps.back().more.push_back({ys.name, ys.shape});
    visible_.push_back(ys);
    for (Value& v : carried)
      if (v.shape.empty() && v.real() && random_.chance(40)) {
        v = add(b, {}, "lifted", {v, add(b, {}, "mean", {ys})});
        break;
      }
  }

  void branch(Block& b, Values& carried, int levels) {
    const bool three = random_.chance(25);
    Step step{0, {}, three ? "switch_all" : "cond_all", {}};
    const auto chosen = choose_carries(carried);
    const Values start = start_of(carried, chosen, step);
    step.operands.push_back(random_.chance(50) ? index(b).name : scalar(b).name);
    for (int i = 0; i < (three ? 3 : 2); ++i)
      step.blocks.push_back(body(start,
                                 i == 0 ? levels : std::min(levels, 1 + static_cast<int>(random_.below(2))),
                                 false, nullptr, nullptr));
    finish(b, carried, chosen, std::move(step));
  }

  /// A buffer's rows or elements, each by a nest of its own: lanes in lanes.
  void mapped(Block& b, Values& carried, int levels) {
    if (rows() > 40 || size_ > 200 || carried[0].shape != buffer_ || !carried[0].real())
      return wrapped(b, carried, levels);
    Step step{0, buffer_, "vmap", {carried[0].name}, {0, 0, static_cast<double>(random_.below(3))}};
    const std::int64_t lanes = rows();
    const Shape outside = std::exchange(buffer_, row());
    const std::int64_t size = std::exchange(size_, std::max<std::int64_t>(1, buffer_.product()));
    if (buffer_.empty()) buffer_ = {1};  // no buffer at all is a scalar
    runs_ *= lanes;
    Values one{{0, row_shape(outside)}};
    step.blocks.push_back(body(one, std::min(levels, 2), false, nullptr, nullptr));
    runs_ /= lanes;
    buffer_ = outside;
    size_ = size;
    carried[0].name = step.name = next_name_++;
    visible_.push_back(carried[0]);
    b.steps.push_back(std::move(step));
  }
  static Shape row_shape(const Shape& shape) {
    Shape s = shape;
    s.erase(0);
    return s;
  }

  /// A nest in a function that is compiled, recomputed, a value, or differentiated.
  void wrapped(Block& b, Values& carried, int levels) {
    static const char* const ways[] = {"jit", "checkpoint", "checkpoint_dots", "closure", "jvp",
                                       "vjp", "jvp"};
    const auto at = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(carried.size())));
    if (!carried[at].real()) return loop(b, carried, levels, "fori_all");
    std::int64_t way = random_.below(orders_ < 2 && !large() ? 7 : 4);
    if (way == 5 && carried[at].shape.product() > 6) way = 4;  // the oracle runs it for each element
    Step step{0, carried[at].shape, ways[way], {carried[at].name}};
    const std::optional<Condition> condition = condition_;
    if (way >= 4) {  // along the value itself
      ++orders_;
      condition_.reset();  // derivatives are values here
      step.operands.push_back(carried[at].name);
    }
    step.blocks.push_back(body({carried[at]}, levels, false, nullptr, nullptr));
    if (way >= 4) --orders_;
    condition_ = condition;
    carried[at].name = step.name = next_name_++;
    visible_.push_back(carried[at]);
    b.steps.push_back(std::move(step));
    if (way >= 4) carried[at] = tame(b, carried[at]);
  }

  void solve(Block& b, Values& carried) {
    const auto at = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(carried.size())));
    if (!carried[at].real() || large()) return loop(b, carried, 1, "while_all");
    const bool adaptive = random_.chance(30);
    const std::int64_t method = adaptive ? 1 + random_.below(4) : random_.below(5);
    const Value p = scalar(b);
    Step step{0,
              carried[at].shape,
              "solve",
              {carried[at].name, p.name},
              {static_cast<double>(method), adaptive ? 1. : 0., 0.75, random_.chance(60) ? 0.25 : 0.,
               random_.chance(50) ? 0.15 : 0.22, random_.chance(15) && !unchosen_ ? 3. : 0., 0}};
    const std::size_t outside = visible_.size();
    Block field;
    parameter_of(field, {});
    const Value y = parameter_of(field, carried[at].shape);
    const Value slope = next(field, y);
    field.results = {add(field, slope.shape, "tanh", {slope}).name};
    visible_.resize(outside);
    step.blocks.push_back(std::move(field));
    Value saved{};
    if (random_.chance(30)) {
      step.numbers[6] = static_cast<double>(2 + random_.below(4));
      step.shape.insert(0, static_cast<std::int64_t>(step.numbers[6]));
    }
    const Value end{next_name_++, step.shape};
    step.name = end.name;
    visible_.push_back(end);
    const bool rows_saved = step.numbers[6] != 0;
    b.steps.push_back(std::move(step));
    carried[at] = rows_saved ? add(b, carried[at].shape, "read_i", {end, index(b)}, {1, 0, 1}) : end;
  }

  Random random_;
  Values visible_;
  // Whether nests may be unchosen. What is promised of them ends where conditions by element meet indices,
  // and at loops with checkpoints.
  bool unchosen_ = false;
  std::optional<Condition> condition_;  // without which derivatives may be NaN
  Shape buffer_;
  std::int64_t size_ = 1, runs_ = 1;  // how often the body runs in which steps are made
  int next_name_ = 0, orders_ = 0;
};

}  // namespace

Block generate_nest(std::uint64_t seed) { return NestGenerator(seed).program(); }

}  // namespace apsis::compositions
