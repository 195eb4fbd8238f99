// Records of the decompositions of matrices and of the solves that belong to them.

#include <limits>

#include "ops/complex_matrix.hpp"
#include "ops/matrix_params.hpp"
#include "ops/records.hpp"
#include "ops/table.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

constexpr Dtype dtypes[] = {Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::C128, Dtype::C64};
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

/// n × n matrices with `diagonal` added to random numbers from [-1, 1), symmetric if asked for.
std::vector<double> square(Random& random, std::int64_t count, std::int64_t n, double diagonal,
                           bool symmetric) {
  std::vector<double> out(static_cast<std::size_t>(count * n * n));
  const auto at = [&](std::int64_t matrix, std::int64_t i, std::int64_t j) -> double& {
    return out[static_cast<std::size_t>((matrix * n + i) * n + j)];
  };
  for (std::int64_t m = 0; m < count; ++m)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        at(m, i, j) = symmetric && j < i ? at(m, j, i) : random.uniform(-1, 1);
        if (i == j) at(m, i, j) += diagonal * static_cast<double>(1 + i);
      }
  return out;
}

Array square_array(Random& random, Dtype dtype, const Shape& shape, double diagonal, bool symmetric) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) count *= shape[i];
  const std::vector<double> values = square(random, count, shape.back(), diagonal, symmetric);
  if (!is_complex(dtype)) return array_of(dtype, shape, values);
  // Imaginary parts as small as the diagonal is large against the rest.
  const Array re = array_of(part_dtype(dtype), shape, values),
              im = random_array(random, part_dtype(dtype), shape, -0.3, 0.3);
  return run(complex_op, {}, std::vector<Array>{re, im})[0];
}

std::string name(Dtype dtype, const Shape& shape) { return std::string(name_of(dtype)) + to_string(shape); }

const std::vector<Shape> squares = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {2, 3, 3}, {2, 0, 3, 3}, {17, 17}};
const std::vector<Shape> rectangles = {{0, 0}, {0, 3}, {3, 0}, {1, 1},    {4, 1},  {1, 4},
                                       {3, 3}, {5, 3}, {3, 5}, {2, 4, 3}, {19, 17}};

/// The examples of an op on square matrices, and those where it has no answer.
Record square_record(const Op& op, const Params& params, double diagonal, bool symmetric,
                     std::uint64_t seed) {
  Random random(seed);
  Record record{&op, {}, {}};
  for (const Shape& shape : squares)
    for (Dtype dtype : dtypes)
      record.examples.push_back(
          {name(dtype, shape), params, {square_array(random, dtype, shape, diagonal, symmetric)}});
  for (double special : {nan, inf, -1., 0.})
    record.examples.push_back(
        {"special " + std::to_string(special),
         params,
         {array_of(Dtype::F64, {2, 2, 2}, {special, 0, 0, 1, 1, special, special, 1})}});
  for (const Shape& shape : std::vector<Shape>{{1, 1}, {2, 2}, {4, 4}, {2, 3, 3}})
    record.smooth.push_back(
        {to_string(shape), params, {square_array(random, Dtype::F64, shape, diagonal, symmetric)}});
  return record;
}

Record rectangle_record(const Op& op, const std::vector<Params>& all_params, std::uint64_t seed) {
  Random random(seed);
  Record record{&op, {}, {}};
  for (const Params& params : all_params) {
    for (const Shape& shape : rectangles)
      for (Dtype dtype : dtypes)
        record.examples.push_back(
            {name(dtype, shape) + to_string(params), params, {random_array(random, dtype, shape, -1, 1)}});
    for (double special : {nan, inf, 0.})
      record.examples.push_back(
          {"special " + std::to_string(special) + to_string(params),
           params,
           {array_of(Dtype::F64, {2, 2, 2}, {special, 0, 0, 1, 1, special, special, 1})}});
  }
  return record;
}

void add_smooth(Record& record, const Params& params, const std::vector<Shape>& shapes, std::uint64_t seed) {
  Random random(seed);
  for (const Shape& shape : shapes)
    record.smooth.push_back(
        {to_string(shape) + to_string(params), params, {random_array(random, Dtype::F64, shape, -1, 1)}});
}

Record lu_record() {
  Record record = rectangle_record(lu_op, {{}}, 61);
  add_smooth(record, {}, {{1, 1}, {3, 3}, {4, 2}, {2, 4}, {2, 3, 3}}, 62);
  return record;
}

Record qr_record() {
  const Params thin = make_params(QrParams{}), full = make_params(QrParams{.full_matrices = true});
  Record record = rectangle_record(qr_op, {thin, full}, 63);
  add_smooth(record, thin, {{1, 1}, {3, 3}, {4, 2}, {2, 4}, {2, 3, 2}}, 64);
  add_smooth(record, full, {{3, 3}, {2, 4}}, 65);
  return record;
}

Record svd_record() {
  const Params thin = make_params(SvdParams{}), full = make_params(SvdParams{.full_matrices = true}),
               values = make_params(SvdParams{.compute_uv = false});
  Record record = rectangle_record(svd_op, {thin, full, values}, 66);
  add_smooth(record, thin, {{1, 1}, {3, 3}, {4, 2}, {2, 4}, {2, 3, 2}}, 67);
  add_smooth(record, full, {{3, 3}}, 68);
  add_smooth(record, values, {{4, 2}, {2, 4}}, 69);
  record.jvp_tolerance = 1e-6;  // a distance of singular values is a divisor
  return record;
}

Record eigh_record() {
  Record record = square_record(eigh_op, make_params(EighParams{}), 1, true, 70);
  const Record values =
      square_record(eigh_op, make_params(EighParams{.compute_vectors = false}), 1, true, 71);
  record.examples.insert(record.examples.end(), values.examples.begin(), values.examples.end());
  record.smooth.insert(record.smooth.end(), values.smooth.begin(), values.smooth.end());
  record.jvp_tolerance = 1e-6;  // as that of svd
  return record;
}

Record eig_record() {
  Record record = square_record(eig_op, make_params(EigParams{}), 1, false, 74);
  const Record values = square_record(eig_op, make_params(EigParams{.compute_vectors = false}), 1, false, 75);
  record.examples.insert(record.examples.end(), values.examples.begin(), values.examples.end());
  record.smooth.insert(record.smooth.end(), values.smooth.begin(), values.smooth.end());
  record.jvp_tolerance = 1e-6;  // as that of svd
  return record;
}

/// Without derivatives.
Record square_record_without(const Op& op, std::uint64_t seed) {
  Record record = square_record(op, {}, 1, false, seed);
  record.smooth.clear();
  return record;
}

Record sqrtm_record() {
  Record record = square_record_without(sqrtm_op, 78);
  std::erase_if(record.examples, [](const Example& e) { return !is_complex(e.operands[0].dtype()); });
  return record;
}

Record sylvester_record() {
  Random random(79);
  Record record{&sylvester_op, {}, {}};
  record.linear = {{false, false, true}};
  struct Shapes {
    Shape a, b, c;
  };
  const std::vector<Shapes> shapes = {{{0, 0}, {2, 2}, {0, 2}}, {{2, 2}, {0, 0}, {2, 0}},
                                      {{1, 1}, {1, 1}, {1, 1}}, {{3, 3}, {4, 4}, {3, 4}},
                                      {{4, 4}, {2, 2}, {4, 2}}, {{2, 3, 3}, {2, 3, 3}, {2, 3, 3}}};
  for (const Shapes& s : shapes)
    for (Dtype dtype : dtypes) {
      const std::vector<Array> operands = {square_array(random, dtype, s.a, 2, false),
                                           square_array(random, dtype, s.b, 2, false),
                                           random_array(random, dtype, s.c, -1, 1)};
      record.examples.push_back({name(dtype, s.c), {}, operands});
      if (dtype == Dtype::F64 && s.c.product() > 0) record.smooth.push_back({to_string(s.c), {}, operands});
    }
  for (double special : {0., nan, inf}) {
    const Array a = array_of(Dtype::F64, {2, 2}, {special, 0, 0, 1});
    record.examples.push_back({"special " + std::to_string(special), {}, {a, a, a}});
  }
  return record;
}

Record triangular_solve_record() {
  Random random(72);
  Record record{&triangular_solve_op, {}, {}};
  record.linear = {{false, true}};
  struct Shapes {
    Shape a, left, right;
  };
  const std::vector<Shapes> shapes = {{{0, 0}, {0, 2}, {2, 0}},       {{3, 3}, {3, 0}, {0, 3}},
                                      {{1, 1}, {1, 1}, {1, 1}},       {{3, 3}, {3, 1}, {1, 3}},
                                      {{3, 3}, {3, 4}, {4, 3}},       {{2, 3, 3}, {2, 3, 2}, {2, 2, 3}},
                                      {{3, 3}, {2, 3, 2}, {2, 2, 3}}, {{2, 3, 3}, {2, 2, 3, 1}, {2, 2, 1, 3}},
                                      {{17, 17}, {17, 5}, {5, 17}}};
  for (bool left : {true, false})
    for (bool lower : {true, false})
      for (bool transpose : {true, false})
        for (bool unit : {true, false}) {
          const Params params = make_params(TriangularSolveParams{left, lower, transpose, unit});
          for (const Shapes& s : shapes) {
            for (Dtype dtype : dtypes)
              record.examples.push_back({name(dtype, s.a) + to_string(params),
                                         params,
                                         {square_array(random, dtype, s.a, 2, false),
                                          random_array(random, dtype, left ? s.left : s.right, -1, 1)}});
            if (s.a.back() < 9)
              record.smooth.push_back({to_string(s.a) + to_string(params),
                                       params,
                                       {square_array(random, Dtype::F64, s.a, 2, false),
                                        random_array(random, Dtype::F64, left ? s.left : s.right, -1, 1)}});
          }
          record.examples.push_back(
              {"singular" + to_string(params),
               params,
               {array_of(Dtype::F64, {2, 2}, {0, 1, 1, 0}), array_of(Dtype::F64, {2, 2}, {1, 0, 0, nan})}});
        }
  return record;
}

struct SystemShapes {
  Shape a, b;
};

/// A matrix, or what lu makes of it but for the permutation, and right sides.
std::vector<Array> system_of(Random& random, Dtype dtype, const SystemShapes& shapes, bool factored) {
  const Array a = square_array(random, dtype, shapes.a, 1, false),
              b = random_array(random, dtype, shapes.b, -1, 1);
  if (!factored) return {a, b};
  const std::vector<Array> f = run(lu_op, {}, std::vector{a});
  return {f[0], f[1], b};
}

Record lu_solve_record() {
  Random random(74);
  Record record{&lu_solve_op, {}, {}};
  record.linear = {{false, false, true}};
  const std::vector<SystemShapes> shapes = {
      {{0, 0}, {0, 2}},    {{3, 3}, {3, 0}},       {{1, 1}, {1, 1}},    {{3, 3}, {3, 1}},
      {{4, 4}, {4, 3}},    {{2, 3, 3}, {2, 3, 2}}, {{3, 3}, {2, 3, 2}}, {{2, 3, 3}, {2, 2, 3, 1}},
      {{17, 17}, {17, 5}}, {{9, 9}, {20, 9, 1}}};
  for (bool transposed : {false, true}) {
    const Params params = make_params(LuSolveParams{transposed});
    for (const SystemShapes& s : shapes) {
      for (Dtype dtype : dtypes)
        record.examples.push_back(
            {name(dtype, s.a) + to_string(params), params, system_of(random, dtype, s, true)});
      if (s.a.back() < 5)
        record.smooth.push_back(
            {to_string(s.a) + to_string(params), params, system_of(random, Dtype::F64, s, true)});
    }
    // Numbers of rows that no factorisation makes.
    record.examples.push_back({"no rows" + to_string(params),
                               params,
                               {array_of(Dtype::F64, {2, 2}, {1, 2, 3, 4}),
                                array_of(Dtype::I32, {2}, {-7, 99}), array_of(Dtype::F64, {2, 1}, {1, 2})}});
  }
  return record;
}

Record solve_record() {
  Random random(75);
  Record record{&solve_op, {}, {}};
  record.linear = {{false, true}};
  const std::vector<SystemShapes> shapes = {
      {{0, 0}, {0, 2}}, {{3, 3}, {3, 0}},       {{1, 1}, {1, 1}},         {{3, 3}, {3, 1}},
      {{4, 4}, {4, 3}}, {{2, 3, 3}, {2, 3, 2}}, {{20, 9, 9}, {20, 9, 1}}, {{17, 17}, {17, 5}}};
  for (const SystemShapes& s : shapes) {
    for (Dtype dtype : dtypes)
      record.examples.push_back({name(dtype, s.a), {}, system_of(random, dtype, s, false)});
    if (s.a.back() < 5)
      record.smooth.push_back(
          {to_string(s.a),
           {},
           {square_array(random, Dtype::F64, s.a, 2, false), random_array(random, Dtype::F64, s.b, -1, 1)}});
  }
  for (double special : {nan, inf, 0.})
    record.examples.push_back({"special " + std::to_string(special),
                               {},
                               {array_of(Dtype::F64, {2, 2, 2}, {special, 0, 0, 1, 1, special, special, 1}),
                                array_of(Dtype::F64, {2, 2, 1}, {1, 2, 3, 4})}});
  return record;
}

Record banded_solve_record() {
  Random random(73);
  Record record{&banded_solve_op, {}, {}};
  record.linear = {{false, true}};
  const auto params = [](std::int64_t lower, std::int64_t upper) {
    return make_params(BandedSolveParams{lower, upper});
  };
  for (const Shape& shape : std::vector<Shape>{{0, 2}, {1, 1}, {2, 3}, {4, 0}, {5, 1}, {2, 4, 3}, {33, 2}})
    for (const auto& [lower, upper] : {std::pair{1, 1}, {0, 0}, {0, 1}, {2, 1}, {1, 6}})
      for (Dtype dtype : dtypes) {
        Shape bands = shape;
        const std::int64_t rows = bands[bands.size() - 2] = lower + 1 + upper;
        const std::int64_t n = bands[bands.size() - 1] = shape[shape.size() - 2];
        std::vector<double> entries;
        // The main diagonal is the largest.
        for (std::int64_t i = 0; i < bands.product(); ++i)
          entries.push_back(random.uniform(-0.3, 0.3) + (i / n % rows == upper ? 2.5 : 0));
        const Array a = array_of(dtype, bands, entries);
        const std::vector<Array> operands = {a, random_array(random, dtype, shape, -1, 1)};
        const std::string text =
            name(dtype, shape) + " " + std::to_string(lower) + " " + std::to_string(upper);
        record.examples.push_back({text, params(lower, upper), operands});
        if (dtype == Dtype::F64) record.smooth.push_back({text, params(lower, upper), operands});
      }
  const Array b = array_of(Dtype::F64, {3, 1}, {1, 2, 3});
  const auto example = [&](const char* text, std::int64_t lower, std::int64_t upper, std::vector<double> a) {
    record.examples.push_back(
        {text, params(lower, upper), {array_of(Dtype::F64, {lower + 1 + upper, 3}, a), b}});
  };
  example("singular", 1, 1, {0, 0, 0, 0, 0, 0, 0, 0, 0});
  example("exchanges", 1, 1, {1, 1, 1, 0, 1, 0, 1, 1, 1});
  example("NaN", 1, 1, {1, 1, 1, 1, 1, 1, nan, 1, 1});
  example("outside", 1, 1, {nan, 1, 1, 3, 3, 3, 1, 1, nan});
  example("singular, wide", 2, 0, {0, 1, 1, 1, 1, 1, 1, 1, 1});
  example("exchanges, wide", 2, 1, {nan, 1, 2, 0, 0, 1, 3, 1, nan, 4, nan, nan});
  return record;
}

/// The record of an op on the parts of small complex matrices: the complex examples of the one that it stands
/// for.
Record of_parts(const Op& op, const Record& whole) {
  Random random(80);
  Record record{&op, {}, {}};
  const auto parts = [](const Example& e) {
    std::vector<Array> operands;
    for (const Array& a : e.operands) {
      if (!is_complex(a.dtype())) {
        operands.push_back(a);
        continue;
      }
      for (const Op* part : {&real_op, &imag_op}) operands.push_back(run(*part, {}, std::vector{a})[0]);
    }
    return Example{e.what, e.params, operands};
  };
  for (const Example& e : whole.examples)
    if (is_complex(e.operands[0].dtype())) record.examples.push_back(parts(e));
  for (const Example& e : whole.smooth) {
    std::vector<Array> operands;
    for (const Array& a : e.operands) {
      operands.push_back(a);
      if (!is_integer(a.dtype())) operands.push_back(random_array(random, a.dtype(), a.shape(), -0.3, 0.3));
    }
    record.smooth.push_back({e.what, e.params, operands});
  }
  for (const std::vector<bool>& of_whole : whole.linear) {
    std::vector<bool> linear;
    for (std::size_t i = 0; i < of_whole.size(); ++i)
      linear.insert(linear.end(), is_integer(whole.examples[0].operands[i].dtype()) ? 1 : 2, of_whole[i]);
    record.linear.push_back(linear);
  }
  record.jvp_tolerance = whole.jvp_tolerance;
  return record;
}

/// Entries of an n × n matrix with bands, in the order of their places among the diagonals.
struct BandEntries {
  BandedLuParams params;
  Array entries, places;
};
BandEntries band_entries(Random& random, Dtype dtype, const BandedLuParams& p, double diagonal) {
  std::vector<double> entries, places;
  for (std::int64_t k = -p.lower; k <= p.upper; ++k)
    for (std::int64_t i = std::max<std::int64_t>(0, -k); i < std::min(p.n, p.n - k); ++i) {
      entries.push_back(random.uniform(-0.3, 0.3) + (k == 0 ? diagonal : 0));
      places.push_back(static_cast<double>((p.upper - k) * p.n + i + k));
    }
  const auto count = static_cast<std::int64_t>(entries.size());
  return {p, array_of(dtype, {count}, entries), array_of(Dtype::I64, {count}, places)};
}
std::vector<BandEntries> many_bands(std::uint64_t seed) {
  Random random(seed);
  std::vector<BandEntries> out;
  for (std::int64_t n : {0, 1, 2, 3, 5, 8, 33})
    for (const auto& [lower, upper] : {std::pair{1, 1}, {0, 0}, {0, 1}, {2, 1}, {3, 3}, {1, 6}})
      for (Dtype dtype : {Dtype::F64, Dtype::F32})
        for (double diagonal : {2.5, 0.})  // without a diagonal rows are exchanged
          out.push_back(band_entries(random, dtype, {n, lower, upper}, diagonal));
  return out;
}

Record banded_lu_record() {
  Record record{&banded_lu_op, {}, {}};
  for (const BandEntries& b : many_bands(80))
    record.examples.push_back({name(b.entries.dtype(), b.entries.shape()) + to_string(make_params(b.params)),
                               make_params(b.params),
                               {b.entries, b.places}});
  // A place that is none.
  record.examples.push_back({"places",
                             make_params(BandedLuParams{2, 0, 0}),
                             {array_of(Dtype::F64, {2}, {1, 2}), array_of(Dtype::I64, {2}, {0, 2})}});
  return record;
}

Record banded_lu_solve_record() {
  Random random(81);
  Record record{&banded_lu_solve_op, {}, {}};
  record.linear = {{false, false, true}};
  for (const BandEntries& b : many_bands(82)) {
    const Array factors =
        run(banded_lu_op, make_params(b.params), std::vector<Array>{b.entries, b.places})[0];
    std::vector<double> order;
    for (std::int64_t i = 0; i < b.params.n; ++i) order.push_back(static_cast<double>((i + 2) % b.params.n));
    for (bool transposed : {false, true})
      record.examples.push_back(
          {name(b.entries.dtype(), b.entries.shape()) + to_string(make_params(b.params)),
           make_params(BandedLuSolveParams{b.params.lower, b.params.upper, transposed}),
           {factors, array_of(Dtype::I64, {b.params.n}, order),
            random_array(random, b.entries.dtype(), {b.params.n}, -1, 1)}});
  }
  return record;
}

}  // namespace

std::vector<Record> matrix_records() {
  const Record cholesky = square_record(cholesky_op, {}, 4, true, 60);
  return {cholesky,
          of_parts(complex_cholesky_op, cholesky),
          of_parts(complex_lu_op, lu_record()),
          of_parts(complex_qr_op, qr_record()),
          of_parts(complex_triangular_solve_op, triangular_solve_record()),
          of_parts(complex_lu_solve_op, lu_solve_record()),
          of_parts(complex_solve_op, solve_record()),
          lu_record(),
          qr_record(),
          svd_record(),
          eigh_record(),
          eig_record(),
          square_record_without(schur_op, 76),
          square_record_without(hessenberg_op, 77),
          sqrtm_record(),
          sylvester_record(),
          triangular_solve_record(),
          lu_solve_record(),
          solve_record(),
          banded_solve_record(),
          banded_lu_record(),
          banded_lu_solve_record()};
}

}  // namespace apsis::testing
