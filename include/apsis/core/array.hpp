#pragma once

// An Array is an 8-byte handle on an immutable n-dimensional array, or on a tracer that stands for one while
// a function is transformed. Copies share; nothing is ever changed in place behind a handle's back.
//
//   Array x = array({1., 2., 3.});             // f64[3]
//   Array y = x * 2 + 1;                       // C++ scalars are weak: y keeps x's dtype
//   double s = sum(y).item<double>();

#include <atomic>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "apsis/base/error.hpp"
#include "apsis/core/aval.hpp"
#include "apsis/tree/leaf.hpp"

namespace apsis {

class Array;
class Trace;
struct Index;
class IndexUpdate;

namespace detail {

enum class NodeKind : std::uint8_t { Buffer, List, Jvp, Linearize, Batch, Stage, Abstract };

struct Node {
  std::atomic<std::uint32_t> refs{1};
  NodeKind kind;
  bool literal = false;   // a rank-0 constant of the program text: staged inline, never hoisted to an input
  bool borrowed = false;  // the elements belong to the user: never donated
  Aval aval;
  Node(NodeKind kind_, Aval aval_) : kind(kind_), aval(static_cast<Aval&&>(aval_)) {}
};

/// Elements in row-major order, contiguous, 64-byte aligned unless borrowed.
struct BufferNode : Node {
  void* data;
  void (*release)(void* context) = nullptr;  // for borrowed or adopted memory
  void* context = nullptr;
  BufferNode(Aval aval_, void* data_) : Node(NodeKind::Buffer, static_cast<Aval&&>(aval_)), data(data_) {}
};

void destroy_node(Node* node);
/// One reference less. Who holds the only one needs no locked instruction: nobody is there to take another.
inline void drop_reference(Node* node) {
  if (node->refs.load(std::memory_order_acquire) == 1 ||
      node->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy_node(node);
}
Array array_of_bits(const std::vector<bool>& data, Loc loc);
Array scalar_array(Dtype dtype, const void* value, bool weak);

template <class T>
concept Scalar = (std::is_arithmetic_v<T> || ComplexScalar<T>)&&Element<T>;

struct AnyElement {
  template <class T>
  requires(Scalar<std::remove_cvref_t<T>> || std::is_same_v<std::remove_cvref_t<T>, Array>) AnyElement(T&&) {}
};

/// `Static<double>` and its like: a scalar that is baked in.
template <class S>
concept StaticScalar = requires {
  typename S::is_apsis_static;
}
&&Scalar<typename S::value_type>;

/// Weak kinds follow JAX: integers become weak i64, float weak f32, double weak f64, std::complex weak c64 or
/// c128; bool is never weak.
template <Scalar T>
Array weak_scalar(T value);

}  // namespace detail

/// An n-dimensional array of one dtype: a handle to elements, which do not change, or to the value of a
/// program that is being traced. Copies share the elements.
class Array {
 public:
  /// Empty: no array at all. Gradients are empty where nothing is differentiable.
  Array() = default;
  /// A weakly typed scalar: it takes the dtype of what it meets. `bool` becomes a (strong) boolean scalar.
  template <detail::Scalar T>
  Array(T value) : Array(detail::weak_scalar(value)) {}
  template <detail::StaticScalar S>
  Array(const S& fixed) : Array(detail::weak_scalar(fixed.value)) {}
  /// A strongly typed scalar.
  template <detail::Scalar T>
  Array(T value, Dtype dtype);

  Array(const Array& other) noexcept : node_(other.node_) {
    if (node_) node_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Array(Array&& other) noexcept : node_(other.node_) { other.node_ = nullptr; }
  Array& operator=(const Array& other) & noexcept {
    Array copy(other);
    swap(copy);
    return *this;
  }
  Array& operator=(Array&& other) & noexcept {
    Array moved(static_cast<Array&&>(other));
    swap(moved);
    return *this;
  }
  /// `x[0] = 3.` would change a temporary.
  template <class T>
  Array& operator=(T&&) && {
    static_assert(sizeof(T) == 0,
                  "arrays are values, and what x[i] gives is another: write x = x.at(i).set(3.)");
    return *this;
  }
  ~Array() {
    if (node_) detail::drop_reference(node_);
  }
  void swap(Array& other) noexcept {
    detail::Node* n = node_;
    node_ = other.node_;
    other.node_ = n;
  }

  /// True for a default-constructed Array, as gradients have where nothing is differentiable.
  bool is_empty() const { return node_ == nullptr; }
  Dtype dtype(Loc loc = Loc::here()) const { return aval(loc).dtype(); }
  const Shape& shape(Loc loc = Loc::here()) const { return aval(loc).shape(); }
  bool weak(Loc loc = Loc::here()) const { return aval(loc).weak(); }
  int ndim(Loc loc = Loc::here()) const { return aval(loc).rank(); }
  /// Number of elements.
  std::int64_t size(Loc loc = Loc::here()) const { return aval(loc).size(); }
  /// Length of an axis; negative axes count from the end. Throws for an axis that is not there.
  std::int64_t dim(int axis, Loc loc = Loc::here()) const;
  /// dtype, shape and weakness together. Throws on an empty array.
  const Aval& aval(Loc loc = Loc::here()) const {
    if (!node_) throw_empty(loc);
    return node_->aval;
  }

  /// The value of a one-element array. Throws under jit and vmap, where there is no value yet; under grad and
  /// jvp it is the primal value. Throws for a real T of a complex number.
  template <Element T>
  T item(Loc loc = Loc::here()) const {
    T out;
    copy_item(dtype_of<T>, &out, loc);
    return out;
  }
  /// `if (x > 0.)`: the value of a one-element array. Same limits as `item`.
  explicit operator bool() const;
  /// All elements in row-major order, converted to T. Throws for a real T of complex elements.
  template <Element T>
  std::vector<T> to_vector(Loc loc = Loc::here()) const;
  /// The elements in place, in row-major order. Throws unless the dtype is T's and there is a concrete value.
  /// Valid while this Array lives.
  template <Element T>
  std::span<const T> span(Loc loc = Loc::here()) const {
    return {static_cast<const T*>(concrete_data(dtype_of<T>, loc)), static_cast<std::size_t>(size(loc))};
  }

  /// NumPy's basic indexing: integers, `range(a, b, step)`, `ellipsis`, `newaxis`, integer arrays (gather).
  Array operator[](const Index& index) const;
  template <class... I>
  Array operator()(const Index& first, const I&... rest) const;
  /// Functional update: `x.at(i).set(v)`, `.add(v)`, … returns a new array.
  template <class... I>
  IndexUpdate at(const Index& first, const I&... rest) const;

  /// The number of arrays sharing this value; 0 when empty.
  std::uint32_t use_count() const { return node_ ? node_->refs.load(std::memory_order_relaxed) : 0; }
  detail::Node* node() const { return node_; }
  /// Takes over one reference.
  static Array adopt(detail::Node* node) {
    Array a;
    a.node_ = node;
    return a;
  }
  /// Gives up the reference without releasing it.
  detail::Node* release() {
    detail::Node* n = node_;
    node_ = nullptr;
    return n;
  }

 private:
  [[noreturn]] static void throw_empty(Loc loc);
  void copy_item(Dtype dtype, void* out, Loc loc) const;
  const void* concrete_data(Dtype dtype, Loc loc) const;
  void copy_converted(Dtype dtype, void* out, Loc loc) const;
  detail::Node* node_ = nullptr;
};

/// Arrays are the leaves of trees. Equal leaves have the same dtype, shape and elements, bit for bit (so a
/// NaN equals itself); a traced value equals itself only.
template <>
struct is_leaf<Array> : std::true_type {
  static bool empty(const Array& a) { return a.is_empty(); }
  static bool equal(const Array& a, const Array& b);
  static void print(std::string& out, const Array& a);  ///< `f32[64,2]`
};

/// An operand of an operator: an Array or a scalar, with the place where it was written, so that errors can
/// name it.
struct Operand {
  Array array;
  Loc loc;
  Operand(const Array& a, Loc loc_ = Loc::here()) : array(a), loc(loc_) {}
  Operand(Array&& a, Loc loc_ = Loc::here()) : array(static_cast<Array&&>(a)), loc(loc_) {}
  template <detail::Scalar T>
  Operand(T value, Loc loc_ = Loc::here()) : array(value), loc(loc_) {}
  template <class S>
  requires detail::StaticScalar<S> Operand(const S& s, Loc loc_ = Loc::here()) : array(s.value), loc(loc_) {}
};

/// Uninitialised concrete array, for code that fills it through `mutable_data` before anyone else sees it.
Array allocate(const Aval& aval);
/// The elements of a concrete array that only its maker holds.
template <class T>
T* mutable_data(Array& a) {
  return static_cast<T*>(static_cast<detail::BufferNode*>(a.node())->data);
}
/// The elements of a concrete array, untyped.
inline const void* data_of(const Array& a) { return static_cast<const detail::BufferNode*>(a.node())->data; }
/// Whether the elements are there: `x` is neither empty nor a tracer.
inline bool is_concrete(const Array& a) {
  return a.node() && (a.node()->kind == detail::NodeKind::Buffer || a.node()->kind == detail::NodeKind::List);
}
/// The concrete array behind a value: itself, or the primal of jvp and linearize tracers; empty if there is
/// none yet.
Array concrete_value(const Array& a);

/// An array of `shape` over the user's memory, not copied. The memory must outlive every use, and must not
/// change.
template <Element T>
Array view_of(const T* data, const Shape& shape);
/// A shape and dtype without a value, for what asks no more: `lower`, `trace`, `make_graph` and `eval_shape`
/// take it in the place of an argument. Any use of its value throws. (JAX: ShapeDtypeStruct.)
Array abstract_array(const Shape& shape, Dtype dtype);
/// A copy of `data` in row-major order. Throws if the number of elements is not the shape's.
template <Element T>
Array array(std::span<const T> data, const Shape& shape, Loc loc = Loc::here());
template <Element T>
Array array(const std::vector<T>& data, Loc loc = Loc::here()) {
  if constexpr (std::is_same_v<T, bool>)
    return detail::array_of_bits(data, loc);
  else
    return array(std::span<const T>(data), Shape{static_cast<std::int64_t>(data.size())}, loc);
}
template <Element T>
Array array(const std::vector<T>& data, const Shape& shape, Loc loc = Loc::here()) {
  return array(std::span<const T>(data), shape, loc);
}
/// `array({1., 2., 3.})`, `array({{1, 2}, {3, 4}})`: nested braces of equal lengths, strongly typed.
template <Element T>
Array array(std::initializer_list<T> values, Loc loc = Loc::here());
template <Element T>
Array array(std::initializer_list<std::initializer_list<T>> rows, Loc loc = Loc::here());
template <Element T>
Array array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks,
            Loc loc = Loc::here());
/// Numbers of several types have no type of their own.
template <class T = void>
Array array(std::initializer_list<detail::AnyElement>, Loc = Loc::here()) {
  static_assert(
      !std::is_void_v<T>,
      "array({a, b}) needs numbers of one type: convert them, as in array({a, double(b)}); join arrays "
      "with stack or concatenate");
  return {};
}
/// A strongly typed scalar of T's own dtype.
template <detail::Scalar T>
Array array(T value) {
  return Array(value, dtype_of<T>);
}

/// As NumPy prints it, with dtype and shape for tracers.
std::string to_string(const Array& a);
namespace detail {
/// A stream that takes C strings; streams are not included.
template <class S>
concept TextStream = requires(S& stream) {
  typename S::traits_type;
  stream << "";
};
}  // namespace detail
/// `std::cout << x`, `<< x.shape()`, `<< x.dtype()`, with the text of to_string.
template <detail::TextStream Stream, class T>
requires(std::is_same_v<T, Array> || std::is_same_v<T, Shape> || std::is_same_v<T, Dtype>) Stream& operator<<(
    Stream& stream, const T& value) {
  stream << to_string(value).c_str();
  return stream;
}

namespace detail {

Array array_from(Dtype dtype, const void* data, std::size_t count, const Shape& shape, Loc loc);
Array array_view(Dtype dtype, const void* data, const Shape& shape);
[[noreturn]] void fail_ragged(Loc loc);
Array convert_scalar(const Array& scalar, Dtype dtype);

template <Scalar T>
Array weak_scalar(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return scalar_array(Dtype::Bool, &value, false);
  else if constexpr (std::is_floating_point_v<T> || ComplexScalar<T>)
    return scalar_array(dtype_of<T>, &value, true);
  else {
    std::int64_t wide = static_cast<std::int64_t>(value);
    return scalar_array(Dtype::I64, &wide, true);
  }
}

}  // namespace detail

template <detail::Scalar T>
Array::Array(T value, Dtype dtype)
    : Array(detail::convert_scalar(detail::scalar_array(dtype_of<T>, &value, false), dtype)) {}

template <Element T>
std::vector<T> Array::to_vector(Loc loc) const {
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size(loc)));
    copy_converted(Dtype::Bool, bytes.data(), loc);
    return {bytes.begin(), bytes.end()};
  } else {
    std::vector<T> out(static_cast<std::size_t>(size(loc)));
    copy_converted(dtype_of<T>, out.data(), loc);
    return out;
  }
}

template <Element T>
Array view_of(const T* data, const Shape& shape) {
  return detail::array_view(dtype_of<T>, data, shape);
}

template <Element T>
Array array(std::span<const T> data, const Shape& shape, Loc loc) {
  return detail::array_from(dtype_of<T>, data.data(), data.size(), shape, loc);
}
template <Element T>
Array array(std::initializer_list<T> values, Loc loc) {
  return array(std::span<const T>(values.begin(), values.size()),
               Shape{static_cast<std::int64_t>(values.size())}, loc);
}
template <Element T>
Array array(std::initializer_list<std::initializer_list<T>> rows, Loc loc) {
  std::size_t columns = rows.size() ? rows.begin()->size() : 0, at = 0;
  T* flat = new T[rows.size() * columns + 1];
  struct Free {
    T* p;
    ~Free() { delete[] p; }
  } free{flat};
  for (const auto& row : rows) {
    if (row.size() != columns) detail::fail_ragged(loc);
    for (const T& v : row) flat[at++] = v;
  }
  return array(std::span<const T>(flat, at),
               Shape{static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)}, loc);
}
template <Element T>
Array array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks, Loc loc) {
  std::vector<T> flat;
  static_assert(!std::is_same_v<T, bool>,
                "three-dimensional boolean literals are not supported: use array(vector, shape)");
  std::size_t rows = blocks.size() ? blocks.begin()->size() : 0;
  std::size_t columns = rows ? blocks.begin()->begin()->size() : 0;
  for (const auto& block : blocks) {
    if (block.size() != rows) detail::fail_ragged(loc);
    for (const auto& row : block) {
      if (row.size() != columns) detail::fail_ragged(loc);
      flat.insert(flat.end(), row.begin(), row.end());
    }
  }
  return array(std::span<const T>(flat),
               Shape{static_cast<std::int64_t>(blocks.size()), static_cast<std::int64_t>(rows),
                     static_cast<std::int64_t>(columns)},
               loc);
}

}  // namespace apsis
