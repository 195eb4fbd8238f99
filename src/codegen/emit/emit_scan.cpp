// scan as a loop of the machine: it goes over lists and stacks, and makes lists and stacks.

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "codegen/emit/equations.hpp"
#include "codegen/emit/list_access.hpp"
#include "codegen/emit/loop_carries.hpp"
#include "ir/loop.hpp"
#include "passes/analysis/lane_variance.hpp"

namespace apsis::detail {
namespace {

/// One loop while it is written.
class ScanWriter {
 public:
  ScanWriter(Region& outer, const Eqn& e, std::vector<char> varying_carries,
             std::vector<char> varying_results)
      : outer_(outer),
        b_(outer.b()),
        e_(e),
        loop_(e),
        varying_(std::move(varying_results)),
        body_(outer.lowering(), *loop_.body, outer.lanes(), outer.mask()),
        carries_(outer, *loop_.body, loop_.consts, std::move(varying_carries), loop_.length) {
    bind_fixed();
    find_results();
    tape_.emplace(outer.lowering(), recorded_, wide_ ? outer.lanes() : 1);
    find_entries();
  }

  void write() {
    b_.set_lanes(1);
    length_ = loop_.length < 0 ? readers_[0].length() : b_.index(loop_.length);
    if (!recorded_.empty()) tape_->make(length_, loop_.reverse);
    make_stacks();
    const auto more = [&] { return b_.compare(Compare::Lt, b_.get(trip_), length_); };
    const auto iterate = [&] {
      carries_.open();
      bind_entries();
      write_body();
      outer_.lowering().poll();
      b_.set_lanes(1);
      b_.set(trip_, b_.add(b_.get(trip_), b_.index(1)));
    };
    loop(b_, make_variables(), more, iterate);
    define_results();
  }

 private:
  /// Before the loop: what does not change in it, and where the carries start.
  void bind_fixed() {
    const auto operands = outer_.operands(e_);
    std::vector<char> fixed(loop_.body->input_count(), 0);
    for (std::size_t i = 0; i < loop_.consts; ++i) {
      body_.bind_input(static_cast<ValueId>(i), outer_.place(operands[i]));
      fixed[i] = 1;
    }
    for (std::size_t c = 0; c < loop_.carries; ++c) {
      bool last = false;
      Place initial = outer_.take(operands[loop_.first_carry() + c], last);
      carries_.start(std::move(initial), last, e_.first_result + static_cast<ValueId>(c));
      if (!carries_.unchanged(c)) continue;
      body_.bind_input(loop_.in_body(c), carries_.place(c));
      fixed[loop_.in_body(c)] = 1;
    }
    body_.run_invariant(fixed);
  }

  ValueId result(std::size_t y) const { return e_.first_result + static_cast<ValueId>(loop_.carries + y); }
  const Aval& made(std::size_t y) const { return loop_.body->aval(loop_.body->outputs()[loop_.carries + y]); }

  /// Which results go into lists: they are recorded.
  void find_results() {
    for (std::size_t y = 0; y < e_.result_count - loop_.carries; ++y) {
      field_of_.push_back(recorded_.size());
      if (!outer_.aval(result(y)).is_list()) continue;
      recorded_.push_back(made(y));
      wide_ = varying_[loop_.carries + y] != 0;
    }
  }

  /// What is read entry by entry: lists, of which those that are recorded together share a reader, and
  /// stacks.
  void find_entries() {
    const auto operands = outer_.operands(e_);
    for (std::size_t i = loop_.first_x(); i < operands.size(); ++i) {
      const Place& place = outer_.place(operands[i]);
      if (place.kind != Place::Kind::List) {
        reader_of_.push_back(readers_.size());
        const Aval& aval = outer_.aval(operands[i]);
        xs_.push_back(lies_across(place, aval) ? outer_.contiguous(place, aval)
                                               : outer_.in_memory(place, aval));
        continue;
      }
      const auto known = std::ranges::find_if(
          readers_, [&](const ListReader& r) { return r.list().handle == place.base.handle; });
      reader_of_.push_back(static_cast<std::size_t>(known - readers_.begin()));
      if (known == readers_.end()) readers_.emplace_back(outer_.lowering(), place.base, loop_.reverse);
      if (!place.step.handle) readers_[reader_of_.back()].reads_records();
      xs_.push_back(place);
      if (!place.elements.empty()) entries_ = place.elements[0];
    }
  }

  /// Whether each entry of a stack would read a few bytes of many lines of memory, which have left the
  /// cache when the next entry comes: of a transposed matrix, whose entries are columns.
  bool lies_across(const Place& stack, const Aval& aval) const {
    constexpr std::int64_t line = 64, cached = 512 << 10, many = 8;
    if (stack.kind != Place::Kind::Memory || stack.lanes > 1 || outer_.lanes() > 1 || loop_.length < many)
      return false;
    const View& view = stack.view;
    const std::int64_t in_line = line / static_cast<std::int64_t>(item_size(aval.dtype()));
    std::int64_t entry = 1;
    for (std::size_t d = 1; d < view.shape.size(); ++d) {
      if (view.shape[d] > 1 && std::abs(view.strides[d]) < in_line) return false;
      entry *= view.shape[d];
    }
    return view.strides[0] != 0 && std::abs(view.strides[0]) < in_line && entry * line > cached;
  }

  void make_stacks() {
    stacks_.resize(field_of_.size());
    for (std::size_t y = 0; y < stacks_.size(); ++y)
      if (!outer_.aval(result(y)).is_list())
        stacks_[y] = outer_.destination(result(y), varying_[loop_.carries + y] ? outer_.lanes() : 1).place();
  }

  /// What passes from each iteration to the next.
  std::vector<Variable> make_variables() {
    std::vector<Variable> carried{trip_ = b_.make_variable(b_.index(0))};
    carries_.add_variables(carried);
    for (const ListReader& r : readers_) r.add_variables(carried);
    if (!recorded_.empty()) tape_->add_variables(carried);
    return carried;
  }

  /// Entry `index_` of something stacked along axis 0.
  Place entry(const Place& stack, Dtype dtype) {
    Place place = stack;
    b_.set_lanes(1);
    place.base = b_.offset(stack.base,
                           b_.mul(index_, b_.index(stack.view.strides[0] * outer_.bytes_of(stack, dtype))));
    place.view.shape.erase(0);
    place.view.strides.erase(0);
    return place;
  }

  /// The current entry of an x.
  Place current(std::size_t x, const Aval& aval) {
    Place place;
    if (xs_[x].step.handle) {
      b_.set_lanes(1);
      place.elements = {b_.add(xs_[x].first, b_.mul(b_.convert(index_, aval.dtype()), xs_[x].step))};
      place.kind = Place::Kind::Registers;
      return place;
    }
    place = xs_[x].kind == Place::Kind::List ? readers_[reader_of_[x]].field(xs_[x], aval)
                                             : entry(xs_[x], aval.dtype());
    if (outer_.in_registers(aval)) {
      place.elements = outer_.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
    return place;
  }

  void bind_entries() {
    const Value trip = b_.get(trip_);
    b_.set_lanes(1);
    index_ = loop_.reverse ? b_.sub(b_.sub(length_, b_.index(1)), trip) : trip;
    if (entries_.handle) {
      b_.set_lanes(outer_.lanes());
      mask_ = b_.compare(Compare::Lt, b_.splat(index_), entries_);
      body_.set_mask(outer_.mask().handle ? b_.bit_and(outer_.mask(), mask_) : mask_);
    }
    for (std::size_t c = 0; c < loop_.carries; ++c)
      if (!carries_.unchanged(c)) body_.bind_input(loop_.in_body(c), carries_.place(c));
    for (ListReader& r : readers_) r.next();
    if (!recorded_.empty()) tape_->next();
    for (std::size_t x = 0; x < xs_.size(); ++x) {
      const auto input = static_cast<ValueId>(loop_.consts + loop_.carries + x);
      body_.bind_input(input, current(x, loop_.body->aval(input)));
    }
  }

  void write_body() {
    std::vector<Place> targets;
    for (std::size_t y = 0; y < stacks_.size(); ++y) {
      const bool stacked = stacks_[y].kind != Place::Kind::None;
      targets.push_back(stacked ? entry(stacks_[y], made(y).dtype())
                                : tape_->field(field_of_[y], body_.mask()));
      body_.hint_output(loop_.carries + y, targets[y]);
    }
    carries_.hint(body_);
    body_.run();
    for (std::size_t y = 0; y < stacks_.size(); ++y) body_.write_output(loop_.carries + y, targets[y]);
    carries_.close(body_, mask_);
  }

  void define_results() {
    for (std::size_t c = 0; c < loop_.carries; ++c)
      outer_.define(e_.first_result + static_cast<ValueId>(c), carries_.last(c));
    for (std::size_t y = 0; y < stacks_.size(); ++y) {
      const Aval& aval = outer_.aval(result(y));
      if (aval.is_list())
        outer_.define(result(y), tape_->list(field_of_[y], entries_));
      else if (outer_.in_registers(aval))
        outer_.define(result(y), stacks_[y]);
      else
        outer_.define(result(y), std::move(stacks_[y]));
    }
  }

  Region& outer_;
  Builder& b_;
  const Eqn& e_;
  const Loop loop_;
  const std::vector<char> varying_;  // by result
  Region body_;
  LoopCarries carries_;
  std::vector<Aval> recorded_;
  std::vector<std::size_t> field_of_;  // by y: in the record, if it goes into a list
  bool wide_ = false;                  // the records have room for all lanes
  std::optional<ListWriter> tape_;
  std::vector<Place> xs_, stacks_;  // by x; by y, those that are no lists
  std::vector<ListReader> readers_;
  std::vector<std::size_t> reader_of_;  // by x
  Value length_, index_;
  Variable trip_;
  Value entries_;  // where lanes differ in length, the length in each
  Value mask_;     // the lanes that have this entry; no handle: all
};

}  // namespace

void emit_scan(Region& region, const Eqn& e) {
  const Loop loop(e);
  bool lanes_differ = false;
  std::vector<char> carries(loop.carries, 0), results(e.result_count, 0);
  if (region.lanes() > 1) {
    carries = varying_carries(e, region.varying(e), lanes_differ);
    results = varying_results(region.graph(), e, region.varying(e));
  }
  ScanWriter(region, e, std::move(carries), std::move(results)).write();
}

}  // namespace apsis::detail
