#include "stats/support.hpp"

#include <cmath>

#include "apsis/ops/convert.hpp"
#include "stats/messages.hpp"

namespace apsis::stats::detail {
namespace {

/// What two shapes broadcast to.
Shape merged(const char* where, const Shape& common, const Shape& shape) {
  const bool longer = shape.size() > common.size();
  Shape out = longer ? shape : common;
  const Shape& other = longer ? common : shape;
  const std::size_t shift = out.size() - other.size();
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& size = out[shift + i];
    if (size != other[i] && size != 1 && other[i] != 1)
      fail(messages::stats_broadcast, {where, to_string(common), to_string(shape)});
    if (size == 1) size = other[i];
  }
  return out;
}

/// A family's arguments in its own variable.
struct Standardized {
  Arguments of;
  Array z, scale, defined;
  Parameters p() const { return Parameters(of.v).subspan(1, of.v.size() - 3); }
};

Standardized standardize(const char* where, const Family& family, std::initializer_list<Array> given) {
  Standardized s{arguments(where, given), {}, {}, {}};
  const std::vector<Array>& v = s.of.v;
  s.scale = v.back();
  s.z = (v[0] - v[v.size() - 2]) / s.scale;
  s.defined = s.scale > 0 && !isnan(s.z);
  if (family.valid) s.defined = s.defined && family.valid(s.p());
  return s;
}

/// The log density, before it is of the result's dtype.
Array log_density_of(const Standardized& s, Standard f) {
  return where(s.defined, f(s.z, s.p()) - log(s.scale), NAN);
}

struct Counted {
  Arguments of;
  Array k, defined;
  Parameters p() const { return Parameters(of.v).subspan(1, of.v.size() - 2); }
};

Counted count(const char* where, const CountFamily& family, std::initializer_list<Array> given) {
  Counted c{arguments(where, given), {}, {}};
  c.k = c.of.v[0] - c.of.v.back();
  c.defined = !isnan(c.k) && family.valid(c.p());
  return c;
}

Array log_mass_of(const Counted& c, Standard f) {
  const Array whole = floor(c.k) == c.k && isfinite(c.k);
  return where(c.defined, where(whole, f(c.k, c.p()), -INFINITY), NAN);
}

}  // namespace

Shape broadcast_shape(const char* where, std::initializer_list<Shape> shapes) {
  Shape common;
  for (const Shape& shape : shapes) common = merged(where, common, shape);
  return common;
}

Arguments arguments(const char* where, std::initializer_list<Array> given) {
  Arguments out = promoted(where, given);
  Shape common;
  for (const Array& x : out.v) common = merged(where, common, x.shape());
  return out;
}

Arguments promoted(const char* where, std::initializer_list<Array> given) {
  const Array& first = *given.begin();
  WeakDtype common{first.dtype(), first.weak()};
  for (const Array& x : given) {
    if (is_complex(x.dtype())) fail(messages::stats_dtype, {where, to_string(x.aval())});
    common = promote(common, {x.dtype(), x.weak()});
  }
  // The dtype of a division, as in arithmetic.
  const bool floating = is_floating(common.dtype);
  const Dtype dtype = floating ? common.dtype : item_size(common.dtype) == 8 ? f64 : f32;
  const Dtype inner = item_size(dtype) == 2 ? f32 : dtype;
  Arguments out{{}, dtype};
  for (const Array& x : given) out.v.push_back(x.dtype() == inner ? x : astype(x, inner));
  return out;
}

Array finished(const Array& y, const Arguments& of) {
  return y.dtype() == of.dtype ? y : astype(y, of.dtype);
}

Array log_density(const char* where, const Family& family, Standard f, std::initializer_list<Array> given,
                  Loc place) {
  const LocScope scope(place);
  const Standardized s = standardize(where, family, given);
  return finished(log_density_of(s, f), s.of);
}

Array density(const char* where, const Family& family, Standard f, std::initializer_list<Array> given,
              Loc place) {
  const LocScope scope(place);
  const Standardized s = standardize(where, family, given);
  return finished(exp(log_density_of(s, f)), s.of);
}

Array standardized(const char* where, const Family& family, Standard f, std::initializer_list<Array> given,
                   Loc place) {
  const LocScope scope(place);
  const Standardized s = standardize(where, family, given);
  return finished(apsis::where(s.defined, f(s.z, s.p()), NAN), s.of);
}

Array quantile(const char* where, const Family& family, Standard f, std::initializer_list<Array> given,
               Loc place) {
  const LocScope scope(place);
  Arguments of = arguments(where, given);
  const Array &q = of.v[0], &loc = of.v[of.v.size() - 2], &scale = of.v.back();
  const Parameters p = Parameters(of.v).subspan(1, of.v.size() - 3);
  Array defined = q >= 0 && q <= 1 && scale > 0;
  if (family.valid) defined = defined && family.valid(p);
  return finished(apsis::where(defined, loc + scale * f(apsis::where(defined, q, 0.5), p), NAN), of);
}

Array log_mass(const char* where, const CountFamily& family, Standard f, std::initializer_list<Array> given,
               Loc place) {
  const LocScope scope(place);
  const Counted c = count(where, family, given);
  return finished(log_mass_of(c, f), c.of);
}

Array mass(const char* where, const CountFamily& family, Standard f, std::initializer_list<Array> given,
           Loc place) {
  const LocScope scope(place);
  const Counted c = count(where, family, given);
  return finished(exp(log_mass_of(c, f)), c.of);
}

Array counted(const char* where, const CountFamily& family, Standard f, std::initializer_list<Array> given,
              Loc place) {
  const LocScope scope(place);
  const Counted c = count(where, family, given);
  return finished(apsis::where(c.defined, f(floor(c.k), c.p()), NAN), c.of);
}

Array log1p_square(const Array& u) {
  const Array far = abs(u) > 1e10, near = where(far, 0., u);
  return where(far, 2. * log(abs(where(far, u, 1.))), log1p(near * near));
}

Array log_part(const Array& part, const Array& rest) {
  const Array most = part > 0.5;
  return where(most, log1p(-where(most, rest, 0.)), log(where(most, 1., part)));
}

}  // namespace apsis::stats::detail
