// Who writes memory says which lanes it writes: a place can be read by anybody, and written by way of a
// Region alone, which knows the mask.

#include <gtest/gtest.h>

#include <type_traits>

#include "codegen/emit/region.hpp"

namespace apsis::detail {
namespace {

template <class Address>
concept IsWritten = requires(Builder& b, Address p, Value v, ConstPointer from) {
  b.store(p, v);
}
|| requires(Builder& b, Address p, Value v) { b.masked_store(p, v, v); }
|| requires(Builder& b, Address p, Value v) { b.scatter(p, v, v); }
|| requires(Builder& b, Address p, Value v, ConstPointer from) { b.copy_bytes(p, from, v); }
|| requires(Builder& b, Address p, Value v) { b.fill_bytes(p, 0, v); }
|| requires(Builder& b, Address p, ConstPointer value) { b.store_pointer(p, value); };

static_assert(IsWritten<Pointer> && !IsWritten<ConstPointer>);
static_assert(std::is_same_v<decltype(Place::base), ConstPointer>);
static_assert(!std::is_convertible_v<ConstPointer, Pointer> &&
              !std::is_constructible_v<Pointer, ConstPointer>);
// Loops over elements store to sinks, which are made of targets.
static_assert(!std::is_convertible_v<Access, Sink> && !std::is_constructible_v<Sink, Access>);
// Nobody but a Region makes a target of a place, and none forgets its mask.
static_assert(!std::is_constructible_v<Target, Place, Value> && !std::is_constructible_v<Target, Place>);
static_assert(!std::is_constructible_v<Destination, Place> && !std::is_constructible_v<Destination, Target>);

template <class To>
concept IsCopiedTo = requires(Region& region, const Place& from, const Aval& aval, const To& to) {
  region.copy(from, aval, to);
};
static_assert(IsCopiedTo<Target> && IsCopiedTo<Destination> && !IsCopiedTo<Place>);

/// The code of a region of four lanes under a mask that updates a place.
TEST(Targets, OfOthersAreWrittenUnderTheMask) {
  const auto b = make_builder();
  Lowering lowering(*b, {});
  const Type parameters[] = {pointer_type, {Dtype::I64, 1}};
  b->begin(b->declare("f", parameters, {}, true));
  lowering.enter(b->pointer_parameter(0));
  b->set_lanes(4);
  const Value mask = b->compare(Compare::Lt, b->lane_numbers(), b->splat(b->parameter(1)));
  GraphBuilder empty;
  const GraphRef graph = empty.finish({});
  Region outer(lowering, *graph, 4), inner(lowering, *graph, 4, mask);
  const Aval aval(Dtype::F64, {});

  const Place shared = outer.allocate(aval, 1).place(), of_lanes = outer.allocate(aval, 4).place(),
              own = inner.allocate(aval, 4).place();
  EXPECT_TRUE(outer.is_own(of_lanes) && inner.is_own(own));
  EXPECT_FALSE(inner.is_own(of_lanes));
  EXPECT_TRUE(outer.may_update(shared) && outer.may_update(of_lanes) && inner.may_update(own));
  EXPECT_TRUE(inner.may_update(of_lanes));
  EXPECT_FALSE(inner.may_update(shared)) << "lanes at rest share it";
  EXPECT_THROW(inner.overwrite(of_lanes), InternalError);
  EXPECT_THROW(inner.update(shared), InternalError);
  b->set_lanes(4);
  const Value v = b->constant(Dtype::F64, 0);
  EXPECT_EQ(inner.update(of_lanes).sink(Dtype::F64).mask.handle, mask.handle);
  EXPECT_EQ(inner.update(own).sink(Dtype::F64).mask.handle, nullptr);
  inner.update(own).store(*b, 0, v);
  EXPECT_EQ(b->text().find("masked.store"), std::string::npos);
  inner.update(of_lanes).store(*b, 0, v);
  EXPECT_NE(b->text().find("masked.store"), std::string::npos);
  b->set_lanes(1);
  b->return_values({});
  b->end();
}

}  // namespace
}  // namespace apsis::detail
