#include "codegen/emit/matrix_blocks.hpp"

#include <algorithm>

#include "codegen/emit/equations.hpp"
#include "codegen/plan/result_parts.hpp"
#include "ops/packed_matrices.hpp"
#include "ops/small_matrix.hpp"

namespace apsis::detail {
namespace {

// What is read again must be more than stays in the cache anyway. A block's arrays stay in it, and are so
// many that a call costs little beside them.
constexpr std::int64_t worth_bytes = 256 << 10, block_bytes = 512 << 10;

std::int64_t entry_bytes(const Aval& aval) {
  return static_cast<std::int64_t>(aval.bytes()) / aval.shape()[0];
}

/// Elements of a matrix, or of the numbers of its rows.
std::int64_t matrix_size(const Aval& aval) {
  const Shape& shape = aval.shape();
  return is_integer(aval.dtype()) ? shape.back() : shape.back() * shape[shape.size() - 2];
}

}  // namespace

std::size_t BlocksOfMatrices::find(std::span<const Item> items) {
  if (region_.lanes() > 1 || region_.mask().handle) return 0;
  std::size_t end = 0, inside = 0, before = 0;
  for (std::size_t i = 0; i < items.size() && !items[i].cluster; ++i) {
    const Eqn& e = region_.graph().eqns()[items[i].eqns[0]];
    if (!add(e)) break;
    if (calls_.empty() || calls_.back() != &e) continue;
    end = i + 1;
    inside = inside_.size();
    before = before_.size();
  }
  inside_.resize(inside);
  before_.resize(before);
  for (const auto* eqns : {&calls_, &inside_})
    for (const Eqn* e : *eqns)
      for (const ValueId v : region_.operands(*e))
        if (made_.contains(v)) ++reads_[v];
  for (const Eqn* e : calls_) packs_ = packs_ && packs(*e);
  return is_worth_it() ? end : 0;
}

bool BlocksOfMatrices::add(const Eqn& e) {
  if (e.op->kind == OpKind::View && !calls_.empty()) {
    const auto made = made_.find(region_.operands(e)[0]);
    if (made == made_.end()) {
      before_.push_back(&e);
      return true;
    }
    const Shape& shape = region_.aval(e.first_result).shape();
    if (!is_reshape(region_.graph(), e) || shape.size() == 0 || shape[0] != count_) return false;
    made_.emplace(e.first_result, made->second);
    inside_.push_back(&e);
    return true;
  }
  if (!fits(e)) return false;
  calls_.push_back(&e);
  for (std::uint32_t r = 0; r < e.result_count; ++r) made_.emplace(e.first_result + r, e.first_result + r);
  return true;
}

/// Whether it is a call for small matrices, one or several for each entry of the first axis, that goes on
/// from what is there.
bool BlocksOfMatrices::fits(const Eqn& e) {
  if (!computes_matrices(*e.op)) return false;
  const auto operands = region_.operands(e);
  const std::size_t rank = region_.aval(operands.back()).shape().size();
  if (rank < 3) return false;
  const std::int64_t count = region_.aval(operands.back()).shape()[0];
  if (calls_.empty()) count_ = count;
  const auto small = [&](ValueId v) {
    const Aval& a = region_.aval(v);
    const std::size_t own = is_integer(a.dtype()) ? 1 : 2, sizes = a.shape().size();
    return a.size() > 0 && sizes - own == rank - 2 && a.shape()[0] == count_ &&
           (own == 1 || is_small_matrix(a.shape()[sizes - 2], a.shape()[sizes - 1]));
  };
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (!small(e.first_result + r)) return false;
  return std::ranges::all_of(operands, small) &&
         (calls_.empty() || std::ranges::any_of(operands, [&](ValueId v) { return made_.contains(v); }));
}

bool BlocksOfMatrices::is_worth_it() const {
  if (calls_.size() < 2) return false;
  std::int64_t bytes = 0;
  for (const auto& [v, times] : reads_) bytes += static_cast<std::int64_t>(region_.aval(v).bytes());
  return bytes >= worth_bytes;
}

/// Whether a result, or a reshape of it, is read elsewhere.
bool BlocksOfMatrices::is_kept(ValueId result) const {
  return std::ranges::any_of(made_, [&](const auto& made) {
    const auto reads = reads_.find(made.first);
    return made.second == result && region_.uses(made.first) > (reads == reads_.end() ? 0 : reads->second);
  });
}

/// Whether the code of a call knows packed arrays: a factorisation's results, if no factors are kept, and
/// what is solved by such factors.
bool BlocksOfMatrices::packs(const Eqn& e) const {
  const auto operands = region_.operands(e);
  for (const ValueId v : operands) {
    const auto made = made_.find(v);
    if (!may_be_packed(region_.aval(v).dtype()) ||
        (made != made_.end() && matrix_size(region_.aval(v)) != matrix_size(region_.aval(made->second))))
      return false;
  }
  const auto factors = made_.find(operands[0]);
  const bool has_factors = factors != made_.end() && !is_kept(factors->second);
  return gives_factors(*e.op) ? factors == made_.end() && !is_kept(e.first_result) : has_factors;
}

/// Whether a result stays as the code has it in registers.
bool BlocksOfMatrices::is_packed(ValueId result) const { return packs_ && !is_kept(result); }

std::int64_t BlocksOfMatrices::entries_of_block() const {
  std::int64_t bytes = 0;
  for (const Eqn* e : calls_) {
    for (const ValueId v : region_.operands(*e))
      if (!made_.contains(v)) bytes += entry_bytes(region_.aval(v));
    for (std::uint32_t r = 0; r < e->result_count; ++r)
      bytes += entry_bytes(region_.aval(e->first_result + r));
  }
  const std::int64_t entries = std::max<std::int64_t>(block_bytes / bytes, 1);
  return std::min(count_, entries < most_in_packet ? entries : entries / most_in_packet * most_in_packet);
}

Aval BlocksOfMatrices::part_aval(ValueId v, std::int64_t entries) const {
  Shape shape = region_.aval(v).shape();
  shape[0] = entries;
  return Aval(region_.aval(v).dtype(), shape);
}

Place BlocksOfMatrices::part(const Place& whole, ValueId v, Value first) {
  Builder& b = region_.b();
  Place part = whole;
  part.base = b.offset(whole.base, b.mul(first, b.index(entry_bytes(region_.aval(v)))));
  return part;
}

/// All of them for `entries` entries from `first` on.
void BlocksOfMatrices::call_all(std::int64_t entries, Value first) {
  Lowering& lowering = region_.lowering();
  for (const Eqn* e : calls_) {
    Kernel kernel{e->op, e->params, {}, {}};
    std::vector<Place> in;
    std::uint32_t bit = 1;
    for (const ValueId v : region_.operands(*e)) {
      kernel.in.push_back(part_aval(v, entries));
      const auto made = made_.find(v);
      if (made != made_.end() && is_packed(made->second)) kernel.packed |= bit;
      bit <<= 1;
      if (made == made_.end())
        in.push_back(part(places_.at(v), v, first));
      else if (is_kept(made->second))
        in.push_back(part(places_.at(made->second), v, first));
      else
        in.push_back(places_.at(made->second));
    }
    std::vector<Destination> out;
    for (std::uint32_t r = 0; r < e->result_count; ++r) {
      const ValueId v = e->first_result + r;
      kernel.out.push_back(part_aval(v, entries));
      if (is_packed(v)) kernel.packed |= bit;
      bit <<= 1;
      const Place& place = places_.at(v);
      out.push_back(region_.overwrite(is_kept(v) ? part(place, v, first) : place));
    }
    lowering.kernels.push_back(std::move(kernel));
    call_kernel(region_, static_cast<std::int64_t>(lowering.kernels.size()) - 1, *e, in, out);
  }
}

void BlocksOfMatrices::emit() {
  Builder& b = region_.b();
  for (const Eqn* e : before_) detail::emit(region_, *e);
  const std::int64_t entries = entries_of_block(), blocks = count_ / entries;
  for (const Eqn* e : calls_) {
    for (const ValueId v : region_.operands(*e))
      if (!made_.contains(v) && !places_.contains(v)) places_.emplace(v, region_.contiguous(v));
    for (std::uint32_t r = 0; r < e->result_count; ++r) {
      const ValueId v = e->first_result + r;
      places_.emplace(v, (is_kept(v) ? region_.destination(v, 1)
                                     : region_.allocate(part_aval(v, entries + most_in_packet), 1))
                             .place());
    }
  }
  b.set_lanes(1);
  CountedLoop loop(b, blocks, 1);
  call_all(entries, b.mul(loop.index(), b.index(entries)));
  loop.close();
  if (const std::int64_t rest = count_ - blocks * entries; rest > 0)
    call_all(rest, b.index(blocks * entries));
  for (const Eqn* e : calls_)
    for (std::uint32_t r = 0; r < e->result_count; ++r)
      if (is_kept(e->first_result + r)) region_.define(e->first_result + r, places_.at(e->first_result + r));
  for (const Eqn* e : inside_)
    if (is_kept(made_.at(e->first_result))) detail::emit(region_, *e);
}

}  // namespace apsis::detail
