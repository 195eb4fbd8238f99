// Sums of products by letters, in the order of fewest multiply-adds.

#include <algorithm>
#include <bit>
#include <bitset>
#include <limits>
#include <span>
#include <string>

#include "apsis/ops/linalg.hpp"
#include "ops/arguments.hpp"
#include "ops/lax.hpp"
#include "ops/messages.hpp"

namespace apsis {
namespace lax = detail::lax;
namespace {

// An operand with a letter for each axis; the axes of an ellipsis have characters that are no letters.
struct Lettered {
  Array array;
  std::string letters;
};

// What stands for `...` until it is known which axes it is.
constexpr char ellipsis_letter = '.';

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

std::string written(const std::string& letters) {
  const std::size_t at = letters.find(ellipsis_letter);
  return at == std::string::npos ? letters : std::string(letters).replace(at, 1, "...");
}

[[noreturn]] void fail_equation(std::string_view equation, const std::string& why, Loc loc) {
  fail(messages::einsum_equation, {std::string(equation), why}, loc);
}

Equation parse_equation(std::string_view text, Loc loc) {
  Equation out;
  std::string left;
  bool arrow = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ' ') continue;
    if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !arrow) {
      arrow = true;
      ++i;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c == ',' && !arrow)) {
      (arrow ? out.result : left) += c;
    } else if (text.substr(i, 3) == "...") {
      (arrow ? out.result : left) += ellipsis_letter;
      i += 2;
    } else {
      fail_equation(text, std::string("`") + c + "` cannot stand there", loc);
    }
  }
  for (std::size_t begin = 0; begin <= left.size();) {
    std::size_t end = std::min(left.find(',', begin), left.size());
    out.operands.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& operand : out.operands)
    if (std::ranges::count(operand, ellipsis_letter) > 1)
      fail_equation(text, "one operand has two ellipses", loc);
  std::string letters = left;
  std::ranges::sort(letters);
  if (!arrow && letters.find(ellipsis_letter) != std::string::npos) out.result += ellipsis_letter;
  if (!arrow)
    for (char c : letters)
      if (c != ',' && c != ellipsis_letter && std::ranges::count(letters, c) == 1) out.result += c;
  for (char c : out.result) {
    if (c == ellipsis_letter && std::ranges::count(out.result, c) == 1) continue;
    if (std::ranges::count(out.result, c) > 1)
      fail_equation(text, std::string("the result names `") + c + "` twice", loc);
    if (left.find(c) == std::string::npos)
      fail_equation(text, std::string("no operand has the result's axis `") + c + "`", loc);
  }
  return out;
}

[[noreturn]] void fail_fit(std::string_view text, const std::string& letters, const Array& x, Loc loc) {
  fail_equation(text, "`" + written(letters) + "` does not fit shape " + to_string(x.shape()), loc);
}

// Characters for the axes that ellipses stand for: the last of each operand is the last of all. What no
// operand has is nothing.
void name_ellipses(Equation& equation, std::span<const Array> arrays, std::string_view text, Loc loc) {
  std::vector<Shape> shapes(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string& letters = equation.operands[i];
    const Shape& shape = arrays[i].shape();
    const std::size_t at = letters.find(ellipsis_letter);
    if (at == std::string::npos) continue;
    if (letters.size() > shape.size() + 1) fail_fit(text, letters, arrays[i], loc);
    for (std::size_t k = 0; k < shape.size() + 1 - letters.size(); ++k) shapes[i].push_back(shape[at + k]);
  }
  const std::size_t count = detail::broadcast_shapes("einsum", shapes, loc).size();
  constexpr std::size_t most = ' ' - 1;
  if (count > most)
    fail_equation(text, "an ellipsis stands for more than " + std::to_string(most) + " axes", loc);
  std::string names;
  for (std::size_t k = 0; k < count; ++k) names += static_cast<char>(k + 1);
  auto named = [&](std::string& letters, std::size_t axes) {
    const std::size_t at = letters.find(ellipsis_letter);
    if (at != std::string::npos) letters.replace(at, 1, names.substr(count - axes));
  };
  for (std::size_t i = 0; i < arrays.size(); ++i) named(equation.operands[i], shapes[i].size());
  named(equation.result, count);
}

// An axis of size 1 where another operand has more is left out: it broadcasts.
void drop_broadcast_axes(std::vector<std::string>& operands, std::vector<Array>& arrays) {
  std::int64_t sizes[128] = {};
  for (std::size_t i = 0; i < arrays.size(); ++i)
    for (std::size_t axis = 0; axis < operands[i].size(); ++axis)
      if (std::int64_t size = arrays[i].shape()[axis]; size != 1)
        sizes[static_cast<unsigned char>(operands[i][axis])] = size + 1;  // 0: all are 1
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::string kept;
    Shape shape;
    for (std::size_t axis = 0; axis < operands[i].size(); ++axis) {
      const char c = operands[i][axis];
      const std::int64_t size = arrays[i].shape()[axis];
      if (size == 1 && sizes[static_cast<unsigned char>(c)] != 0 && std::ranges::count(operands[i], c) == 1)
        continue;
      kept += c;
      shape.push_back(size);
    }
    if (kept.size() != operands[i].size()) arrays[i] = lax::reshape(arrays[i], shape);
    operands[i] = kept;
  }
}

// Repeated letters of one operand become its diagonal; letters that nobody else needs are summed over.
Lettered reduced(Lettered x, std::string_view needed) {
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    std::size_t j = x.letters.find(x.letters[i], i + 1);
    if (j == std::string::npos) continue;
    Array rows = lax::iota(i64, x.array.shape(), static_cast<int>(i)),
          columns = lax::iota(i64, x.array.shape(), static_cast<int>(j));
    Array kept = lax::select(lax::eq(rows, columns), x.array, lax::full_like(x.array.aval(), 0));
    x.array = lax::reduce_sum(kept, {static_cast<std::int64_t>(j)});
    x.letters.erase(j, 1);
    --i;
  }
  Dims summed;
  std::string left;
  for (std::size_t i = 0; i < x.letters.size(); ++i)
    if (needed.find(x.letters[i]) != std::string_view::npos)
      left += x.letters[i];
    else
      summed.push_back(static_cast<std::int64_t>(i));
  if (!summed.empty()) x.array = lax::reduce_sum(x.array, summed);
  return {x.array, left};
}

Lettered contracted(const Lettered& a, const Lettered& b, std::string_view needed) {
  Dims contract_a, contract_b, batch_a, batch_b;
  std::string letters, free_a, free_b;
  for (std::size_t i = 0; i < a.letters.size(); ++i) {
    std::size_t j = b.letters.find(a.letters[i]);
    if (j == std::string::npos) {
      free_a += a.letters[i];
      continue;
    }
    bool kept = needed.find(a.letters[i]) != std::string_view::npos;
    (kept ? batch_a : contract_a).push_back(static_cast<std::int64_t>(i));
    (kept ? batch_b : contract_b).push_back(static_cast<std::int64_t>(j));
    if (kept) letters += a.letters[i];
  }
  for (char c : b.letters)
    if (a.letters.find(c) == std::string::npos) free_b += c;
  return {lax::dot_general(a.array, b.array, contract_a, contract_b, batch_a, batch_b),
          letters + free_a + free_b};
}

using Letters = std::bitset<128>;

Letters set_of(std::string_view letters) {
  Letters out;
  for (char c : letters) out.set(static_cast<unsigned char>(c));
  return out;
}

/// The order in which operands are multiplied in pairs: a binary tree of them.
class ProductOrder {
 public:
  /// `sizes` are those of the letters.
  ProductOrder(std::span<const std::string> operands, std::string_view result, const double (&sizes)[128])
      : result_(set_of(result)), sizes_(sizes) {
    for (const std::string& letters : operands) nodes_.push_back({set_of(letters)});
    if (operands.size() <= most_searched)
      search();
    else
      choose_cheapest_pairs();
  }

  struct Node {
    Letters letters;              ///< that are left
    int first = -1, second = -1;  ///< what it is the product of, or an operand
    double multiply_adds = 0;     ///< of this product
  };
  /// The operands, then their products, each after its factors.
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  // 3ⁿ pairs of sets.
  static constexpr std::size_t most_searched = 9;

  double multiply_adds(const Letters& letters) const {
    double product = 1;
    for (std::size_t i = 0; i < letters.size(); ++i)
      if (letters[i]) product *= sizes_[i];
    return product;
  }

  const Letters& letters_of(int i) const { return nodes_[static_cast<std::size_t>(i)].letters; }

  /// The best tree of each set of operands from those of its parts (C.-C. Lam, P. Sadayappan and R. Wenger,
  /// On optimizing a class of multi-dimensional loops with reductions for parallel execution, 1997). Of equal
  /// ones, that from left to right.
  void search() {
    const std::size_t count = nodes_.size(), sets = std::size_t{1} << count;
    std::vector<Letters> all(sets);
    for (std::size_t set = 1; set < sets; ++set)
      all[set] = all[set & (set - 1)] | nodes_[static_cast<std::size_t>(std::countr_zero(set))].letters;
    std::vector<double> cost(sets, 0);
    std::vector<std::size_t> split(sets, 0);
    std::vector<Letters> open(sets);
    for (std::size_t set = 1; set < sets; ++set) {
      open[set] = all[set] & (all[sets - 1 - set] | result_);
      if (std::has_single_bit(set)) continue;
      const std::size_t lowest = set & -set, rest = set - lowest;
      cost[set] = std::numeric_limits<double>::infinity();
      const auto consider = [&](std::size_t second) {
        const std::size_t first = set - second;
        const double all_of_it = cost[first] + cost[second] + multiply_adds(open[first] | open[second]);
        if (all_of_it < cost[set] || split[set] == 0) cost[set] = all_of_it, split[set] = second;
      };
      consider(std::bit_floor(set));
      for (std::size_t second = rest; second != 0; second = (second - 1) & rest) consider(second);
    }
    const auto add = [&](auto& self, std::size_t set) -> int {
      if (std::has_single_bit(set)) return std::countr_zero(set);
      const int first = self(self, set - split[set]), second = self(self, split[set]);
      nodes_.push_back({open[set], first, second, multiply_adds(letters_of(first) | letters_of(second))});
      return static_cast<int>(nodes_.size()) - 1;
    };
    for (std::size_t i = 0; i < count; ++i) nodes_[i].letters = open[std::size_t{1} << i];
    add(add, sets - 1);
  }

  void choose_cheapest_pairs() {
    std::vector<int> left;
    for (std::size_t i = 0; i < nodes_.size(); ++i) left.push_back(static_cast<int>(i));
    const auto needed_without = [&](int a, int b) {
      Letters needed = result_;
      for (int i : left)
        if (i != a && i != b) needed |= letters_of(i);
      return needed;
    };
    for (int i : left) nodes_[static_cast<std::size_t>(i)].letters &= needed_without(i, i);
    while (left.size() > 1) {
      double least = std::numeric_limits<double>::infinity();
      std::size_t first = 0, second = 1;
      for (std::size_t i = 0; i < left.size(); ++i)
        for (std::size_t j = i + 1; j < left.size(); ++j)
          if (const double cost = multiply_adds(letters_of(left[i]) | letters_of(left[j])); cost < least)
            least = cost, first = i, second = j;
      const int a = left[first], b = left[second];
      nodes_.push_back({(letters_of(a) | letters_of(b)) & needed_without(a, b), a, b, least});
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(second));
      left[first] = static_cast<int>(nodes_.size()) - 1;
    }
  }

  Letters result_;
  const double (&sizes_)[128];
  std::vector<Node> nodes_;
};

/// An equation with its operands, checked.
struct Einsum {
  Equation equation;
  std::vector<Array> arrays;
  double sizes[128] = {};

  Einsum(std::string_view text, std::span<const Array> operands, Loc loc);
  ProductOrder order() const { return {equation.operands, equation.result, sizes}; }
};

Einsum::Einsum(std::string_view text, std::span<const Array> operands, Loc loc)
    : equation(parse_equation(text, loc)), arrays(detail::promoted(operands)) {
  if (equation.operands.size() != operands.size())
    fail_equation(text,
                  "it names " + std::to_string(equation.operands.size()) + " operands, given are " +
                      std::to_string(operands.size()),
                  loc);
  name_ellipses(equation, arrays, text, loc);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (equation.operands[i].size() != arrays[i].shape().size())
      fail_fit(text, equation.operands[i], arrays[i], loc);
  drop_broadcast_axes(equation.operands, arrays);
  std::int64_t found[128] = {};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string& letters = equation.operands[i];
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
      std::int64_t& known = found[static_cast<unsigned char>(letters[axis])];
      std::int64_t size = arrays[i].shape()[axis];
      if (known != 0 && known != size + 1)
        fail_equation(text,
                      std::string("axis `") + letters[axis] + "` has sizes " + std::to_string(known - 1) +
                          " and " + std::to_string(size),
                      loc);
      known = size + 1;  // 0 is unknown
    }
  }
  for (std::size_t i = 0; i < 128; ++i)
    sizes[i] = static_cast<double>(std::max<std::int64_t>(found[i], 1) - 1);
}

std::string text_of(const Letters& set) {
  std::string out;
  for (std::size_t i = 0; i < set.size(); ++i)
    if (set[i]) out += static_cast<char>(i);
  return out;
}

}  // namespace

Array einsum(std::string_view equation, std::span<const Array> operands, Loc loc) {
  const Einsum e(equation, operands, loc);
  std::vector<Lettered> values;
  const ProductOrder order = e.order();
  for (const ProductOrder::Node& node : order.nodes()) {
    const std::size_t i = values.size();
    const std::string needed = text_of(node.letters);
    if (node.first < 0)
      values.push_back(reduced({e.arrays[i], e.equation.operands[i]}, needed));
    else
      values.push_back(contracted(values[static_cast<std::size_t>(node.first)],
                                  values[static_cast<std::size_t>(node.second)], needed));
  }
  const Lettered& sum = values.back();
  Dims permutation;
  for (char c : e.equation.result) permutation.push_back(static_cast<std::int64_t>(sum.letters.find(c)));
  return lax::transpose(sum.array, permutation);
}

Array einsum(std::string_view equation, std::initializer_list<Array> operands, Loc loc) {
  return einsum(equation, std::span(operands.begin(), operands.size()), loc);
}

EinsumPath einsum_path(std::string_view equation, std::span<const Array> operands, Loc loc) {
  const Einsum e(equation, operands, loc);
  const ProductOrder order = e.order();
  EinsumPath path;
  std::vector<int> list;
  for (std::size_t i = 0; i < e.arrays.size(); ++i) list.push_back(static_cast<int>(i));
  for (std::size_t i = e.arrays.size(); i < order.nodes().size(); ++i) {
    const ProductOrder::Node& node = order.nodes()[i];
    const auto place = [&](int which) { return std::ranges::find(list, which) - list.begin(); };
    const std::ptrdiff_t first = place(node.first), second = place(node.second);
    const auto [low, high] = std::pair(std::min(first, second), std::max(first, second));
    path.pairs.emplace_back(low, high);
    list.erase(list.begin() + high);
    list.erase(list.begin() + low);
    list.push_back(static_cast<int>(i));
    path.multiply_adds += node.multiply_adds;
  }
  return path;
}

EinsumPath einsum_path(std::string_view equation, std::initializer_list<Array> operands, Loc loc) {
  return einsum_path(equation, std::span(operands.begin(), operands.size()), loc);
}

}  // namespace apsis
