#include "apsis/optim/clip.hpp"

#include "optim/support.hpp"

namespace apsis::optim {

using detail::like;
using detail::OptionRange;

void Clip::start(detail::Start& s) const { s.check("Clip", "max_delta", max_delta, OptionRange::Positive); }
void Clip::step(detail::Step& s) const {
  s.map([&](std::size_t i) {
    const Array &g = s.updates[i], bound = like(max_delta, g);
    return clip(g, -bound, bound);
  });
}

void ClipByBlockRms::start(detail::Start& s) const {
  s.check("ClipByBlockRms", "threshold", threshold, OptionRange::Positive);
}
void ClipByBlockRms::step(detail::Step& s) const { detail::clip_by_block_rms(s, threshold); }

void ClipByGlobalNorm::start(detail::Start& s) const {
  s.check("ClipByGlobalNorm", "max_norm", max_norm, OptionRange::Positive);
}
void ClipByGlobalNorm::step(detail::Step& s) const {
  const Array length = detail::global_norm(s), shorter = length < like(max_norm, length);
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    return where(shorter, g, g / astype(length, g.dtype()) * like(max_norm, g));
  });
}

void AdaptiveGradClip::start(detail::Start& s) const {
  s.check("AdaptiveGradClip", "clipping", clipping, OptionRange::Positive);
  s.check("AdaptiveGradClip", "eps", eps, OptionRange::NotNegative);
  if (!axis.all) return;
  for (std::size_t i = 0; i < s.params.size(); ++i)
    if (detail::Start::is_trained(s.params[i]) && s.params[i].ndim() > 5)
      fail(messages::agc_axes, {s.path(i), to_string(s.params[i].aval())}, s.loc);
}
void AdaptiveGradClip::step(detail::Step& s) const {
  auto unit_norm = [&](const Array& x) {
    Axes over;
    int wide = 0;
    for (int a = 0; a < x.ndim(); ++a) wide += x.shape()[static_cast<std::size_t>(a)] != 1;
    if (!axis.all) {
      over = axis;
    } else if (wide > 1) {
      // The last axis, and of three the last two, tell the units apart.
      Dims axes{0};
      if (x.ndim() >= 4)
        for (int a = 1; a < x.ndim() - 1; ++a) axes.push_back(a);
      over = Axes(axes);
    }
    return sqrt(sum(square(x), {.axis = over, .keepdims = true}));
  };
  s.map([&](std::size_t i) {
    const Array& g = s.updates[i];
    const Array length = unit_norm(g);
    const Array longest =
        like(clipping, g) * maximum(unit_norm(astype(s.params[i], g.dtype())), like(eps, g));
    return where(length < longest, g, g * (longest / maximum(length, 1e-6)));
  });
}

}  // namespace apsis::optim
