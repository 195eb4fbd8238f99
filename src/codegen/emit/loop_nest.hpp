#pragma once

// Loops over the elements of an array shape, vectorised along one axis, in which strided views of memory are
// read and written.

#include <optional>
#include <span>
#include <vector>

#include "codegen/emit/columns.hpp"
#include "codegen/emit/counted_loop.hpp"
#include "ir/view.hpp"

namespace apsis::detail {

/// Strides of what the body of a loop walks by itself: along one axis, or along two that are counted as one.
struct WalkStrides {
  std::int64_t outer = 0, inner = 0;
};

/// The places of an axis from `low` to before `high`.
struct Span {
  std::int64_t low = 0, high = 0;
};

/// One array that the loop reads. A null base is an iota: the element's value is its place in the view.
struct Access {
  View view;
  ConstPointer base;
  Dtype dtype;
  int lanes = 1;  // neighbouring copies of each element
  WalkStrides walk = {};
  /// By axis, or nothing: where the array has elements. The view is that of a whole array: its places outside
  /// are not touched.
  std::vector<Span> within = {};
  /// Of an iota: a scalar I64 that is added to the places of its elements; no handle: 0.
  Value first = {};
};

/// One that it writes.
struct Sink {
  View view;
  Pointer base;
  Dtype dtype;
  int lanes;
  Value mask;  // of the lanes that are written; no handle: all
  WalkStrides walk = {};
};

/// Whether the terms of a sum are neighbours in an array whose squares can be turned in registers.
inline bool has_lines(const Access& access, const WalkStrides& walk) {
  return walk.inner == 1 && access.base.handle && item_size(access.dtype) >= 4;
}

/// An I64 index as an element of an iota.
Value from_index(Builder& b, Value index, Dtype dtype);

/// The lanes of a vector in the opposite order.
Value reversed(Builder& b, Value v);
/// The rows of a square become its columns.
void transpose_square(Builder& b, std::span<Value> rows);
/// The columns of a square whose rows are at these addresses. They are put together of pieces of 16 bytes,
/// which loads do, so that the half of the shuffles is left that moves elements within such pieces.
std::vector<Value> load_transposed(Builder& b, std::span<const ConstPointer> rows, Dtype dtype);

/// A short last axis may be walked together with the one before it. An iteration is then `width` rows of n
/// elements, which are n vectors: n phases.
///
///     rows of 3 elements, vectors of 4   phase 0        phase 1        phase 2
///     the elements of an array           a0 a1 a2 b0    b1 b2 c0 c1    c2 d0 d1 d2
///     one number v a row, shuffled       va va va vb    vb vb vc vc    vc vd vd vd
///     a row w that is the same for all   w0 w1 w2 w0    w1 w2 w0 w1    w2 w0 w1 w2
///
/// Where a power of two of elements is less than a vector, an iteration may also be one vector of several
/// rows: code that is too long to be written several times then fills vectors, too.
///
/// Where one array is read across the others, as a transpose is, an iteration is a square of `width` rows and
/// columns: each row is a phase. The array's part of it is loaded along its own rows and turned in registers.
///
/// The code between `open` and `close` is written once for each phase, if the caller allows `most_phases`.
class LoopNest {
 public:
  /// Elements that are no further apart than this are loaded as vectors and put together.
  static constexpr std::int64_t most_apart = 4;

  /// `width`: elements an iteration where that pays, a power of two. Accesses that hold `lanes` > 1 copies of
  /// each element are read lane by lane, and then the width must be 1. `most_phases`: see above; 0: rows are
  /// not taken together. `in_order`: elements come in row-major order.
  LoopNest(Builder& b, const Shape& shape, std::vector<Access> reads, std::span<const Sink> sinks, int width,
           int lanes = 1, int most_phases = 0, bool in_order = false);

  /// Before `open`, for a nest of width 1 whose body walks along lines: an iteration takes so many lines, one
  /// after the other, if there are as many along the last axis. Then `load` and `store` are of `line`, while
  /// the body walks.
  bool take_lines(int lines);
  void set_line(Value line) { line_ = line; }
  /// Before `open`: an iteration takes up to so many vectors, where what the last one does again stays little
  /// and the nest is not in phases.
  void take_vectors(int most);
  /// Whether the arrays that are written are columns that fill memory, and are stored together.
  bool stores_columns() const;
  /// Before `open`: a value that passes from each iteration to the next, `initial` in the first.
  void carry(Value initial) { carried_.push_back(initial); }
  /// The i-th of them: the current one, which may be replaced; after `close` the last.
  Value& carried(std::size_t i) { return carried_[i]; }
  /// Opens the loops. Between open and close, `load` and `store` work on the current elements.
  void open();
  void close();
  int phases() const { return phases_; }
  void set_phase(int phase) { phase_ = phase; }
  /// Goes to place `i` (a scalar I64) of the axis that the caller walks; or of the two, if `inner` > 0: so
  /// many places has the second. `along` > 0: the current elements are so many neighbours of that axis, no
  /// more than it has. Those that are read may go on in the next line of it.
  void walk_to(Value i, std::int64_t inner, int along);
  /// Goes to term k of `terms`, known numbers both, of lines side by side, all in the order of terms. Terms
  /// that are neighbours in memory are loaded along their lines, and turned in registers.
  void walk_to_term(int k, int terms);
  /// Back to where the loops are.
  void end_walk();
  /// The current elements; one scalar where all are the same. `shift`: places further on in memory, and
  /// `bytes` more.
  Value load(std::size_t read, std::int64_t shift = 0, Value bytes = {});
  /// The same of an array that has elements in a part of the shape only: zeros elsewhere. `inside` says of
  /// which of the elements they are.
  Value load_within(std::size_t read, Value& inside);
  void store(std::size_t sink, Value v, std::int64_t shift = 0);
  /// How many of the current elements an iteration before had, too: the first ones of the last vector. A
  /// scalar I64; no handle: none at all.
  Value done();
  /// The address of the first of the current elements.
  ConstPointer current(std::size_t read) { return address(read); }
  Pointer current_sink(std::size_t sink) { return address(reads_ + sink); }
  /// Whether some padded array has elements in the current row, where all that is read is padded and most
  /// rows have none; no handle otherwise.
  Value any_inside();
  /// From here on the code is that of rows where none has.
  void leave_arrays() { outside_ = true; }
  bool is_outside() const { return outside_; }
  /// How many elements, or lanes, the values of an iteration have.
  int width() const { return vector() > 1 ? vector() : lanes_; }

 private:
  /// The elements of a vector, and how far they are apart.
  int vector() const { return along_ > 0 ? along_ : width_; }
  std::int64_t stride(std::size_t access) const;
  void collapse(const Shape& shape);
  void choose_axis(int width, int most_phases, bool in_order);
  bool can_take_phases(int width, int most_phases) const;
  std::int64_t work_in_phases(int width) const;
  bool can_fill_rows(int width) const;
  std::int64_t work_in_full_rows(int width) const;
  int rows_at_once() const { return phases_ * width_ / row_; }
  Value load_rows(ConstPointer p, Dtype dtype, std::int64_t row_stride);
  void choose_square();
  bool fills(std::size_t access, std::size_t axis) const;
  Value is_within(Value place, Span span);
  Value are_within(Dtype dtype, Span span);
  bool is_turned(std::size_t access, std::size_t down) const;
  void open_rows();
  Value current_place(std::size_t access, std::int64_t scale);
  Value lane_places(std::int64_t stride);
  Dims phase_places(std::size_t access, int phase) const;
  Value load_in_rows(std::size_t access);
  Value load_turned(std::size_t access);
  bool is_line(std::size_t access) const;
  Value load_term(std::size_t access);
  std::int64_t places_down(std::size_t access) const;
  static Dims vectors_over(Dims places);
  bool crosses(std::size_t access) const;
  Value is_before_end();
  Value load_crossing(std::size_t access, ConstPointer p);
  Value load_each(ConstPointer p, Dtype dtype, const Dims& places);
  Value load_apart(ConstPointer p, Dtype dtype, std::int64_t stride);
  void store_rows(Pointer p, Value v, std::int64_t row_bytes);
  void store_apart(Pointer p, Value v, std::int64_t stride);
  Pointer address(std::size_t access);
  std::vector<ColumnGroup> groups_along(std::size_t axis) const;
  void find_columns();
  bool is_by_itself(std::size_t access) const;
  Value load_column(std::size_t access);
  void store_column(std::size_t sink, Value v, Pointer p);

  Builder& b_;
  std::vector<Access> accesses_;  // what is read, then what is written
  std::size_t reads_;
  std::vector<Value> masks_;  // by sink
  /// Columns that are loaded together, or stored.
  struct Columns {
    ColumnGroup group;
    std::vector<Value> values;  // by column: loaded already, or still to be stored
    std::vector<Pointer> at;    // where those to be stored belong
  };
  std::vector<Columns> side_by_side_;
  static constexpr std::uint32_t none = 0xffffffffu;
  std::vector<std::uint32_t> columns_of_;  // by access: side by side with others, or none
  std::vector<std::int64_t> extents_;
  std::vector<std::vector<std::int64_t>> strides_;  // by access, by collapsed axis
  std::vector<std::vector<Span>> within_;           // the same; of accesses that are not everywhere
  bool outside_ = false;
  int axis_ = -1;  // the vectorised one
  int width_ = 1, lanes_;
  int row_ = 0;  // not 0: rows are taken together; the size of the last axis. The vectorised one is before it
  int phases_ = 1, phase_ = 0;
  int down_ = -1;                               // of squares: the other axis
  std::vector<std::vector<Value>> row_of_all_;  // by access, by phase
  std::vector<Value> number_of_row_;            // by access: of `width` rows
  std::vector<std::vector<Value>> squares_;     // by access: what is read across, turned
  std::vector<CountedLoop> loops_;
  std::vector<Value> carried_;
  std::vector<Pointer> pointers_;      // by access
  std::vector<Value> inside_;          // by access: of the loops that are open; no handle: yes
  std::vector<Value> places_;          // of iotas
  Value walked_outer_, walked_inner_;  // no handle: 0
  Value line_;                         // no handle: the first
  int along_ = 0;
  std::int64_t line_end_ =
      0;  // places of the second axis, where vectors go on in the next line; 0: none does
  int term_ = -1, terms_ = 0;                // -1: they are not known numbers
  std::vector<std::vector<Value>> columns_;  // by access, by term
  Value inner_;
  bool inner_zero_ = true;
};

}  // namespace apsis::detail
