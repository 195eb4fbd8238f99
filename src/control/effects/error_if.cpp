// error_if: errors raised by the values of a program, in eager and in compiled code.

#include "apsis/control/error_if.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "apsis/ops/arithmetic.hpp"
#include "base/place.hpp"
#include "control/common/messages.hpp"
#include "control/common/regions.hpp"
#include "ir/effects.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"

namespace apsis {
namespace detail {
namespace {

void error_if_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>&) {
  if (!in.empty() && in[0].dtype() != Dtype::I64 && in[0].dtype() != Dtype::Bool)
    fail(messages::error_code, {to_string(in[0])});
  const auto& p = params.as<ErrorIfParams>();
  APSIS_ASSERT(!in.empty() && !p.texts.empty() && p.ids.size() == p.texts.size() && p.lane_axes >= 0 &&
               p.lane_axes <= in[0].rank());
  for (const Aval& value : in.subspan(1)) {
    APSIS_ASSERT(!value.is_list() && value.rank() >= p.lane_axes);
    for (std::int64_t k = 0; k < p.lane_axes; ++k)
      APSIS_ASSERT(value.shape()[static_cast<std::size_t>(k)] == in[0].shape()[static_cast<std::size_t>(k)]);
  }
}

std::int64_t code_at(const Array& codes, std::int64_t i) {
  auto at = static_cast<std::size_t>(i);
  return codes.dtype() == Dtype::Bool ? codes.span<bool>()[at] : codes.span<std::int64_t>()[at];
}

/// The elements of one lane.
Array of_lane(const Array& a, const Shape& lanes, std::int64_t lane) {
  Shape shape = a.shape();
  for (std::size_t k = 0; k < lanes.size(); ++k) shape.erase(0);
  Array flat = allocate(Aval(a.dtype(), shape));
  std::size_t bytes = flat.aval().bytes();
  std::memcpy(mutable_data<char>(flat),
              static_cast<const char*>(data_of(a)) + static_cast<std::size_t>(lane) * bytes, bytes);
  return flat;
}

/// The elements one after the other, as an index is written: `[1, 0]`.
std::string as_index(const Array& a) {
  std::string text;
  for (std::int64_t i = 0; i < a.size(); ++i) text += (i ? ", " : "") + to_string(of_lane(a, a.shape(), i));
  return "[" + text + "]";
}

/// The name and index, as in `y.position[1, 0]`, of the greatest element of some values: the greatest in
/// magnitude, but before all one that is not finite. `names` has a name for each, with `;` between.
std::string greatest(std::string_view names, std::span<const Array> values) {
  std::string found;
  double most = -1;
  for (const Array& value : values) {
    const std::string name(names.substr(0, names.find(';')));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const std::vector<double> elements = (is_complex(value.dtype()) ? abs(value) : value).to_vector<double>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const double size = std::isfinite(elements[i]) ? std::abs(elements[i]) : INFINITY;
      if (!(size > most)) continue;
      most = size;
      found = name;
      std::string index;
      std::int64_t rest = static_cast<std::int64_t>(i);
      for (std::size_t k = value.shape().size(); k-- > 0; rest /= value.shape()[k])
        index = std::to_string(rest % value.shape()[k]) + (index.empty() ? "" : ", ") + index;
      if (!index.empty()) found += "[" + index + "]";
    }
  }
  return found;
}

/// The text with `{0}`, `{1}` … replaced by the values of a lane, `{0:,}` by value 0 as an index, and
/// `{0:x;y}` by the place of the greatest element of value 0, called x, and value 1, called y.
std::string with_values(const std::string& text, std::span<const Array> values, const Shape& lanes,
                        std::int64_t lane) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text.find('}', i);
    const bool marked = text[i] == '{' && end != std::string::npos;
    const std::string mark = marked ? text.substr(i + 1, end - i - 1) : "";
    const std::size_t digits = std::min(mark.find_first_not_of("0123456789"), mark.size());
    const std::string how = mark.substr(digits);
    const bool index = how == ":,", named = how.size() > 1 && how[0] == ':' && !index;
    const bool number = digits > 0 && digits < 10 && (index || named || how.empty());
    const std::size_t which = number ? std::stoul(mark) : values.size();
    const std::size_t count = named ? 1 + static_cast<std::size_t>(std::ranges::count(how, ';')) : 1;
    if (which >= values.size() || count > values.size() - which) {
      out += text[i];
      continue;
    }
    std::vector<Array> shown;
    for (const Array& value : values.subspan(which, count)) shown.push_back(of_lane(value, lanes, lane));
    out += named   ? greatest(std::string_view(how).substr(1), shown)
           : index ? as_index(shown[0])
                   : to_string(shown[0]);
    i = end;
  }
  return out;
}

/// `2`, or `2,0` in a vmap within a vmap.
std::string lane_name(const Shape& lanes, std::int64_t lane) {
  std::vector<std::int64_t> at = current_lanes();
  std::size_t first = at.size();
  for (std::size_t k = lanes.size(); k-- > 0; lane /= lanes[k])
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(first), lane % lanes[k]);
  std::string name;
  for (std::int64_t i : at) name += (name.empty() ? "" : ",") + std::to_string(i);
  return name;
}

void error_if_evaluate(const Params& params, std::span<const Array> in, std::span<Array>) {
  const auto& p = params.as<ErrorIfParams>();
  const Array& codes = in[0];
  Shape lanes;
  for (std::int64_t k = 0; k < p.lane_axes; ++k) lanes.push_back(codes.shape()[static_cast<std::size_t>(k)]);
  std::int64_t count = lanes.product(), each = count ? codes.size() / count : 0, failed = 0, first = -1,
               code = 0;
  for (std::int64_t lane = 0; lane < count; ++lane) {
    for (std::int64_t i = lane * each; i < (lane + 1) * each; ++i) {
      std::int64_t found = code_at(codes, i);
      if (!found) continue;
      if (first < 0) {
        first = lane;
        code = found;
      }
      ++failed;
      break;
    }
  }
  if (first < 0) return;
  auto row =
      static_cast<std::size_t>(std::clamp<std::int64_t>(code, 1, static_cast<std::int64_t>(p.texts.size()))) -
      1;
  std::string text = with_values(p.texts[row], in.subspan(1), lanes, first);
  if (p.lane_axes > 0)
    text += " (" + std::to_string(failed) + " of " + std::to_string(count) +
            " lanes failed, the first is lane " + lane_name(lanes, first) + ")";
  else if (std::string name = lane_name(lanes, first); !name.empty())
    text += " (lane " + name + ")";
  throw Error(p.ids[row], text + p.place);
}

void error_if_batch(const BatchRule& r) {
  ErrorIfParams p = r.params.as<ErrorIfParams>();
  ++p.lane_axes;
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i)
    operands.push_back(with_axis(r.operands[i], r.axes[i], 0, r.size));
  bind(error_if_op, make_params(p), operands, {});
}

void raise_when_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>&) {
  APSIS_ASSERT(!in.empty() && in[0].dtype() == Dtype::Bool && in[0].shape().rank() == 0);
  APSIS_ASSERT(params.as<RaiseWhenParams>().region);
  check_region_operands("raise_when", *params.as<RaiseWhenParams>().region, in.subspan(1));
}

void raise_when_evaluate(const Params& params, std::span<const Array> in, std::span<Array>) {
  if (!in[0].item<bool>()) return;
  interpret(*params.as<RaiseWhenParams>().region, in.subspan(1));
  internal_error("a check fails in compiled code, but not in the evaluator", __FILE__, __LINE__);
}

}  // namespace

const Op raise_when_op = {
    .name = "raise_when",
    .kind = OpKind::Effect,
    .effect = true,
    .shape = raise_when_shape,
    .evaluate = raise_when_evaluate,
    .not_differentiable = "it has no result",
    .parse = parse_params<RaiseWhenParams>,
    .written_out = true,
};

const Op error_if_op = {
    .name = "error_if",
    .kind = OpKind::Effect,
    .effect = true,
    .shape = error_if_shape,
    .evaluate = error_if_evaluate,
    .batch = error_if_batch,
    .not_differentiable = "it has no result",
    .parse = parse_params<ErrorIfParams>,
    .written_out = true,
};

}  // namespace detail

void error_if_code(const Array& code, std::initializer_list<Message> messages,
                   std::initializer_list<Array> values, Loc loc) {
  error_if_code(code, std::span(messages.begin(), messages.size()), std::span(values.begin(), values.size()),
                loc);
}

void error_if_code(const Array& code, std::span<const Message> messages, std::span<const Array> values,
                   Loc loc) {
  detail::ErrorIfParams p;
  for (const Message& m : messages) {
    p.ids.push_back(m.id);
    p.texts.push_back(m.text);
  }
  p.place = detail::place_text(detail::users_place(loc));
  bool fits = code.dtype() == Dtype::I64 || code.dtype() == Dtype::Bool;
  std::vector<Array> operands{fits ? code : detail::lax::convert(code, Dtype::I64)};
  operands.insert(operands.end(), values.begin(), values.end());
  bind(detail::error_if_op, make_params(p), operands, {}, loc);
}

void error_if(const Array& condition, const Message& message, std::initializer_list<Array> values, Loc loc) {
  if (condition.dtype() != Dtype::Bool) fail(messages::error_condition, {to_string(condition.aval())}, loc);
  error_if_code(condition, {message}, values, loc);
}

void error_if(const Array& condition, const char* text, std::initializer_list<Array> values, Loc loc) {
  error_if(condition, Message{"error_if", text}, values, loc);
}

}  // namespace apsis
