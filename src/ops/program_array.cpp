// program_array: an array that is part of the program, as scalars are by `constant`.

#include "ops/program_array.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"
#include "ops/table.hpp"

namespace apsis::detail {

std::uint64_t hash_field(std::uint64_t seed, const ArrayBytes& value) {
  return hash_text(seed, value.bytes());
}
void print_field(std::string& out, const ArrayBytes& value) {
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (char c : value.bytes()) {
    auto byte = static_cast<unsigned char>(c);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  out += '"';
}
void parse_field(ParamsReader& r, ArrayBytes& value) {
  std::string text = r.text();
  std::vector<std::uint8_t> bytes;
  auto digit = [](char c) {
    APSIS_ASSERT((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
    return c <= '9' ? c - '0' : c - 'a' + 10;
  };
  APSIS_ASSERT(text.size() % 2 == 0);
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
  value.array = array(bytes);
}

namespace {

void program_array_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.empty());
  const auto& p = params.as<ProgramArrayParams>();
  out.push_back(Aval(p.dtype, p.shape, p.weak));
  APSIS_ASSERT(!p.data.array.is_empty() && p.data.bytes().size() == out[0].bytes());
  APSIS_ASSERT(p.dtype != Dtype::Bool ||
               std::ranges::all_of(p.data.bytes(), [](char c) { return c == 0 || c == 1; }));
}

void program_array_evaluate(const Params& params, std::span<const Array>, std::span<Array> out) {
  std::string_view bytes = params.as<ProgramArrayParams>().data.bytes();
  APSIS_ASSERT(bytes.size() == out[0].aval().bytes());
  std::memcpy(mutable_data<char>(out[0]), bytes.data(), bytes.size());
}

}  // namespace

const Op program_array_op = {
    .name = "program_array",
    .kind = OpKind::Index,
    .shape = program_array_shape,
    .evaluate = program_array_evaluate,
    .not_differentiable = "it has no operand",
    .parse = parse_params<ProgramArrayParams>,
};

Array program_array(const Array& value) {
  const Aval& aval = value.aval();
  return bind1(program_array_op,
               make_params(ProgramArrayParams{aval.dtype(), aval.weak(), aval.shape(), {value}}), {});
}

}  // namespace apsis::detail
