#pragma once

// What a solve is given, looked at before its first step. Values that are known are looked at when the
// program is made, the others when it runs.

#include <string>
#include <vector>

#include "apsis/core/op.hpp"
#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/logic.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {

/// A row of the message table with its fixed parts filled in. The marks {0}, {1}, … that are then left stand
/// for values of the program.
struct Text {
  const char* id;
  std::string text;
  Text(const Message& row, std::initializer_list<std::string> parts);
};
/// Throws texts[code - 1] where the code is not 0, when the program runs.
void raise(const Array& code, const std::vector<Text>& texts, std::span<const Array> values, Loc loc);

/// What a look at values found: which text applies, from 1 (0: nothing is wrong), and the values it names.
struct Finding {
  Array code;
  std::vector<Array> values;
};

class InputChecks {
 public:
  InputChecks(bool throws, Loc loc) : throws_(throws), loc_(loc) {}
  /// Looks at the values; `look` takes them as a std::span<const Array>, `texts` makes what its codes stand
  /// for.
  template <class Look, class Texts>
  void refuse(std::vector<Array> values, const Look& look, const Texts& texts) {
    if (make_known(values)) {
      TraceScope now(nullptr);
      const Finding finding = look(std::span<const Array>(values));
      if (finding.code.item<std::int64_t>() != 0) found(texts(), finding);
    } else {
      found(texts(), look(std::span<const Array>(values)));
    }
  }
  /// Whether something was refused, a boolean; empty where nothing is, or where it throws.
  const Array& refused() const { return refused_; }
  Loc loc() const { return loc_; }

 private:
  /// Replaces the arrays by their values if all are known; else their derivatives are dropped.
  static bool make_known(std::vector<Array>& values);
  void found(const std::vector<Text>& texts, const Finding& finding);

  bool throws_;
  Loc loc_;
  Array refused_;
};

/// A function of arrays: its value, found now, if they are known, so that nothing is left of it in the
/// program.
template <class Look>
Array value_or_later(std::vector<Array> values, const Look& look) {
  for (Array& v : values) {
    Array known = concrete_value(v);
    if (known.is_empty()) return look(std::span<const Array>(values));
    v = known;
  }
  TraceScope now(nullptr);
  return look(std::span<const Array>(values));
}

/// Whether an array of one shape broadcasts to the other.
bool broadcasts(const Shape& from, const Shape& to);

/// Differences of times up to this are rounding: 100 ULP of the greater of the two, but no more than a
/// hundredth of the interval.
Array time_rounding(const Array& t0, const Array& t1);

/// Times as the user gave them; inside of the solve they are of one dtype.
struct GivenTimes {
  const Array &t0, &t1;
  const Array& dt0;  // empty if none was given
  bool goes_on;      // the controller knows the first step from another solve
  Dtype dtype;
};
/// 1 or -1, the direction of the solve as the sign of dt0 tells when the program is made; 0 if it does not.
int known_direction(const GivenTimes& times);
/// Refuses a bound of errors that does not fit the state.
template <class Names>
void check_tolerance_shape(const Tolerance& bound, const char* of, const char* name,
                           std::span<const Array> y0, const Names& names, Loc loc = {}) {
  if (bound.of_leaves() && bound.bounds().size() != y0.size())
    fail(messages::tolerance_leaves,
         {of, name, std::to_string(bound.bounds().size()), std::to_string(y0.size())}, loc);
  for (std::size_t i = 0; i < y0.size(); ++i)
    if (!broadcasts(bound.of(i).shape(), y0[i].shape()))
      fail(messages::tolerance_shape,
           {of, name, to_string(bound.of(i).aval()), names(i), to_string(y0[i].aval())}, loc);
}

/// Refuses a first time that is no scalar, and states that are not floating.
void check_state(const Array& t0, std::span<const Array> y0, const LeafNames& names, Loc loc);
/// Refuses what is not of the shape or dtype it must be, and options that are no values of the program.
void check_structure(std::span<const Array> y0, const LeafNames& names, const GivenTimes& times,
                     const SolveOptions& options, std::span<const FlatSave> saves, Loc loc);
/// What is asked for, from saveat if there are no requests beside it.
std::vector<FlatSave> save_requests(const SaveAt& save, std::vector<FlatSave> beside, Loc loc);
/// Refuses times that no solve can go along, or save at.
void check_times(InputChecks& checks, const GivenTimes& times, std::span<const FlatSave> saves);
/// Refuses options of the library's own controllers that are out of their range.
void check_controller(InputChecks& checks, const Controller& controller, const GivenTimes& times,
                      std::span<const Array> y0, const LeafNames& names);

}  // namespace apsis::detail
