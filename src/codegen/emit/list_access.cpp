#include "codegen/emit/list_access.hpp"

#include <algorithm>

#include "core/list.hpp"

namespace apsis::detail {
namespace {

constexpr auto list_value_bytes = static_cast<std::int64_t>(sizeof(ListValue));

std::int64_t bytes_of_list(int lanes) { return list_value_bytes + (lanes > 1 ? lanes * 8 : 0); }

}  // namespace

ListWriter::ListWriter(Lowering& lowering, std::span<const Aval> values, int lanes)
    : lowering_(lowering), b_(lowering.b), values_(values.begin(), values.end()), lanes_(lanes) {
  lists_ = std::ranges::count_if(values_, &Aval::is_list);
  bytes_ = lists_ * bytes_of_list(lanes);
  std::int64_t list = 0;
  for (const Aval& aval : values_) {
    if (aval.is_list()) {
      offsets_.push_back(list++ * bytes_of_list(lanes));
      continue;
    }
    auto item = static_cast<std::int64_t>(item_size(aval.dtype()));
    bytes_ = (bytes_ + item - 1) / item * item;
    offsets_.push_back(bytes_);
    bytes_ += static_cast<std::int64_t>(aval.bytes()) * lanes;
  }
  bytes_ = std::max<std::int64_t>(8, (bytes_ + 7) / 8 * 8);
  owner_ = std::make_shared<Buffer>();
  owner_->records = true;
}

void ListWriter::make() {
  b_.set_lanes(1);
  const Operand arguments[] = {lowering_.context(), b_.index(bytes_)};
  header_ = lowering_.make("apsis_list_make", arguments);
  if (lists_ > 0) {
    b_.store(b_.offset(header_, offsetof(List, lists)), b_.index(lists_));
    b_.store(b_.offset(header_, offsetof(List, list_bytes)), b_.index(bytes_of_list(lanes_)));
  }
  at_ = b_.make_variable(b_.null_pointer());
  room_ = b_.make_variable(b_.index(0));
}

void ListWriter::make(Value length, bool reverse) {
  make();
  fixed_ = true;
  reverse_ = reverse;
  const Operand arguments[] = {lowering_.context(), header_, length};
  lowering_.check(b_.call_runtime("apsis_list_grow", Dtype::I32, arguments));
  Pointer start = b_.load_pointer(b_.offset(header_, offsetof(List, at)));
  const Value room = b_.load_element(b_.offset(header_, offsetof(List, room)), Dtype::I64);
  const Operand end[] = {header_, b_.sub(room, length)};
  b_.call_runtime_void("apsis_list_close", end);
  if (reverse) start = b_.offset(start, b_.mul(b_.sub(length, b_.index(1)), b_.index(bytes_)));
  b_.set(at_, start);
}

void ListWriter::add_variables(std::vector<Variable>& carried) const {
  if (!values_.empty()) carried.push_back(at_);
  if (!fixed_) carried.push_back(room_);
}

void ListWriter::next() {
  b_.set_lanes(1);
  if (values_.empty()) return b_.set(room_, b_.add(b_.get(room_), b_.index(1)));
  const auto grow = [&] {
    const Operand arguments[] = {lowering_.context(), header_, b_.index(1)};
    lowering_.check(b_.call_runtime("apsis_list_grow", Dtype::I32, arguments));
    b_.set(at_, b_.load_pointer(b_.offset(header_, offsetof(List, at))));
    b_.set(room_, b_.load_element(b_.offset(header_, offsetof(List, room)), Dtype::I64));
  };
  if (!fixed_) {
    if_(b_, b_.compare(Compare::Eq, b_.get(room_), b_.index(0)), grow, Likely::False);
    b_.set(room_, b_.sub(b_.get(room_), b_.index(1)));
  }
  current_ = b_.get_pointer(at_);
  b_.set(at_, b_.offset(current_, reverse_ ? -bytes_ : bytes_));
}

Place ListWriter::field(std::size_t i, Value active) const {
  Place place;
  place.kind = Place::Kind::Memory;
  place.base = b_.offset(current_, offsets_[i]);
  place.view = View::contiguous(values_[i].shape());
  place.lanes = lanes_;
  place.kept = active;
  return place;
}

void ListWriter::close() {
  if (fixed_) return;
  b_.set_lanes(1);
  const Value room = b_.get(room_);
  if (values_.empty()) return b_.store(b_.offset(header_, offsetof(List, count)), room);
  const Operand arguments[] = {header_, room};
  b_.call_runtime_void("apsis_list_close", arguments);
}

Place ListWriter::counted() const {
  Place place;
  place.kind = Place::Kind::List;
  place.lanes = lanes_;
  place.base = header_;
  place.buffer = BufferReader(owner_);
  return place;
}

Place ListWriter::list(std::size_t i, Value counts) const {
  Place place = counted();
  if (counts.handle) place.elements = {counts};
  place.offset = b_.index(offsets_[i]);
  return place;
}

ListReader::ListReader(Lowering& lowering, ConstPointer list, bool reverse) : b_(lowering.b), list_(list) {
  b_.set_lanes(1);
  length_ = b_.load_element(b_.offset(list, offsetof(List, count)), Dtype::I64);
  cursor_ = b_.stack(sizeof(ListCursor));
  const Operand arguments[] = {list, cursor_, b_.index(reverse ? 1 : 0)};
  b_.call_runtime_void("apsis_list_open", arguments);
  step_ = b_.load_element(b_.offset(cursor_, offsetof(ListCursor, step)), Dtype::I64);
  at_ = b_.make_variable(b_.null_pointer());
  left_ = b_.make_variable(b_.index(0));
}

void ListReader::add_variables(std::vector<Variable>& carried) const {
  if (!reads_) return;
  carried.push_back(at_);
  carried.push_back(left_);
}

void ListReader::next() {
  if (!reads_) return;
  b_.set_lanes(1);
  const auto advance = [&] {
    const Operand arguments[] = {cursor_};
    b_.call_runtime_void("apsis_list_advance", arguments);
    b_.set(at_, b_.load_pointer(b_.offset(cursor_, offsetof(ListCursor, at))));
    b_.set(left_, b_.load_element(b_.offset(cursor_, offsetof(ListCursor, left)), Dtype::I64));
  };
  if_(b_, b_.compare(Compare::Eq, b_.get(left_), b_.index(0)), advance, Likely::False);
  current_ = b_.get_pointer(at_);
  b_.set(left_, b_.sub(b_.get(left_), b_.index(1)));
  b_.set(at_, b_.offset(current_, step_));
}

Place ListReader::field(const Place& list, const Aval& aval) const {
  Place place;
  place.base = b_.offset(current_, list.offset);
  place.lanes = list.lanes;
  if (!aval.is_list()) {
    place.kind = Place::Kind::Memory;
    place.view = View::contiguous(aval.shape());
    return place;
  }
  b_.set_lanes(1);
  const ConstPointer value = place.base;
  place.kind = Place::Kind::List;
  place.base = b_.load_pointer(b_.offset(value, offsetof(ListValue, list)));
  place.offset = b_.load_element(b_.offset(value, offsetof(ListValue, offset)), Dtype::I64);
  if (place.lanes > 1) {
    b_.set_lanes(place.lanes);
    place.elements = {b_.load(b_.offset(value, list_value_bytes), Dtype::I64)};
  }
  return place;
}

void write_list(Builder& b, const Place& list, const Destination& to) {
  const Pointer value = to.base();
  b.set_lanes(1);
  b.store_pointer(b.offset(value, offsetof(ListValue, list)), list.base);
  b.store(b.offset(value, offsetof(ListValue, offset)), list.offset);
  if (list.lanes == 1) return;
  const Value all = b.load_element(b.offset(list.base, offsetof(List, count)), Dtype::I64);
  b.set_lanes(list.lanes);
  b.store(b.offset(value, list_value_bytes), list.elements.empty() ? b.splat(all) : list.elements[0]);
}

Place lists_of_lanes(PlaceAccess& access, const Place& tapes, const Aval& aval) {
  Builder& b = access.b();
  const std::int64_t lanes = aval.shape()[0];
  Place table = access.allocate(Aval(Dtype::U64, {lanes}), 1).place();
  table.kind = Place::Kind::List;
  b.set_lanes(1);
  table.offset = b.index(0);
  const Operand arguments[] = {access.lowering().context(),
                               tapes.base,
                               b.index(lanes),
                               b.index(tapes.lanes),
                               tapes.offset,
                               b.index(lanes == 0 ? 0 : aval.size() / lanes),
                               b.index(static_cast<std::int64_t>(item_size(aval.dtype()))),
                               b.index(list_depth(aval.list())),
                               table.base};
  access.lowering().check(b.call_runtime("apsis_lists_of_lanes", Dtype::I32, arguments));
  return table;
}

void free_lists_of_lanes(PlaceAccess& access, const Buffer& lists) {
  Builder& b = access.b();
  b.set_lanes(1);
  const auto count = static_cast<std::int64_t>(lists.tables.size());
  const Pointer tables = b.stack(lists.tables.size() * sizeof(void*));
  for (std::int64_t i = 0; i < count; ++i)
    b.store_pointer(b.offset(tables, i * static_cast<std::int64_t>(sizeof(void*))),
                    lists.tables[static_cast<std::size_t>(i)]);
  const Operand arguments[] = {access.lowering().context(), tables, b.index(count), b.index(lists.lanes),
                               b.index(lists.packet)};
  b.call_runtime_void("apsis_lists_free", arguments);
}

}  // namespace apsis::detail
