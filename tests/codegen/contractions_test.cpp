// Contractions, compiled, against the evaluator: every layout at the lengths and numbers of results around
// which the code changes.

#include "compiled_equal.hpp"

namespace apsis::detail {
namespace {

/// One program of many products of `n` terms each; the text names values as they come.
class Products {
 public:
  Products(std::string dtype, int n) : dtype_(std::move(dtype)), n_(std::to_string(n)) {}

  void matrix_times_vector(int rows) {
    const std::string r = std::to_string(rows);
    const std::string by_rows = input(shape({r, n_})), by_columns = input(shape({n_, r})),
                      vector = input(shape({n_}));
    dot(by_rows, vector, shape({r}), "1", "0");
    dot(vector, by_rows, shape({r}), "0", "1");
    dot(by_columns, vector, shape({r}), "0", "0");
    dot(vector, by_columns, shape({r}), "0", "0");
    // Rows with gaps between them, elements of the vector with gaps, a matrix and a vector in other orders.
    const std::string wide = input(shape({r, plus(3)})), column = input(shape({n_, "3"}));
    const std::string part = define(
        shape({r, n_}), "slice{start=[0, 2], limit=[" + r + ", " + plus(2) + "], stride=[1, 1]}", wide);
    const std::string apart =
        define(shape({n_, "1"}), "slice{start=[0, 1], limit=[" + n_ + ", 2], stride=[1, 1]}", column);
    const std::string strided = define(shape({n_}), "reshape{shape=[" + n_ + "]}", apart);
    const std::string turned = define(shape({r, n_}), "transpose{permutation=[1, 0]}", by_columns);
    const std::string backwards = define(shape({n_}), "reverse{axes=[0]}", vector);
    for (const std::string& matrix : {by_rows, part, turned})
      for (const std::string& x : {vector, strided, backwards}) dot(matrix, x, shape({r}), "1", "0");
    const std::string rows_apart = define(shape({r, n_}), "reverse{axes=[0]}", by_rows);
    dot(rows_apart, strided, shape({r}), "1", "0");
  }

  void others(int rows) {
    const std::string r = std::to_string(rows);
    const std::string vector = input(shape({n_})), other = input(shape({n_}));
    dot(vector, other, "[]", "0", "0");
    const std::string matrix = input(shape({r, n_})), second = input(shape({n_, "6"})),
                      third = input(shape({"5", n_}));
    dot(matrix, second, shape({r, "6"}), "1", "0");
    dot(matrix, third, shape({r, "5"}), "1", "1");
    const std::string stack = input(shape({"3", r, n_})), vectors = input(shape({"3", n_}));
    dot(stack, vectors, shape({"3", r}), "2", "1", "0", "0");
    dot(matrix, matrix, shape({r}), "1", "1", "0", "0");
    // Two axes together, in one walk and not.
    const std::string block = input(shape({r, "2", n_})), grid = input(shape({"2", n_})),
                      turned = input(shape({n_, "2"}));
    dot(block, grid, shape({r}), "1, 2", "0, 1");
    dot(block, turned, shape({r}), "1, 2", "1, 0");
  }

  /// Rows along two axes, of which the second is short.
  void rows_along_two_axes(int columns) {
    const std::string c = std::to_string(columns), one = input(shape({n_, c})),
                      turned = input(shape({c, n_}));
    for (const char* last : {"1", "2", "3", "4", "5"}) {
      const std::string left = input(shape({"20", last, n_}));
      dot(left, one, shape({"20", last, c}), "2", "0");
      dot(left, turned, shape({"20", last, c}), "2", "1");
    }
  }

  /// Of many small matrices, as they lie, turned, with gaps; some results are parts of an array.
  void batches(int rows, int columns) {
    const std::string r = std::to_string(rows), c = std::to_string(columns);
    const std::string left = input(shape({"3", r, n_})), right = input(shape({"3", n_, c})),
                      one = input(shape({n_, c})), turned = input(shape({"3", n_, r})),
                      wide = input(shape({"3", n_, std::to_string(columns + 2)}));
    dot(left, right, shape({"3", r, c}), "2", "1", "0", "0");
    dot(left, one, shape({"3", r, c}), "2", "0");
    dot(turned, right, shape({"3", r, c}), "1", "1", "0", "0");
    const std::string part = define(shape({"3", n_, c}),
                                    "slice{start=[0, 0, 1], limit=[3, " + n_ + ", " +
                                        std::to_string(columns + 1) + "], stride=[1, 1, 1]}",
                                    wide);
    dot(left, part, shape({"3", r, c}), "2", "1", "0", "0");
    const std::string joined = results_.substr(results_.rfind('w')), twice = std::to_string(2 * columns);
    results_ += ", " + define(shape({"3", r, twice}), "concatenate{axis=2}", joined + ", " + joined);
  }

  std::string text() const { return "(" + inputs_ + ") {\n" + equations_ + " return " + results_ + "\n}"; }

 private:
  static std::string shape(std::initializer_list<std::string> sizes) {
    std::string text;
    for (const std::string& s : sizes) text += (text.empty() ? "" : ",") + s;
    return "[" + text + "]";
  }
  std::string plus(int more) const { return std::to_string(std::stoi(n_) + more); }

  std::string input(const std::string& shape) {
    const std::string name = "v" + std::to_string(inputs_count_++);
    inputs_ += (inputs_.empty() ? "" : ", ") + name + ": " + dtype_ + shape;
    return name;
  }
  std::string define(const std::string& shape, const std::string& op, const std::string& operands) {
    const std::string name = "w" + std::to_string(equations_count_++);
    equations_ += " " + name + ": " + dtype_ + shape + " = " + op + "(" + operands + ")\n";
    return name;
  }
  void dot(const std::string& a, const std::string& b, const std::string& shape,
           const std::string& contract_a, const std::string& contract_b, const std::string& batch_a = "",
           const std::string& batch_b = "") {
    const std::string params = "dot_general{contract_a=[" + contract_a + "], contract_b=[" + contract_b +
                               "], batch_a=[" + batch_a + "], batch_b=[" + batch_b + "], k_ordered=true}";
    results_ += (results_.empty() ? "" : ", ") + define(shape, params, a + ", " + b);
  }

  std::string dtype_, n_, inputs_, equations_, results_;
  int inputs_count_ = 0, equations_count_ = 0;
};

TEST(Contractions, MatrixTimesVector) {
  for (std::string dtype : {"f32", "f64"})
    for (int n : {31, 32, 39, 72}) {
      SCOPED_TRACE(dtype + ", " + std::to_string(n));
      Products products(dtype, n);
      for (int rows : {1, 3, 8, 11}) products.matrix_times_vector(rows);
      expect_compiled_equal(products.text());
    }
}

TEST(Contractions, OtherProducts) {
  for (std::string dtype : {"f32", "f64", "bf16", "i32", "c64"})
    for (int n : {0, 31, 36}) {
      SCOPED_TRACE(dtype + ", " + std::to_string(n));
      Products products(dtype, n);
      for (int rows : {1, 5, 17}) products.others(rows);
      expect_compiled_equal(products.text());
    }
}

TEST(Contractions, BatchesOfSmallOnes) {
  for (std::string dtype : {"f32", "f64", "bf16", "i32", "u8"})
    for (int n : {1, 6, 12}) {
      SCOPED_TRACE(dtype + ", " + std::to_string(n));
      Products products(dtype, n);
      for (int columns : {2, 3, 5, 8, 11, 16, 19}) products.batches(columns == 8 ? 2 : 5, columns);
      expect_compiled_equal(products.text());
    }
}

/// Points: so many that a vector holds a coordinate of several, and some are left.
TEST(Contractions, RowsOfThreeAndFour) {
  for (std::string dtype : {"f32", "f64", "bf16", "i32", "u8"})
    for (int n : {2, 3, 4}) {
      SCOPED_TRACE(dtype + ", " + std::to_string(n));
      Products products(dtype, n);
      for (int rows : {7, 67, 1500}) products.batches(rows, n == 2 ? 3 : 4);
      products.batches(67, 2);
      products.others(1500);
      expect_compiled_equal(products.text());
    }
}

TEST(Contractions, RowsAlongTwoAxes) {
  for (std::string dtype : {"f32", "f64", "bf16", "i32"})
    for (int n : {20, 40}) {
      SCOPED_TRACE(dtype + ", " + std::to_string(n));
      Products products(dtype, n);
      products.rows_along_two_axes(64);
      products.rows_along_two_axes(100);
      expect_compiled_equal(products.text());
    }
}

TEST(Contractions, RowsThatMeetTheSameColumns) {
  struct Size {
    int n, rows, columns;
  };
  for (std::string dtype : {"f32", "f64", "bf16", "i32"})
    for (const Size& size : {Size{36, 4, 33}, {31, 7, 32}, {40, 9, 64}, {64, 135, 64}}) {
      SCOPED_TRACE(dtype + ", " + std::to_string(size.n) + ", " + std::to_string(size.rows));
      Products products(dtype, size.n);
      products.batches(size.rows, size.columns);
      expect_compiled_equal(products.text());
    }
}

/// A layer on a batch, and elementwise code with a number a row and another array; the product is read
/// elsewhere, too, or it is not.
std::string layer_text(const std::string& dtype, const std::string& batch, int n, int rows, int columns,
                       bool keeps_product) {
  const auto shaped = [&](const std::string& shape) { return dtype + "[" + shape + "]"; };
  const std::string r = std::to_string(rows), c = std::to_string(columns), k = std::to_string(n),
                    whole = batch + r + ", " + c, t = shaped(whole), last = batch.empty() ? "1" : "2",
                    row = batch.empty() ? "0" : "1", batches = batch.empty() ? "" : "0";
  const auto spread = [&](const std::string& axis, const std::string& of) {
    return " = broadcast_in_dim{shape=[" + whole + "], axes=[" + axis + "]}(" + of + ")\n ";
  };
  return "(v0: " + shaped(batch + r + ", " + k) + ", v1: " + shaped(batch + c + ", " + k) +
         ", v2: " + shaped(c) + ", v3: " + shaped(r) + ", v4: " + t + ") {\n v5: " + t +
         " = dot_general{contract_a=[" + last + "], contract_b=[" + last + "], batch_a=[" + batches +
         "], batch_b=[" + batches + "], k_ordered=true}(v0, v1)\n v6: " + t + spread(last, "v2") +
         "v7: " + t + spread(row, "v3") + "v8: " + t + " = iota{dtype=" + dtype + ", shape=[" + whole +
         "], axis=" + row + "}()\n v9: " + t + " = add(v5, v6)\n v10: " + t +
         " = maximum(v9, v7)\n v11: " + t + " = mul(v10, v4)\n v12: " + t + " = add(v11, v8)\n return v12" +
         (keeps_product ? ", v5, v9" : "") + "\n}";
}

TEST(Contractions, LoopsThatMakeTheProductTheyRead) {
  struct Size {
    int n, rows, columns;
    bool keeps_product;
  };
  for (std::string dtype : {"f32", "f64", "bf16", "i32"}) {
    for (const Size& size : {Size{36, 70, 33, true},
                             {64, 135, 64, false},
                             {33, 4, 600, false},
                             {5, 31, 1100, true},
                             {4, 40, 1104, false},
                             {4, 41, 1025, false},
                             {3, 50, 1017, true}})
      expect_compiled_equal(layer_text(dtype, "", size.n, size.rows, size.columns, size.keeps_product));
    for (const Size& size : {Size{31, 71, 32, false}, {5, 66, 40, true}, {36, 23, 1040, false}})
      expect_compiled_equal(layer_text(dtype, "3, ", size.n, size.rows, size.columns, size.keeps_product));
  }
}

/// Rows that come from memory, on threads.
TEST(Contractions, LargeLoopsThatMakeTheProductTheyRead) {
  for (int rows = 6001; rows < 6008; ++rows)  // few that no part has
    expect_compiled_equal(layer_text("f64", "", 40, rows, 48, false));
  expect_compiled_equal(layer_text("f32", "", 40, 9001, 72, true));
}

/// Nor is it where it reads what else lies under the result: rows and columns are not made twice.
TEST(Contractions, LoopsWriteOverWhatTheyReadByElement) {
  for (std::string dtype : {"f32", "f64"})
    for (const auto& [rows, columns, n] : {std::tuple{"128", "64", "40"}, std::tuple{"256", "128", "32"},
                                           std::tuple{"64", "1024", "4"}, std::tuple{"64", "704", "5"}}) {
      const std::string result = dtype + "[" + rows + "," + columns + "]";
      expect_compiled_equal("(v0: " + dtype + "[" + rows + "," + n + "], v1: " + dtype + "[" + n + "," +
                            columns + "], v2: " + result + ") {\n v3: " + result +
                            " = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], " +
                            "k_ordered=true}(v0, v1)\n v4: " + result + " = abs(v3)\n v5: " + result +
                            " = fma(v4, v2, v2)\n return v5\n}");
    }
}

/// What the loop reads of the product's operand again is not where it has written.
TEST(Contractions, LoopsDoNotWriteOverTheRowsTheyRead) {
  for (std::string dtype : {"f32", "f64"})
    for (std::int64_t columns : {64, 128}) {
      const std::string matrix = dtype + "[512," + std::to_string(columns) + "]",
                        square = dtype + "[" + std::to_string(columns) + "," + std::to_string(columns) + "]";
      for (const char* batched : {"k_ordered=true", "k_ordered=false"})
        expect_compiled_equal("(v0: " + matrix + ", v1: " + square + ") {\n v2: " + matrix +
                              " = dot_general{contract_a=[1], contract_b=[1], batch_a=[], batch_b=[], " +
                              batched + "}(v0, v1)\n v3: " + matrix + " = abs(v2)\n v4: " + matrix +
                              " = add(v3, v0)\n return v4\n}");
    }
}

}  // namespace
}  // namespace apsis::detail
