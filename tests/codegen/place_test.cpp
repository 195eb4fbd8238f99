// Who reads a buffer, and who only keeps its memory.

#include "codegen/plan/place.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace apsis::detail {
namespace {

Place array_in_memory(Arena& arena) {
  const auto buffer = std::make_shared<Buffer>();
  buffer->arena = &arena;
  buffer->bytes = 64;
  buffer->offset = arena.allocate(buffer->bytes);
  buffer->writable = true;
  Place place;
  place.kind = Place::Kind::Memory;
  place.buffer = BufferReader(buffer);
  return place;
}

// A place that goes on being read is no home of other values: it must be moved.
static_assert(std::is_constructible_v<Home, Place>);
static_assert(!std::is_constructible_v<Home, const Place&> && !std::is_constructible_v<Home, Place&>);
// What a home says of where it is cannot be read: that takes a value in it.
static_assert(!std::is_convertible_v<Home, Place> && !std::is_convertible_v<Location, Place>);

TEST(Places, AnArrayWithOneReaderMayBeOverwritten) {
  Arena arena;
  Place a = array_in_memory(arena);
  EXPECT_TRUE(a.exclusive());
  {
    const Place b = a;
    EXPECT_FALSE(a.exclusive());
    EXPECT_FALSE(b.exclusive());
  }
  EXPECT_TRUE(a.exclusive());
  const Place moved = std::move(a);
  EXPECT_TRUE(moved.exclusive());
}

TEST(Places, AHomeKeepsMemoryAndReadsNothing) {
  Arena arena;
  Home home(array_in_memory(arena));
  const Home other = home;
  {
    const Place value = home.value();
    EXPECT_TRUE(value.exclusive());
    EXPECT_FALSE(Place(value).exclusive());
    EXPECT_FALSE(other.value().exclusive());  // the value is read
  }
  EXPECT_TRUE(other.value().exclusive());
  EXPECT_NE(arena.allocate(64), 0);
}

TEST(Places, MemoryGoesBackWithTheLastOwner) {
  Arena arena;
  {
    const Home home(array_in_memory(arena));
    { const Place value = home.value(); }
    EXPECT_EQ(arena.allocate(64), 64);
  }
  EXPECT_EQ(arena.allocate(64), 0);
}

TEST(Places, AnArrayInOneOfTwoBuffersIsReadInBoth) {
  Arena arena;
  const Place a = array_in_memory(arena), b = array_in_memory(arena);
  {
    const auto either = std::make_shared<Buffer>();
    either->parts = {a.buffer, b.buffer};
    Place place;
    place.kind = Place::Kind::Memory;
    place.buffer = BufferReader(either);
    EXPECT_FALSE(a.exclusive());
    EXPECT_FALSE(b.exclusive());
    EXPECT_FALSE(place.exclusive());  // not writable
  }
  EXPECT_TRUE(a.exclusive());
  EXPECT_TRUE(b.exclusive());
}

}  // namespace
}  // namespace apsis::detail
