#include "codegen/emit/loop_nest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace apsis::detail {

Value from_index(Builder& b, Value index, Dtype dtype) {
  if (dtype == Dtype::I64) return index;
  // Indices are below 2^24 wherever a half-width float can tell them apart: f32 between rounds nothing twice.
  if (item_size(dtype) == 2 && is_floating(dtype)) return b.convert(from_index(b, index, Dtype::F32), dtype);
  // AVX2 has no conversion of 64-bit integers, and f64 rounds no index.
  if (dtype == Dtype::F32 && b.vector_bytes() == 32) index = b.convert(index, Dtype::F64);
  return b.convert(index, dtype);
}

namespace {

/// Turns the squares of `side` rows and columns that rows consist of, all at once: each stage swaps the
/// halves of ever larger blocks across the diagonals.
void turn_squares(Builder& b, std::span<Value> rows, int lanes) {
  const int side = static_cast<int>(rows.size());
  std::vector<int> low(static_cast<std::size_t>(lanes)), high(low.size());
  for (int step = 1; step < side; step *= 2) {
    for (int j = 0; j < lanes; ++j) {
      const bool second = (j & step) != 0;
      low[static_cast<std::size_t>(j)] = second ? lanes + j - step : j;
      high[static_cast<std::size_t>(j)] = second ? lanes + j : j + step;
    }
    for (int i = 0; i < side; ++i) {
      if (i & step) continue;
      Value& x = rows[static_cast<std::size_t>(i)];
      Value& y = rows[static_cast<std::size_t>(i + step)];
      const Value upper = b.shuffle(x, y, low);
      y = b.shuffle(x, y, high);
      x = upper;
    }
  }
}

/// One vector of several, one after the other.
Value joined(Builder& b, std::vector<Value> pieces) {
  for (; pieces.size() > 1; pieces.resize(pieces.size() / 2)) {
    std::vector<int> all(2 * static_cast<std::size_t>(b.lanes_of(pieces[0])));
    std::iota(all.begin(), all.end(), 0);
    b.set_lanes(static_cast<int>(all.size()));
    for (std::size_t i = 0; 2 * i < pieces.size(); ++i)
      pieces[i] = b.shuffle(pieces[2 * i], pieces[2 * i + 1], all);
  }
  return pieces[0];
}

}  // namespace

void transpose_square(Builder& b, std::span<Value> rows) {
  turn_squares(b, rows, static_cast<int>(rows.size()));
}

std::vector<Value> load_transposed(Builder& b, std::span<const ConstPointer> rows, Dtype dtype) {
  constexpr std::size_t piece_bytes = 16;
  const std::size_t side = rows.size(), length = std::min(side, piece_bytes / item_size(dtype));
  std::vector<Value> columns;
  for (std::size_t first = 0; first < side; first += length) {
    for (std::size_t r = 0; r < length; ++r) {
      std::vector<Value> pieces;
      b.set_lanes(static_cast<int>(length));
      for (std::size_t row = r; row < side; row += length)
        pieces.push_back(
            b.load(b.offset(rows[row], static_cast<std::int64_t>(first * item_size(dtype))), dtype));
      columns.push_back(joined(b, std::move(pieces)));
    }
    turn_squares(b, std::span(columns).last(length), static_cast<int>(side));
  }
  b.set_lanes(static_cast<int>(side));
  return columns;
}

LoopNest::LoopNest(Builder& b, const Shape& shape, std::vector<Access> reads, std::span<const Sink> sinks,
                   int width, int lanes, int most_phases, bool in_order)
    : b_(b), accesses_(std::move(reads)), reads_(accesses_.size()), lanes_(lanes) {
  for (const Sink& sink : sinks) {
    accesses_.push_back({sink.view, sink.base, sink.dtype, sink.lanes, sink.walk});
    masks_.push_back(sink.mask);
  }
  collapse(shape);
  choose_axis(width, most_phases, in_order);
  find_columns();
}

bool LoopNest::take_lines(int lines) {
  if (axis_ < 0 || extents_[static_cast<std::size_t>(axis_)] < lines) return false;
  width_ = lines;
  return true;
}

void LoopNest::take_vectors(int most) {
  constexpr std::int64_t little = 16;  // th of the elements
  const auto done = [](std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; };
  if (axis_ < 0 || width_ == 1 || phases_ > 1 || row_ > 0 || !side_by_side_.empty()) return;
  const std::int64_t n = extents_[static_cast<std::size_t>(axis_)];
  for (; most > 1; most /= 2)
    if (n >= width_ * most && done(n, width_ * most) - done(n, width_) <= n / little) break;
  width_ *= most;
}

/// Drops axes of size 1 and merges neighbours that every access walks as one.
void LoopNest::collapse(const Shape& shape) {
  strides_.resize(accesses_.size());
  within_.resize(accesses_.size());
  const auto fills = [&](const Access& a, std::size_t d) {
    return a.within.empty() || (a.within[d].low == 0 && a.within[d].high == shape[d]);
  };
  std::size_t before = 0;  // the axis that was kept last
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    bool merges = !extents_.empty() && std::ranges::all_of(accesses_, [&](const Access& a) {
      return fills(a, before) && fills(a, d) &&
             strides_[static_cast<std::size_t>(&a - accesses_.data())].back() == a.view.strides[d] * shape[d];
    });
    before = d;
    if (merges)
      extents_.back() *= shape[d];
    else
      extents_.push_back(shape[d]);
    for (std::size_t a = 0; a < accesses_.size(); ++a) {
      if (merges)
        strides_[a].back() = accesses_[a].view.strides[d];
      else
        strides_[a].push_back(accesses_[a].view.strides[d]);
      if (accesses_[a].within.empty()) continue;
      if (merges)
        within_[a].back() = {0, extents_.back()};
      else
        within_[a].push_back(accesses_[a].within[d]);
    }
  }
}

/// Vectorises along the axis with the least work: iterations times accesses, a strided one counting an
/// element each.
void LoopNest::choose_axis(int width, int most_phases, bool in_order) {
  if (width <= 1 || extents_.empty() || in_order) {
    axis_ = static_cast<int>(extents_.size()) - 1;
    if (axis_ >= 0)
      for (width_ = std::max(width, 1); width_ > extents_.back();) width_ /= 2;
    return;
  }
  std::int64_t best = -1;
  for (std::size_t d = extents_.size(); d-- > 0;) {
    int lanes = width;
    while (lanes > extents_[d]) lanes /= 2;
    std::int64_t work = (extents_[d] + lanes - 1) / lanes, each = 1;
    for (std::size_t o = 0; o < extents_.size(); ++o)
      if (o != d) work *= extents_[o];
    std::vector<std::size_t> filling;  // with others, they store vectors
    for (const ColumnGroup& group : groups_along(d))
      for (const auto& column : group.members) filling.insert(filling.end(), column.begin(), column.end());
    for (std::size_t a = 0; a < strides_.size(); ++a) {
      const std::int64_t stride = strides_[a][d];
      const bool near =
          a < reads_ ? stride >= -1 && stride <= most_apart : std::ranges::find(filling, a) != filling.end();
      each += stride == 0 || stride == 1 ? 1
              : near                     ? std::min<std::int64_t>(2 * std::abs(stride), lanes)
                                         : lanes;
    }
    if (best < 0 || work * each < best) {
      best = work * each;
      axis_ = static_cast<int>(d);
      width_ = lanes;
    }
  }
  // An array that is not everywhere is read in vectors of its own.
  if (std::ranges::any_of(accesses_, [](const Access& a) { return !a.within.empty(); })) return;
  if (can_take_phases(width, most_phases) && work_in_phases(width) < best) {
    row_ = phases_ = static_cast<int>(extents_.back());
    axis_ = static_cast<int>(extents_.size()) - 2;
    width_ = width;
  } else if (most_phases > 0 && can_fill_rows(width) && work_in_full_rows(width) < best) {
    row_ = static_cast<int>(extents_.back());
    axis_ = static_cast<int>(extents_.size()) - 2;
    width_ = width;
  } else if (width_ > 1 && width_ <= most_phases) {
    choose_square();
  }
}

/// What is written has no gaps along one axis of the squares, and something that is read has none along the
/// other.
void LoopNest::choose_square() {
  const auto axis = static_cast<std::size_t>(axis_);
  if (std::any_of(strides_.begin() + static_cast<std::ptrdiff_t>(reads_), strides_.end(),
                  [&](const auto& s) { return s[axis] != 1; }))
    return;
  for (std::size_t down = 0; down < extents_.size(); ++down) {
    if (down == axis || extents_[down] < width_) continue;
    for (std::size_t a = 0; a < reads_; ++a)
      if (is_turned(a, down)) down_ = static_cast<int>(down);
  }
  if (down_ >= 0) phases_ = width_;
}

bool LoopNest::is_turned(std::size_t a, std::size_t down) const {
  const Dtype dtype = accesses_[a].dtype;
  return accesses_[a].base.handle && dtype != Dtype::Bool && item_size(dtype) >= 4 &&
         strides_[a][down] == 1 && std::abs(strides_[a][static_cast<std::size_t>(axis_)]) > 1;
}

/// What is written has no gaps.
bool LoopNest::can_take_phases(int width, int most_phases) const {
  const std::size_t rank = extents_.size();
  if (rank < 2 || extents_[rank - 1] > most_phases || extents_[rank - 2] < width) return false;
  return std::all_of(strides_.begin() + static_cast<std::ptrdiff_t>(reads_), strides_.end(),
                     [&](const auto& s) { return s[rank - 1] == 1 && s[rank - 2] == extents_[rank - 1]; });
}

/// As above, in phases.
std::int64_t LoopNest::work_in_phases(int width) const {
  const std::size_t rank = extents_.size();
  const std::int64_t n = extents_[rank - 1], rows = extents_[rank - 2];
  std::int64_t work = (rows + width - 1) / width * n, each = 1;
  for (std::size_t o = 0; o + 2 < rank; ++o) work *= extents_[o];
  for (const auto& s : strides_) {
    const bool few =
        s[rank - 2] == 0 || (s[rank - 1] == 0 && s[rank - 2] == 1) || (s[rank - 1] == 1 && s[rank - 2] == n);
    each += few ? 1 : width;
  }
  return work * each;
}

/// Several rows are one vector, and what is written has rows without gaps.
bool LoopNest::can_fill_rows(int width) const {
  const std::size_t rank = extents_.size();
  if (rank < 2 || extents_[rank - 1] >= width || width % extents_[rank - 1] != 0 ||
      extents_[rank - 2] < width / extents_[rank - 1])
    return false;
  return std::all_of(strides_.begin() + static_cast<std::ptrdiff_t>(reads_), strides_.end(),
                     [&](const auto& s) { return s[rank - 1] == 1; });
}

/// As above, so.
std::int64_t LoopNest::work_in_full_rows(int width) const {
  const std::size_t rank = extents_.size();
  const std::int64_t n = extents_[rank - 1], rows = width / n;
  std::int64_t work = (extents_[rank - 2] + rows - 1) / rows, each = 1;
  for (std::size_t o = 0; o + 2 < rank; ++o) work *= extents_[o];
  for (const auto& s : strides_) {
    const bool one = s[rank - 2] == 0 || (s[rank - 1] == 1 && s[rank - 2] == n);
    each += one ? 1 : s[rank - 1] == 0 || s[rank - 1] == 1 ? rows : width;
  }
  return work * each;
}

void LoopNest::open() {
  b_.set_lanes(1);
  pointers_.resize(accesses_.size());
  places_.resize(accesses_.size());
  auto bytes = [&](std::size_t a) {
    return static_cast<std::int64_t>(item_size(accesses_[a].dtype)) * accesses_[a].lanes;
  };
  for (std::size_t a = 0; a < accesses_.size(); ++a) {
    if (accesses_[a].base.handle) {
      pointers_[a] = b_.offset(Pointer{accesses_[a].base.handle}, accesses_[a].view.offset * bytes(a));
    } else {
      places_[a] = b_.index(accesses_[a].view.offset);
      if (accesses_[a].first.handle) places_[a] = b_.add(accesses_[a].first, places_[a]);
    }
  }
  const bool rows = row_ > 0;
  inside_.assign(accesses_.size(), {});
  for (std::size_t d = 0; d < extents_.size(); ++d) {
    if (static_cast<int>(d) == axis_ || (rows && d + 1 == extents_.size())) continue;
    loops_.emplace_back(b_, extents_[d], static_cast<int>(d) == down_ ? width_ : 1, carried_);
    Value i = loops_.back().index();
    for (std::size_t a = 0; a < accesses_.size(); ++a) {
      if (!fills(a, d)) {
        const Value here = is_within(i, within_[a][d]);
        inside_[a] = inside_[a].handle ? b_.bit_and(inside_[a], here) : here;
      }
      std::int64_t stride = strides_[a][d];
      if (stride == 0) continue;
      if (accesses_[a].base.handle)
        pointers_[a] = b_.offset(pointers_[a], b_.mul(i, b_.index(stride * bytes(a))));
      else
        places_[a] = b_.add(places_[a], b_.mul(i, b_.index(stride)));
    }
  }
  if (rows) open_rows();
  squares_.assign(accesses_.size(), {});
  const std::int64_t step = rows ? rows_at_once() : width_;
  if (axis_ >= 0 && extents_[static_cast<std::size_t>(axis_)] > step) {
    loops_.emplace_back(b_, extents_[static_cast<std::size_t>(axis_)], step, carried_);
    inner_ = loops_.back().index();
    inner_zero_ = false;
  }
}

Value LoopNest::done() {
  b_.set_lanes(1);
  const std::int64_t rest = axis_ < 0 ? 0 : extents_[static_cast<std::size_t>(axis_)] % width_;
  if (rest == 0 || inner_zero_) return {};
  const Value last = b_.index(extents_[static_cast<std::size_t>(axis_)] - width_);
  return b_.select(b_.compare(Compare::Eq, inner_, last), b_.index(width_ - rest), b_.index(0));
}

void LoopNest::close() {
  b_.set_lanes(1);
  for (; !loops_.empty(); loops_.pop_back()) loops_.back().close();
}

std::int64_t LoopNest::stride(std::size_t a) const {
  if (along_ > 0) return accesses_[a].walk.inner;
  return axis_ < 0 ? 0 : strides_[a][static_cast<std::size_t>(axis_)];
}

void LoopNest::walk_to(Value i, std::int64_t inner, int along) {
  along_ = along;
  line_end_ = along > 1 && inner % along != 0 ? inner : 0;
  walked_inner_ = i;
  walked_outer_ = {};
  if (inner == 0) return;
  b_.set_lanes(1);
  walked_outer_ = b_.integer_div(i, b_.index(inner));
  walked_inner_ = b_.sub(i, b_.mul(walked_outer_, b_.index(inner)));
}

void LoopNest::walk_to_term(int k, int terms) {
  b_.set_lanes(1);
  walk_to(b_.index(k), 0, 0);
  term_ = k;
  terms_ = terms;
  if (k == 0) columns_.assign(accesses_.size(), std::vector<Value>(static_cast<std::size_t>(terms)));
}

void LoopNest::end_walk() {
  along_ = 0;
  line_end_ = 0;
  term_ = -1;
  line_ = walked_outer_ = walked_inner_ = {};
}

/// How far the current elements are from those that the loops are at, times `scale`.
Value LoopNest::current_place(std::size_t a, std::int64_t scale) {
  Value place;
  const auto add = [&](Value i, std::int64_t stride) {
    if (!i.handle || stride == 0) return;
    if (stride * scale != 1) i = b_.mul(i, b_.index(stride * scale));
    place = place.handle ? b_.add(place, i) : i;
  };
  b_.set_lanes(1);
  if (!inner_zero_) add(inner_, strides_[a][static_cast<std::size_t>(axis_)]);
  if (line_.handle) add(line_, strides_[a][static_cast<std::size_t>(axis_)]);
  add(walked_outer_, accesses_[a].walk.outer);
  add(walked_inner_, accesses_[a].walk.inner);
  return place;
}

/// Whether the next line does not begin where the elements of one would go on.
bool LoopNest::crosses(std::size_t a) const {
  return line_end_ > 0 && accesses_[a].walk.outer != accesses_[a].walk.inner * line_end_;
}

/// Which of the current elements are of the line that the first is of.
Value LoopNest::is_before_end() {
  b_.set_lanes(1);
  const Value left = b_.sub(b_.index(line_end_), walked_inner_);
  b_.set_lanes(along_);
  const Value all = b_.splat(left), lanes = b_.lane_numbers();
  return b_.compare(Compare::Lt, lanes, all);
}

/// Elements of one line, and those of the next.
Value LoopNest::load_crossing(std::size_t a, ConstPointer p) {
  const Access& access = accesses_[a];
  const std::int64_t further = access.walk.outer - access.walk.inner * line_end_;
  const Value here = is_before_end();
  b_.set_lanes(1);
  // Nothing is read behind the last line.
  const Value ends = b_.compare(Compare::Gt, walked_inner_, b_.index(line_end_ - along_));
  const ConstPointer next =
      b_.choose(ends, b_.offset(p, further * static_cast<std::int64_t>(item_size(access.dtype))), p);
  if (access.walk.inner == 0) {
    const Value one = b_.load_element(p, access.dtype), other = b_.load_element(next, access.dtype);
    b_.set_lanes(along_);
    return b_.select(here, b_.splat(one), b_.splat(other));
  }
  b_.set_lanes(along_);
  const Value there = b_.bit_not(here);
  return b_.select(here, b_.masked_load(p, access.dtype, here), b_.masked_load(next, access.dtype, there));
}

/// stride · (0, 1, …, width - 1).
Value LoopNest::lane_places(std::int64_t stride) {
  b_.set_lanes(vector());
  Value lanes = b_.lane_numbers();
  return stride == 1 ? lanes : b_.mul(lanes, b_.constant(Dtype::I64, static_cast<std::uint64_t>(stride)));
}

/// The places of a phase's elements in the view of an access, from the first row on.
Dims LoopNest::phase_places(std::size_t a, int phase) const {
  const auto axis = static_cast<std::size_t>(axis_);
  Dims places;
  for (std::int64_t k = phase * width_; k < (phase + 1) * width_; ++k)
    places.push_back(k / row_ * strides_[a][axis] + k % row_ * strides_[a][axis + 1]);
  return places;
}

void LoopNest::open_rows() {
  number_of_row_.assign(accesses_.size(), {});
  row_of_all_.assign(accesses_.size(), {});
  const auto axis = static_cast<std::size_t>(axis_);
  for (std::size_t a = 0; a < reads_; ++a) {
    if (!accesses_[a].base.handle || strides_[a][axis] != 0 || strides_[a][axis + 1] == 0) continue;
    for (int phase = 0; phase < phases_; ++phase)
      row_of_all_[a].push_back(load_each(pointers_[a], accesses_[a].dtype, phase_places(a, phase)));
  }
  b_.set_lanes(1);
}

/// Of rows, something that is not the same for all elements.
Value LoopNest::load_in_rows(std::size_t a) {
  const Access& access = accesses_[a];
  const auto axis = static_cast<std::size_t>(axis_);
  const std::int64_t row_stride = strides_[a][axis], stride = strides_[a][axis + 1];
  if (row_stride == 0) return row_of_all_[a][static_cast<std::size_t>(phase_)];
  const ConstPointer p = current(a);
  if (stride == 1 && row_stride == row_) {
    const ConstPointer here =
        b_.offset(p, phase_ * width_ * static_cast<std::int64_t>(item_size(access.dtype)));
    b_.set_lanes(width_);
    return b_.load(here, access.dtype);
  }
  if (stride == 1 && rows_at_once() * row_ == width_) return load_rows(p, access.dtype, row_stride);
  if (stride != 0) return load_each(p, access.dtype, phase_places(a, phase_));
  Value& rows = number_of_row_[a];
  b_.set_lanes(rows_at_once());
  if (phase_ == 0 && row_stride == 1) {
    rows = b_.load(p, access.dtype);
  } else if (phase_ == 0 && rows_at_once() == width_) {
    rows = load_apart(p, access.dtype, row_stride);
  } else if (phase_ == 0) {
    Dims places;
    for (int row = 0; row < rows_at_once(); ++row) places.push_back(row * row_stride);
    rows = load_each(p, access.dtype, places);
  }
  std::vector<int> from;
  for (int lane = 0; lane < width_; ++lane) from.push_back((phase_ * width_ + lane) / row_);
  b_.set_lanes(width_);
  return b_.shuffle(rows, rows, from);
}

/// A vector of rows that lie apart, put together in pairs.
Value LoopNest::load_rows(ConstPointer p, Dtype dtype, std::int64_t row_stride) {
  std::vector<Value> pieces;
  for (int row = 0; row < rows_at_once(); ++row) {
    const ConstPointer first = b_.offset(p, row * row_stride * static_cast<std::int64_t>(item_size(dtype)));
    b_.set_lanes(row_);
    pieces.push_back(b_.load(first, dtype));
  }
  return joined(b_, std::move(pieces));
}

/// An array whose elements are neighbours down the square.
Value LoopNest::load_turned(std::size_t a) {
  std::vector<Value>& square = squares_[a];
  if (phase_ == 0) {
    const Access& access = accesses_[a];
    const std::int64_t bytes =
        strides_[a][static_cast<std::size_t>(axis_)] * static_cast<std::int64_t>(item_size(access.dtype));
    const ConstPointer p = current(a);
    std::vector<ConstPointer> rows;
    for (int lane = 0; lane < width_; ++lane) rows.push_back(b_.offset(p, lane * bytes));
    square = load_transposed(b_, rows, access.dtype);
  }
  return square[static_cast<std::size_t>(phase_)];
}

/// Whether the terms of a line are neighbours in memory, and lines are far from one another.
bool LoopNest::is_line(std::size_t a) const {
  return term_ >= 0 && width_ > 1 && stride(a) > most_apart && has_lines(accesses_[a], accesses_[a].walk);
}

/// One term of all lines. Squares of lines and terms are loaded when the first of their terms is.
Value LoopNest::load_term(std::size_t a) {
  std::vector<Value>& columns = columns_[a];
  const auto column = [&](int k) -> Value& { return columns[static_cast<std::size_t>(k)]; };
  if (column(term_).handle) return column(term_);
  const Access& access = accesses_[a];
  const auto item = static_cast<std::int64_t>(item_size(access.dtype));
  const int first = terms_ > width_ ? std::min(term_ / width_ * width_, terms_ - width_) : 0,
            count = std::min(width_, terms_);
  const Value walked = std::exchange(walked_inner_, {});
  const ConstPointer lines = current(a);
  walked_inner_ = walked;
  std::vector<ConstPointer> rows;
  for (int line = 0; line < width_; ++line)
    rows.push_back(b_.offset(lines, (line * stride(a) + first) * item));
  std::vector<Value> square;
  b_.set_lanes(width_);
  if (count == width_) {
    square = load_transposed(b_, rows, access.dtype);
  } else {
    const Value inside = b_.compare(Compare::Lt, b_.lane_numbers(),
                                    b_.constant(Dtype::I64, static_cast<std::uint64_t>(count)));
    for (ConstPointer row : rows) square.push_back(b_.masked_load(row, access.dtype, inside));
    transpose_square(b_, square);
  }
  for (int k = 0; k < count; ++k) column(first + k) = square[static_cast<std::size_t>(k)];
  return column(term_);
}

/// How far down the square this phase is.
std::int64_t LoopNest::places_down(std::size_t a) const {
  return down_ < 0 ? 0 : phase_ * strides_[a][static_cast<std::size_t>(down_)];
}

Pointer LoopNest::address(std::size_t a) {
  const Access& access = accesses_[a];
  const Value bytes = current_place(a, static_cast<std::int64_t>(item_size(access.dtype)) * access.lanes);
  return bytes.handle ? b_.offset(pointers_[a], bytes) : pointers_[a];
}

Value LoopNest::load(std::size_t a, std::int64_t shift, Value bytes) {
  const Access& access = accesses_[a];
  const std::int64_t stride = this->stride(a);
  b_.set_lanes(1);
  const bool rows = row_ > 0, alike = stride == 0 && (!rows || strides_[a].back() == 0);
  if (!access.base.handle) {
    Value place = places_[a];
    if (const Value further = current_place(a, 1); further.handle) place = b_.add(place, further);
    if (down_ >= 0) place = b_.add(place, b_.index(places_down(a)));
    if (rows && !alike) {
      b_.set_lanes(width_);
      Value places = b_.constant(Dtype::I64, 0);
      const Dims known = phase_places(a, phase_);
      for (int lane = 0; lane < width_; ++lane)
        places = b_.insert(places, lane, b_.index(known[static_cast<std::size_t>(lane)]));
      place = b_.add(b_.splat(place), places);
    } else if (crosses(a) || (stride != 0 && vector() > 1)) {
      Value lanes = lane_places(stride);
      place = b_.add(b_.splat(place), lanes);
      if (crosses(a)) {
        const std::int64_t further = access.walk.outer - stride * line_end_;
        const Value here = is_before_end();
        place = b_.select(here, place,
                          b_.add(place, b_.constant(Dtype::I64, static_cast<std::uint64_t>(further))));
      }
    }
    return from_index(b_, place, access.dtype);
  }
  if (is_line(a)) return load_term(a);
  if (rows && !alike) return load_in_rows(a);
  if (down_ >= 0 && is_turned(a, static_cast<std::size_t>(down_))) return load_turned(a);
  ConstPointer p = current(a);
  shift += places_down(a);
  if (shift != 0) p = b_.offset(p, shift * static_cast<std::int64_t>(item_size(access.dtype)) * access.lanes);
  if (bytes.handle) p = b_.offset(p, bytes);
  if (access.lanes > 1) {
    b_.set_lanes(access.lanes);
    return b_.load(p, access.dtype);
  }
  if (crosses(a)) return load_crossing(a, p);
  if (stride == 0 || vector() == 1) return b_.load_element(p, access.dtype);
  b_.set_lanes(vector());
  if (stride == 1) return b_.load(p, access.dtype);
  if (!is_by_itself(a) && shift == 0 && !bytes.handle) return load_column(a);
  return load_apart(p, access.dtype, stride);
}

/// Where vectors lie that hold all elements at these places, and nothing before the first of them nor after
/// the last. None: they are further apart than they fill a vector.
Dims LoopNest::vectors_over(Dims places) {
  const auto lanes = static_cast<std::int64_t>(places.size());
  std::ranges::sort(places);
  const std::int64_t last = places.back() - lanes + 1;
  if (last < places[0]) return {};
  Dims starts;
  for (std::int64_t place : places)
    if (starts.empty() || place >= starts.back() + lanes) starts.push_back(std::min(place, last));
  return starts;
}

/// A vector of elements at known places. If they are near, of vectors that hold two or more each, taken
/// together: that takes a tenth of the time of a gather. Loads one by one take less than that, too.
Value LoopNest::load_each(ConstPointer p, Dtype dtype, const Dims& places) {
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  const auto lanes = static_cast<std::int64_t>(places.size());
  const Dims starts = vectors_over(places);
  if (starts.empty() || 2 * static_cast<std::int64_t>(starts.size()) > lanes) {
    b_.set_lanes(static_cast<int>(lanes));
    Value all = b_.constant(dtype, 0);
    b_.set_lanes(1);
    for (std::size_t i = 0; i < places.size(); ++i)
      all = b_.insert(all, static_cast<int>(i), b_.load_element(b_.offset(p, places[i] * item), dtype));
    b_.set_lanes(static_cast<int>(lanes));
    return all;
  }
  const bool truth = dtype == Dtype::Bool;  // bytes are moved in fewer instructions than bits
  b_.set_lanes(static_cast<int>(lanes));
  Value all;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const Value v = b_.load(b_.offset(p, starts[k] * item), truth ? Dtype::U8 : dtype);
    std::vector<int> from;
    for (std::int64_t i = 0; i < lanes; ++i) {
      const std::int64_t within = places[static_cast<std::size_t>(i)] - starts[k];
      const bool here = within >= 0 && within < lanes;
      from.push_back(static_cast<int>(here ? lanes + within : i));
    }
    all = b_.shuffle(k == 0 ? v : all, v, from);
  }
  return truth ? b_.compare(Compare::Ne, all, b_.constant(Dtype::U8, 0)) : all;
}

Value reversed(Builder& b, Value v) {
  std::vector<int> from;
  for (int i = b.lanes_of(v); i-- > 0;) from.push_back(i);
  return b.shuffle(v, v, from);
}

/// A vector of elements, `stride` apart. Reversed ones are one vector.
Value LoopNest::load_apart(ConstPointer p, Dtype dtype, std::int64_t stride) {
  const std::int64_t lanes = vector();
  if (stride == -1) {
    const ConstPointer last = b_.offset(p, (1 - lanes) * static_cast<std::int64_t>(item_size(dtype)));
    return reversed(b_, b_.load(last, dtype));
  }
  Dims places;
  for (std::int64_t i = 0; i < lanes; ++i) places.push_back(i * stride);
  return load_each(p, dtype, places);
}

void LoopNest::store(std::size_t sink, Value v, std::int64_t shift) {
  const std::size_t a = reads_ + sink;
  const Access& access = accesses_[a];
  std::int64_t stride = this->stride(a);
  Pointer p = address(a);
  shift += places_down(a);
  if (row_ > 0) {
    const auto item = static_cast<std::int64_t>(item_size(access.dtype));
    const std::int64_t row_stride = strides_[a][static_cast<std::size_t>(axis_)];
    stride = 1;
    if (row_stride != row_) return store_rows(p, v, row_stride * item);
    p = b_.offset(p, phase_ * width_ * item);
  }
  if (shift != 0) p = b_.offset(p, shift * static_cast<std::int64_t>(item_size(access.dtype)) * access.lanes);
  int lanes = access.lanes > 1 ? access.lanes : vector();
  b_.set_lanes(lanes);
  if (lanes > 1 && b_.lanes_of(v) == 1) v = b_.splat(v);
  if (masks_[sink].handle)
    b_.masked_store(p, v, masks_[sink]);
  else if (access.lanes > 1 || vector() == 1 || stride == 1)
    b_.store(p, v);
  else if (!is_by_itself(a))
    store_column(sink, v, p);
  else
    store_apart(p, v, stride);
}

/// Each row of a vector for itself.
void LoopNest::store_rows(Pointer p, Value v, std::int64_t row_bytes) {
  b_.set_lanes(width_);
  if (b_.lanes_of(v) == 1) v = b_.splat(v);
  for (int row = 0; row < rows_at_once(); ++row) {
    std::vector<int> from(static_cast<std::size_t>(row_));
    std::iota(from.begin(), from.end(), row * row_);
    b_.set_lanes(row_);
    b_.store(b_.offset(p, row * row_bytes), b_.shuffle(v, v, from));
  }
  b_.set_lanes(width_);
}

void LoopNest::store_apart(Pointer p, Value v, std::int64_t stride) {
  const std::int64_t bytes = stride * static_cast<std::int64_t>(item_size(v.dtype));
  const int lanes = vector();
  b_.set_lanes(1);
  for (int i = 0; i < lanes; ++i) b_.store(b_.offset(p, i * bytes), b_.extract(v, i));
  b_.set_lanes(lanes);
}

/// Columns side by side, where vectors are along the axis: those that are read, and what is written if that
/// fills memory.
std::vector<ColumnGroup> LoopNest::groups_along(std::size_t axis) const {
  std::vector<ColumnView> views(accesses_.size());
  std::vector<ColumnGroup> all;
  for (const bool sinks : {false, true}) {
    for (std::size_t a = 0; a < accesses_.size(); ++a) {
      const Access& access = accesses_[a];
      const bool takes_part = (a >= reads_) == sinks && access.lanes == 1 && access.within.empty() &&
                              access.dtype != Dtype::Bool && (!sinks || !masks_[a - reads_].handle);
      views[a] = {takes_part ? access.base.handle : nullptr, static_cast<int>(access.dtype), strides_[a],
                  access.view.offset};
    }
    for (ColumnGroup& group : column_groups(views, axis)) {
      const std::size_t any = group.members[0][0];
      if (!sinks || group.fills(strides_[any][axis])) all.push_back(std::move(group));
    }
  }
  return all;
}

void LoopNest::find_columns() {
  columns_of_.assign(accesses_.size(), none);
  if (axis_ < 0 || width_ == 1 || row_ > 0 || phases_ > 1) return;
  for (ColumnGroup& group : groups_along(static_cast<std::size_t>(axis_))) {
    const auto stride = static_cast<std::size_t>(this->stride(group.members[0][0]));
    for (const auto& column : group.members)
      for (std::size_t a : column) columns_of_[a] = static_cast<std::uint32_t>(side_by_side_.size());
    side_by_side_.push_back({std::move(group), std::vector<Value>(stride), std::vector<Pointer>(stride)});
  }
}

bool LoopNest::stores_columns() const {
  const auto written = std::span(columns_of_).subspan(reads_);
  return std::ranges::none_of(written, [](std::uint32_t group) { return group == none; });
}

/// Whether an array is read or written without those beside it: there are none, or the body walks.
bool LoopNest::is_by_itself(std::size_t a) const {
  return columns_of_[a] == none || along_ > 0 || line_.handle || walked_inner_.handle || walked_outer_.handle;
}

/// All columns that are read are taken from the same vectors of memory, when the first of them is.
Value LoopNest::load_column(std::size_t a) {
  auto& [group, values, at] = side_by_side_[columns_of_[a]];
  const auto column = [&](std::size_t access) {
    return static_cast<std::size_t>(accesses_[access].view.offset - group.first);
  };
  if (values[column(a)].handle) return values[column(a)];
  const auto item = static_cast<std::int64_t>(item_size(accesses_[a].dtype));
  const auto count = std::ssize(values);
  const ConstPointer first = b_.offset(current(a), -static_cast<std::int64_t>(column(a)) * item);
  const std::int64_t elements = (width_ - 1) * count + std::ssize(group.members);
  std::vector<std::int64_t> starts;
  std::vector<Value> vectors;
  b_.set_lanes(width_);
  for (std::int64_t start = 0; start < elements; start += width_) {
    starts.push_back(std::min(start, elements - width_));
    vectors.push_back(b_.load(b_.offset(first, starts.back() * item), accesses_[a].dtype));
  }
  std::vector<char> wanted;
  for (const auto& members : group.members) wanted.push_back(static_cast<char>(!members.empty()));
  wanted.resize(values.size());
  values = taken_apart(b_, std::move(vectors), starts, wanted);
  return values[column(a)];
}

/// Columns that are written are stored together, when all are there.
void LoopNest::store_column(std::size_t sink, Value v, Pointer p) {
  const std::size_t a = reads_ + sink;
  auto& [group, values, at] = side_by_side_[columns_of_[a]];
  const auto column = static_cast<std::size_t>(accesses_[a].view.offset - group.first);
  values[column] = v;
  at[column] = p;
  if (std::ranges::any_of(values, [](Value waits) { return !waits.handle; })) return;
  const auto bytes = width_ * static_cast<std::int64_t>(item_size(v.dtype));
  const std::vector<Value> vectors =
      interleaved(b_, std::exchange(values, std::vector<Value>(values.size())));
  for (std::size_t k = 0; k < vectors.size(); ++k)
    b_.store(b_.offset(at[0], static_cast<std::int64_t>(k) * bytes), vectors[k]);
}

}  // namespace apsis::detail
