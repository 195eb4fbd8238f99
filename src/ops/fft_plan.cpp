#include "ops/fft_plan.hpp"

#include <algorithm>
#include <array>
#include <list>
#include <mutex>

#include "core/memory.hpp"
#include "ops/fft_transform.hpp"
#include "ops/math/double_double.hpp"

namespace apsis::detail {
namespace {

using math::DoubleDouble;

struct Root {
  DoubleDouble cos, sin;
};
Root operator*(const Root& a, const Root& b) {
  return {a.cos * b.cos - a.sin * b.sin, a.sin * b.cos + a.cos * b.sin};
}

/// cos and sin of 2π k / n for 0 ≤ k < n, to about 100 bits: by Taylor's series within an eighth of a turn.
Root root_of_unity(std::int64_t k, std::int64_t n) {
  const bool below = 2 * k > n;  // the lower half plane is the mirror image of the upper one
  if (below) k = n - k;
  const bool left = 4 * k > n;
  // As a fraction of half a turn, rest / n from the nearest of the two ends.
  std::int64_t rest = left ? n - 2 * k : 2 * k;
  const bool steep = 4 * rest > n;
  if (steep) rest = n - 2 * rest;  // from the quarter, as a fraction of half a turn: rest / 2n
  const DoubleDouble angle = DoubleDouble(math::pi_high, math::pi_low) *
                             DoubleDouble(static_cast<double>(rest)) /
                             DoubleDouble(static_cast<double>(steep ? 2 * n : n));
  const DoubleDouble square = -(angle * angle);
  DoubleDouble cosine(1), sine(1);
  for (int i = 28; i > 0; i -= 2) {
    sine = DoubleDouble(1) + sine * square / DoubleDouble(static_cast<double>(i * (i + 1)));
    cosine = DoubleDouble(1) + cosine * square / DoubleDouble(static_cast<double>(i * (i - 1)));
  }
  sine = sine * angle;
  Root root{steep ? sine : cosine, steep ? cosine : sine};
  if (left) root.cos = -root.cos;
  if (below) root.sin = -root.sin;
  return root;
}

/// exp(-2πi k / n) for any k below n, as products of two of few roots.
class Roots {
 public:
  explicit Roots(std::int64_t n) : n_(n) {
    while (fine_count() * fine_count() < n) ++shift_;
    for (std::int64_t k = 0; k < std::min(n, fine_count()); ++k) fine_.push_back(root_of_unity(k, n));
    for (std::int64_t k = 0; k < n; k += fine_count()) coarse_.push_back(root_of_unity(k, n));
  }
  template <class T>
  void write(std::int64_t k, T& re, T& im) const {
    const Root& coarse = coarse_[static_cast<std::size_t>(k >> shift_)];
    const Root root = coarse * fine_[static_cast<std::size_t>(k & (fine_count() - 1))];
    re = static_cast<T>(root.cos.high);
    im = static_cast<T>(-root.sin.high);
  }

 private:
  std::int64_t fine_count() const { return std::int64_t{1} << shift_; }
  std::int64_t n_, shift_ = 0;
  std::vector<Root> fine_, coarse_;
};

/// The radices of the passes, in order; empty if the length has another prime factor. The last pass turns
/// blocks of elements in registers: it wants a power of two, 8 for f64 and 16 for f32.
std::vector<int> radices_of(std::int64_t length, bool narrow) {
  std::vector<int> radices;
  int twos = 0;
  for (; length % 2 == 0; length /= 2) ++twos;
  for (int radix : {3, 5, 7, 11, 13, 17, 19, 23})
    for (; length % radix == 0; length /= radix) radices.push_back(radix);
  if (length != 1) return {};
  std::vector<int> powers;
  // 4096 has four of them, too, for its two halves.
  const bool split = radices.empty() && twos == 12;
  for (int passes = split ? 4 : (twos + 3) / 4; passes > 0; --passes) {
    const int exponent = (twos + passes - 1) / passes;
    powers.push_back(1 << exponent);
    twos -= exponent;
  }
  if (powers.empty()) return radices;
  // Powers descend. The least that fills registers is last for f64, the greatest for f32.
  if (narrow || powers.back() < 8) std::ranges::reverse(powers);
  const int last = powers.back();
  powers.pop_back();
  if (last < 4) {
    radices.insert(radices.begin(), last);
    return radices;
  }
  radices.insert(radices.end(), powers.begin(), powers.end());
  std::ranges::sort(radices, std::greater<>());
  radices.push_back(last);
  return radices;
}

std::size_t index_of(int radix) {
  return static_cast<std::size_t>(std::ranges::find(fft_radices, radix) - fft_radices.begin());
}

/// After which of the passes the second half of a long line begins, if it has any: both have two passes at
/// least and fill registers, and about as much to do.
template <class T>
std::size_t first_half_of(const FftPlan<T>& plan) {
  constexpr std::int64_t long_line = 4096;
  if (plan.length < long_line) return 0;
  std::size_t best = 0;
  double least = static_cast<double>(plan.length);
  for (std::size_t i = 2; i + 2 <= plan.passes.size(); ++i) {
    const auto rows = plan.passes[i].groups, columns = plan.length / rows;
    if (std::min(rows, columns) < fft_columns<T>) continue;
    const double ratio =
        static_cast<double>(std::max(rows, columns)) / static_cast<double>(std::min(rows, columns));
    if (ratio < least) {
      least = ratio;
      best = i;
    }
  }
  return best;
}

template <class T>
void plan_passes(FftPlan<T>& plan, const std::vector<int>& radices) {
  const std::int64_t n = plan.length;
  std::int64_t groups = 1, numbers = 0;  // of all passes' turns
  for (int radix : radices) {
    if (groups > 1) numbers += 2 * (radix - 1) * groups;
    plan.passes.push_back({.radix = index_of(radix), .groups = groups, .span = n / (groups * radix)});
    groups *= radix;
  }
  plan.first_half = first_half_of(plan);
  plan.table.resize(static_cast<std::size_t>(numbers));
  const std::int64_t rows = plan.first_half == 0 ? n : plan.passes[plan.first_half].groups;
  const Roots roots(n);
  T* table = plan.table.data();
  for (auto& pass : plan.passes) {
    const std::int64_t radix = fft_radices[pass.radix], parts = 2 * (radix - 1);
    pass.blocks = std::max<std::int64_t>(1, pass.groups / rows);
    if (pass.groups == 1) continue;
    const std::int64_t of_block = pass.groups / pass.blocks;
    // Registers hold what one group has, or what the groups of the last pass have. The blocks that a packet
    // of rows meets one after the other are side by side.
    const bool along_groups = pass.span == 1, packets = of_block % fft_columns<T> == 0;
    const std::int64_t together = packets ? fft_columns<T> : of_block, group = along_groups ? 1 : parts;
    pass.turns = {.data = table,
                  .part = along_groups ? together : 1,
                  .group = group,
                  .packet = packets ? parts * together * pass.blocks : fft_columns<T> * group,
                  .block = parts * together};
    for (std::int64_t p = 0; p < pass.groups; ++p) {
      T* const turns = table + (pass.turns.at(p / of_block, p % of_block) - table);
      for (std::int64_t k = 1; k < radix; ++k)
        roots.write(p * k * pass.span, turns[(2 * k - 2) * pass.turns.part],
                    turns[(2 * k - 1) * pass.turns.part]);
    }
    table += parts * pass.groups;
  }
}

/// The shortest length from `least` on that passes of small radices, most of them powers of two, make fast.
std::int64_t convolution_length(std::int64_t least) {
  std::int64_t best = 1;
  while (best < least) best *= 2;
  for (std::int64_t odd : {3, 5, 9, 15, 25, 27}) {
    std::int64_t length = odd * 16;
    while (length < least) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

// k n = (k² + n² - (k - n)²) / 2: the transform is a convolution with exp(πi k² / n).
template <class T>
void plan_convolution(FftPlan<T>& plan) {
  const std::int64_t n = plan.length, m = convolution_length(2 * n - 1);
  plan.convolution = fft_plan<T>(m);
  const Roots roots(2 * n);
  plan.table.resize(static_cast<std::size_t>(2 * (n + m)));
  T *const re = plan.table.data(), *const im = re + n;
  std::int64_t square = 0;  // modulo 2n
  for (std::int64_t k = 0; k < n; ++k) {
    roots.write(square, re[k], im[k]);
    square = (square + 2 * k + 1) % (2 * n);
  }
  const std::int64_t room = FftTransform<T>::room(*plan.convolution, 1);
  std::vector<T> work(static_cast<std::size_t>(4 * room));
  const Planes<T> chirp{work.data(), work.data() + room}, other{chirp.im + room, chirp.im + 2 * room};
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t mirrored = k == 0 ? 0 : m - k;
    chirp.re[k] = chirp.re[mirrored] = re[k];
    chirp.im[k] = chirp.im[mirrored] = -im[k];
  }
  const Planes<T> spectrum = FftTransform<T>(*plan.convolution, 1).run(chirp, other);
  // The inverse transform's factor.
  for (std::int64_t k = 0; k < m; ++k) {
    im[n + k] = spectrum.re[k] / static_cast<T>(m);
    im[n + m + k] = spectrum.im[k] / static_cast<T>(m);
  }
}

/// Objects that were made of lengths, of which the least recently used go.
template <class Object>
class Kept {
 public:
  template <class Make>
  std::shared_ptr<const Object> get(std::int64_t length, const Make& make) {
    if (auto found = find(length)) return found;
    // Made without the lock: what it takes to make one may be kept here too.
    std::int64_t bytes = 0;
    auto made = make(bytes);
    const std::lock_guard lock(mutex_);
    entries_.push_front({length, bytes, made});
    bytes_ += bytes;
    while (bytes_ > limit_ && entries_.size() > 1) {
      bytes_ -= entries_.back().bytes;
      entries_.pop_back();
    }
    return made;
  }

 private:
  struct Entry {
    std::int64_t length, bytes;
    std::shared_ptr<const Object> object;
  };
  std::shared_ptr<const Object> find(std::int64_t length) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->length == length) {
        entries_.splice(entries_.begin(), entries_, it);
        return it->object;
      }
    return nullptr;
  }
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::int64_t bytes_ = 0;
  // Programs alternate between two lengths, as where one transform is of real numbers.
  const std::int64_t limit_ = std::clamp<std::int64_t>(machine_memory() / 64, 64 << 20, 512 << 20);
};

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(std::int64_t length) {
  static Kept<FftPlan<T>> kept;
  return kept.get(length, [&](std::int64_t& bytes) {
    auto plan = std::make_shared<FftPlan<T>>();
    plan->length = length;
    const std::vector<int> radices = radices_of(length, sizeof(T) == 4);
    if (!radices.empty() || length == 1)
      plan_passes(*plan, radices);
    else
      plan_convolution(*plan);
    bytes = plan->bytes();
    return plan;
  });
}
template std::shared_ptr<const FftPlan<float>> fft_plan(std::int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan(std::int64_t);

template <class T>
std::shared_ptr<const std::vector<T>> fft_half_turns(std::int64_t length) {
  static Kept<std::vector<T>> kept;
  return kept.get(length, [&](std::int64_t& bytes) {
    const std::int64_t half = length / 2;
    auto turns = std::make_shared<std::vector<T>>(static_cast<std::size_t>(2 * (half + 1)));
    const Roots roots(length);
    T* const re = turns->data();
    for (std::int64_t k = 0; k <= half; ++k) roots.write(k, re[k], re[half + 1 + k]);
    bytes = static_cast<std::int64_t>(turns->size() * sizeof(T));
    return turns;
  });
}
template std::shared_ptr<const std::vector<float>> fft_half_turns(std::int64_t);
template std::shared_ptr<const std::vector<double>> fft_half_turns(std::int64_t);

}  // namespace apsis::detail
