#include "apsis/optim/plateau.hpp"

#include <limits>

#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

void ReduceOnPlateau::start(Start& s) const {
  s.check("ReduceOnPlateau", "factor", factor, OptionRange::Positive);
  s.check("ReduceOnPlateau", "factor", factor, OptionRange::Fraction);
  s.check("ReduceOnPlateau", "rtol", rtol, OptionRange::NotNegative);
  s.check("ReduceOnPlateau", "atol", atol, OptionRange::NotNegative);
  s.check("ReduceOnPlateau", "min_scale", min_scale, OptionRange::NotNegative);
  for (auto [name, value] : {std::pair{"patience", patience}, {"accumulation_size", accumulation_size}})
    if (value < 1)
      fail(messages::optimizer_option, {"ReduceOnPlateau", name, std::to_string(value), "1 or more"}, s.loc);
  Dtype most = f32;
  bool any = false;
  for (const Array& p : s.params) {
    if (!Start::is_trained(p)) continue;
    most = any ? std::max(most, p.dtype()) : p.dtype();
    any = true;
  }
  const Array none = array(std::int64_t{0});
  s.scalar(ones({}, most));
  s.scalar(full({}, std::numeric_limits<double>::infinity(), most));
  s.scalar(none);
  s.scalar(none);
  s.scalar(none);
  s.scalar(zeros({}, most));
}

void ReduceOnPlateau::step(Step& s) const {
  if (s.extra.value.is_empty()) fail(messages::optimizer_value, {"ReduceOnPlateau"}, s.loc);
  Array &scale = s.scalar(), &best = s.scalar(), &plateau = s.scalar(), &cooling = s.scalar(),
        &count = s.scalar(), &mean = s.scalar();
  const Array losses = count + 1;
  const Array now = (astype(count, mean.dtype()) * mean + astype(s.extra.value, mean.dtype())) /
                    astype(losses, mean.dtype());
  const Array full = losses == accumulation_size;
  const Array improved = now < like(1 - rtol, best) * best - like(atol, best);
  const Array stayed = where(improved, 0, plateau + 1), cools = cooling > 0;
  const Array falls = full && !cools && stayed == patience;
  keep(scale, where(falls, maximum(scale * like(factor, scale), like(min_scale, scale)),
                    where(full && !cools, maximum(scale, like(min_scale, scale)), scale)));
  keep(best, where(full && improved, now, best));
  plateau = where(full, where(cools || falls, 0, stayed), plateau);
  cooling = where(full, where(cools, cooling - 1, where(falls, cooldown, 0)), cooling);
  count = where(full, 0, losses);
  keep(mean, where(full, 0, now));
  s.map([&](std::size_t i) { return like(scale, s.updates[i]) * s.updates[i]; });
}

}  // namespace apsis::optim
