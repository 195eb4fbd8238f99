#include "apsis/ops/linalg.hpp"

#include <algorithm>
#include <string>

#include "apsis/ops/complex.hpp"
#include "apsis/ops/dot_general.hpp"
#include "ops/arguments.hpp"
#include "ops/lax.hpp"
#include "ops/messages.hpp"

namespace apsis {
namespace lax = detail::lax;
namespace {

std::vector<Array> both(const Array& a, const Array& b) {
  Array pair[] = {a, b};
  return detail::promoted(pair);
}

void check_contraction(const char* where, const Array& a, const Array& b, const Dims& axes_a,
                       const Dims& axes_b, Loc loc) {
  bool fits = axes_a.size() == axes_b.size();
  for (std::size_t i = 0; fits && i < axes_a.size(); ++i)
    fits = a.shape()[static_cast<std::size_t>(axes_a[i])] == b.shape()[static_cast<std::size_t>(axes_b[i])];
  if (!fits)
    fail(messages::contraction_sizes,
         {where, to_string(axes_a), to_string(a.shape()), to_string(axes_b), to_string(b.shape())}, loc);
}

Array contract(const char* where, const Array& a, const Array& b, const Dims& axes_a, const Dims& axes_b,
               Loc loc) {
  check_contraction(where, a, b, axes_a, axes_b, loc);
  auto pair = both(a, b);
  return lax::dot_general(pair[0], pair[1], axes_a, axes_b);
}

}  // namespace

Array dot(const Array& a, const Array& b, Loc loc) {
  if (a.ndim() == 0 || b.ndim() == 0) return contract("dot", a, b, {}, {}, loc);
  return contract("dot", a, b, {a.ndim() - 1}, {std::max(b.ndim() - 2, 0)}, loc);
}

Array matmul(const Array& a, const Array& b, Loc loc) {
  if (a.ndim() == 0 || b.ndim() == 0)
    fail(messages::matmul_scalar, {to_string(a.shape()), to_string(b.shape())}, loc);
  if (a.ndim() <= 2 && b.ndim() <= 2)
    return contract("matmul", a, b, {a.ndim() - 1}, {std::max(b.ndim() - 2, 0)}, loc);
  // A vector against stacked matrices contracts with each of them; no batch axis is shared.
  if (a.ndim() == 1) return contract("matmul", a, b, {0}, {b.ndim() - 2}, loc);
  if (b.ndim() == 1) return contract("matmul", a, b, {a.ndim() - 1}, {0}, loc);
  check_contraction("matmul", a, b, {a.ndim() - 1}, {b.ndim() - 2}, loc);
  Shape stacks[] = {a.shape(), b.shape()};
  for (Shape& s : stacks) s.resize(s.size() - 2);
  Shape common = detail::broadcast_shapes("matmul", stacks, loc);
  auto pair = both(a, b);
  for (Array& operand : pair) {
    Shape whole = common;
    whole.push_back(operand.dim(-2));
    whole.push_back(operand.dim(-1));
    operand = detail::broadcast_last(operand, whole);
  }
  Dims batch = Dims::counting(common.size());
  int rank = pair[0].ndim();
  return lax::dot_general(pair[0], pair[1], {rank - 1}, {rank - 2}, batch, batch);
}

Array dot_general(const Array& a, const Array& b, const DotOptions& o, Loc loc) {
  const LocScope place(loc);
  const auto joined = [](Dims first, const Dims& second) {
    for (std::int64_t axis : second) first.push_back(axis);
    return first;
  };
  const Dims all_a = detail::checked_axes("dot_general", joined(o.contract_a, o.batch_a), a.shape(), loc),
             all_b = detail::checked_axes("dot_general", joined(o.contract_b, o.batch_b), b.shape(), loc);
  const auto part = [](const Dims& axes, std::size_t first, std::size_t count) {
    return Dims(std::span<const std::int64_t>(axes).subspan(first, count));
  };
  const std::size_t count_a = o.contract_a.size(), count_b = o.contract_b.size();
  const Dims contract_a = part(all_a, 0, count_a), batch_a = part(all_a, count_a, o.batch_a.size()),
             contract_b = part(all_b, 0, count_b), batch_b = part(all_b, count_b, o.batch_b.size());
  check_contraction("dot_general", a, b, contract_a, contract_b, loc);
  check_contraction("dot_general", a, b, batch_a, batch_b, loc);
  auto pair = both(a, b);
  const Dtype own = pair[0].dtype(), wanted = o.preferred_element_type.value_or(own);
  if (promote({own, false}, {wanted, false}).dtype == wanted && wanted != own)
    for (Array& operand : pair) operand = lax::convert(operand, wanted);
  const Array product = lax::dot_general(pair[0], pair[1], contract_a, contract_b, batch_a, batch_b);
  return product.dtype() == wanted ? product : lax::convert(product, wanted);
}

Array vdot(const Array& a, const Array& b, Loc loc) {
  return contract("vdot", lax::reshape(conj(a, loc), {a.size()}), lax::reshape(b, {b.size()}), {0}, {0}, loc);
}

Array inner(const Array& a, const Array& b, Loc loc) {
  if (a.ndim() == 0 || b.ndim() == 0) return contract("inner", a, b, {}, {}, loc);
  return contract("inner", a, b, {a.ndim() - 1}, {b.ndim() - 1}, loc);
}

// One product an element: an elementwise multiplication, no sum.
Array outer(const Array& a, const Array& b, Loc) {
  auto pair = both(a, b);
  Shape shape{a.size(), b.size()};
  return lax::mul(lax::broadcast_in_dim(lax::reshape(pair[0], {a.size()}), shape, {0}),
                  lax::broadcast_in_dim(lax::reshape(pair[1], {b.size()}), shape, {1}));
}

Array detail::contract_axes(const Array& a, const Array& b, std::int64_t axes, Loc loc) {
  if (axes < 0 || axes > std::min(a.ndim(), b.ndim()))
    fail(messages::tensordot_axes, {std::to_string(axes), to_string(a.shape()), to_string(b.shape())}, loc);
  Dims last, first = Dims::counting(static_cast<std::size_t>(axes));
  for (std::int64_t i = a.ndim() - axes; i < a.ndim(); ++i) last.push_back(i);
  return contract("tensordot", a, b, last, first, loc);
}

Array tensordot(const Array& a, const Array& b, const Dims& axes_a, const Dims& axes_b, Loc loc) {
  return contract("tensordot", a, b, detail::checked_axes("tensordot", axes_a, a.shape(), loc),
                  detail::checked_axes("tensordot", axes_b, b.shape(), loc), loc);
}

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

}  // namespace

Array einsum(std::string_view equation, std::initializer_list<Array> operands, Loc loc) {
  Equation parsed = parse_equation(equation, loc);
  if (parsed.operands.size() != operands.size())
    fail_equation(equation,
                  "it names " + std::to_string(parsed.operands.size()) + " operands, given are " +
                      std::to_string(operands.size()),
                  loc);
  auto arrays = detail::promoted({operands.begin(), operands.size()});
  name_ellipses(parsed, arrays, equation, loc);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (parsed.operands[i].size() != arrays[i].shape().size())
      fail_fit(equation, parsed.operands[i], arrays[i], loc);
  drop_broadcast_axes(parsed.operands, arrays);
  std::int64_t sizes[128] = {};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string& letters = parsed.operands[i];
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
      std::int64_t& known = sizes[static_cast<unsigned char>(letters[axis])];
      std::int64_t size = arrays[i].shape()[axis];
      if (known != 0 && known != size + 1)
        fail_equation(equation,
                      std::string("axis `") + letters[axis] + "` has sizes " + std::to_string(known - 1) +
                          " and " + std::to_string(size),
                      loc);
      known = size + 1;  // 0 is unknown
    }
  }
  Lettered sum{arrays[0], parsed.operands[0]};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::string later = parsed.result;
    for (std::size_t j = i + 1; j < arrays.size(); ++j) later += parsed.operands[j];
    if (i == 0) {
      sum = reduced(sum, later);
    } else {
      Lettered next = reduced({arrays[i], parsed.operands[i]}, sum.letters + later);
      sum = contracted(sum, next, later);
    }
  }
  Dims permutation;
  for (char c : parsed.result) permutation.push_back(static_cast<std::int64_t>(sum.letters.find(c)));
  return lax::transpose(sum.array, permutation);
}

}  // namespace apsis
