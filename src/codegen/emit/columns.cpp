#include "codegen/emit/columns.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace apsis::detail {
namespace {

/// Every second element of two vectors, one after the other, from `first` on.
Value every_second(Builder& b, Value x, Value y, int first) {
  std::vector<int> from;
  for (int lane = 0; lane < b.lanes_of(x); ++lane) from.push_back(first + 2 * lane);
  return b.shuffle(x, y, from);
}

}  // namespace

std::vector<Value> interleaved(Builder& b, std::vector<Value> columns) {
  const std::size_t count = columns.size();
  if (count == 1) return columns;
  const int lanes = b.lanes_of(columns[0]);
  b.set_lanes(lanes);
  std::vector<Value> vectors;
  std::vector<int> from(static_cast<std::size_t>(lanes));
  if (count % 2 == 0) {
    // Those of every second column, and of the others, take turns.
    std::vector<Value> half[2];
    for (std::size_t c = 0; c < count; ++c) half[c % 2].push_back(columns[c]);
    for (auto& h : half) h = interleaved(b, std::move(h));
    for (std::size_t k = 0; k < count; ++k) {
      for (int lane = 0; lane < lanes; ++lane)
        from[static_cast<std::size_t>(lane)] =
            (static_cast<int>(k % 2) * lanes + lane) / 2 + (lane % 2 == 0 ? 0 : lanes);
      vectors.push_back(b.shuffle(half[0][k / 2], half[1][k / 2], from));
    }
    return vectors;
  }
  for (std::size_t k = 0; k < count; ++k) {
    Value all = columns[0];
    for (std::size_t c = 1; c < count; ++c) {
      for (std::size_t lane = 0; lane < from.size(); ++lane) {
        const std::size_t element = k * from.size() + lane, row = element / count, column = element % count;
        if (column == c)
          from[lane] = lanes + static_cast<int>(row);
        else
          from[lane] = static_cast<int>(c == 1 ? row : lane);
      }
      all = b.shuffle(all, columns[c], from);
    }
    vectors.push_back(all);
  }
  return vectors;
}

std::vector<Value> taken_apart(Builder& b, std::vector<Value> vectors, std::span<const std::int64_t> starts,
                               std::span<const char> wanted) {
  const std::size_t count = wanted.size();
  std::vector<Value> columns(count);
  if (count == 1) return vectors;
  const std::int64_t lanes = b.lanes_of(vectors[0]);
  b.set_lanes(static_cast<int>(lanes));
  bool in_a_row = count % 2 == 0 && vectors.size() == count;
  for (std::size_t k = 0; k < starts.size(); ++k)
    in_a_row = in_a_row && starts[k] == static_cast<std::int64_t>(k) * lanes;
  if (in_a_row) {
    for (std::size_t half = 0; half < 2; ++half) {
      std::vector<Value> fewer;
      std::vector<char> wanted_of_half;
      for (std::size_t c = half; c < count; c += 2) wanted_of_half.push_back(wanted[c]);
      if (std::ranges::none_of(wanted_of_half, [](char w) { return w != 0; })) continue;
      for (std::size_t k = 0; k < count; k += 2)
        fewer.push_back(every_second(b, vectors[k], vectors[k + 1], static_cast<int>(half)));
      const std::vector<Value> made =
          taken_apart(b, std::move(fewer), starts.first(count / 2), wanted_of_half);
      for (std::size_t c = 0; c < made.size(); ++c) columns[2 * c + half] = made[c];
    }
    return columns;
  }
  for (std::size_t c = 0; c < count; ++c) {
    if (!wanted[c]) continue;
    for (std::size_t k = 0; k < vectors.size(); ++k) {
      std::vector<int> from;
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t within =
            static_cast<std::int64_t>(c) + lane * static_cast<std::int64_t>(count) - starts[k];
        const bool here = within >= 0 && within < lanes;
        from.push_back(static_cast<int>(here ? lanes + within : lane));
      }
      columns[c] = b.shuffle(k == 0 ? vectors[0] : columns[c], vectors[k], from);
    }
  }
  return columns;
}

bool ColumnGroup::fills(std::int64_t stride) const {
  return std::ssize(members) == stride &&
         std::ranges::none_of(members, [](const auto& m) { return m.empty(); });
}

std::vector<ColumnGroup> column_groups(std::span<const ColumnView> views, std::size_t axis) {
  using Key = std::tuple<void*, int, std::vector<std::int64_t>>;
  std::map<Key, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const ColumnView& v = views[i];
    if (v.base && v.strides[axis] >= 2 && v.strides[axis] <= most_columns)
      alike[{v.base, v.dtype, {v.strides.begin(), v.strides.end()}}].push_back(i);
  }
  std::vector<ColumnGroup> groups;
  for (auto& [key, some] : alike) {
    std::ranges::stable_sort(some, {}, [&](std::size_t i) { return views[i].offset; });
    const std::size_t begin = groups.size();
    for (std::size_t i : some) {
      const std::int64_t offset = views[i].offset, stride = views[i].strides[axis];
      if (groups.size() == begin || offset >= groups.back().first + stride) groups.push_back({offset, {}});
      const auto column = static_cast<std::size_t>(offset - groups.back().first);
      groups.back().members.resize(std::max(groups.back().members.size(), column + 1));
      groups.back().members[column].push_back(i);
    }
  }
  return groups;
}

}  // namespace apsis::detail
