#include "codegen/emit/strips.hpp"

#include <algorithm>

namespace apsis::detail {

Strips::Strips(Builder& b, const Shape& shape, std::int64_t rows, std::int64_t columns)
    : b_(b), rows_(rows), columns_(columns) {
  const std::size_t last = shape.size() - 1;
  APSIS_ASSERT(shape[last - 1] >= rows && shape[last] >= columns);
  for (std::size_t d = 0; d <= last; ++d) {
    const std::int64_t step = d == last ? columns : d + 1 == last ? rows : 1;
    if (shape[d] > step)
      loops_.emplace_back(std::in_place, b, shape[d], step);
    else
      loops_.emplace_back();
  }
}

void Strips::close() {
  for (std::size_t d = loops_.size(); d-- > 0;)
    if (loops_[d]) loops_[d]->close();
}

Value Strips::column() const { return loops_.back() ? loops_.back()->index() : Value{}; }

/// f(how far it is to where the loops are, in elements along an axis), of all axes where it is any.
template <class F>
void Strips::each_place(const View& view, F&& f) const {
  b_.set_lanes(1);
  for (std::size_t d = 0; d < loops_.size(); ++d)
    if (loops_[d] && view.strides[d] != 0) f(loops_[d]->index(), view.strides[d]);
}

View Strips::part(const View& view) const {
  const std::size_t rank = view.strides.size();
  return {shape(), {view.strides[rank - 2], view.strides[rank - 1]}, view.offset};
}

Pointer Strips::moved(ConstPointer base, const View& view, std::int64_t item) const {
  each_place(view, [&](Value at, std::int64_t stride) {
    base = b_.offset(base, b_.mul(at, b_.index(stride * item)));
  });
  return {base.handle};
}

Access Strips::operator()(Access access) const {
  const auto item = static_cast<std::int64_t>(item_size(access.dtype)) * access.lanes;
  if (access.base.handle)
    access.base = moved(access.base, access.view, item);
  else
    each_place(access.view, [&](Value at, std::int64_t stride) {
      const Value places = b_.mul(at, b_.index(stride));
      access.first = access.first.handle ? b_.add(access.first, places) : places;
    });
  access.view = part(access.view);
  return access;
}

Sink Strips::operator()(Sink sink) const {
  sink.base = moved(sink.base, sink.view, static_cast<std::int64_t>(item_size(sink.dtype)) * sink.lanes);
  sink.view = part(sink.view);
  return sink;
}

std::int64_t rows_of_strip(std::int64_t rows, std::int64_t together, std::int64_t bytes, bool once) {
  constexpr std::int64_t cached = 1 << 14, fewest = 4, most = 48;
  const std::int64_t limit = std::min(std::clamp(cached / bytes, fewest * together, most), rows);
  // A strip takes as long as some more rows would, and what is left over is code of its own.
  const auto time_of = [&](std::int64_t strip) {
    const std::int64_t tiles = (strip + together - 1) / together;
    const bool leaves = once && rows % strip != 0;
    return ((rows + strip - 1) / strip + (leaves ? 1 : 0)) * (tiles + 1) * together;
  };
  std::int64_t best = std::min(together, rows);
  for (std::int64_t strip = together; strip <= limit; strip += once ? 1 : together)
    if (time_of(strip) <= time_of(best)) best = strip;
  return best;
}

}  // namespace apsis::detail
