// Lanes and memory of the Builder: whole, masked, gathered, scattered, as bytes, and apart.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/builder/builder.hpp"
#include "codegen/builder/control.hpp"

namespace apsis::detail {
namespace {

std::int64_t low_bits(const void* p) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) & 63);
}

// A module of one function `f` of pointers, written by `body` at `lanes` lanes.
template <class Body>
std::unique_ptr<Code> compile(int pointers, int lanes, Isa isa, Level level, Body body) {
  auto b = make_builder({.isa = isa});
  const std::vector<Type> parameters(static_cast<std::size_t>(pointers), pointer_type);
  b->begin(b->declare("f", parameters, {}, true));
  b->set_lanes(lanes);
  body(*b);
  b->return_values({});
  b->end();
  return b->finish({.level = level});
}
template <class... P>
void run(const Code& code, P*... pointers) {
  reinterpret_cast<void (*)(P * ...)>(code.find("f"))(pointers...);
}

class BuilderMemory : public testing::TestWithParam<std::tuple<int, Level, Isa>> {
 protected:
  int lanes() const { return std::get<0>(GetParam()); }
  template <class Body>
  std::unique_ptr<Code> compile_here(int pointers, Body body) {
    return compile(pointers, lanes(), std::get<2>(GetParam()), std::get<1>(GetParam()), body);
  }
};

TEST_P(BuilderMemory, LoadsAndStoresEveryDtypeUnaligned) {
  constexpr Dtype dtypes[] = {Dtype::Bool, Dtype::I8,  Dtype::I16, Dtype::I32, Dtype::I64,
                              Dtype::U8,   Dtype::U16, Dtype::U32, Dtype::U64, Dtype::BF16,
                              Dtype::F16,  Dtype::F32, Dtype::F64};
  for (Dtype d : dtypes) {
    const auto bytes = static_cast<std::size_t>(lanes()) * item_size(d);
    const auto code = compile_here(
        2, [&](Builder& b) { b.store(b.pointer_parameter(1), b.load(b.pointer_parameter(0), d)); });
    std::vector<std::uint8_t> from(bytes + 8), to(bytes + 16, 0xee);
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<std::uint8_t>(d == Dtype::Bool ? i * 5 / 3 % 2 : i * 37 + 1);
    // Off by one element: the natural alignment and no more.
    run(*code, from.data() + item_size(d), to.data() + item_size(d));
    EXPECT_EQ(std::memcmp(from.data() + item_size(d), to.data() + item_size(d), bytes), 0) << name_of(d);
    EXPECT_EQ(to[bytes + item_size(d)], 0xee) << name_of(d) << " wrote too much";
    EXPECT_EQ(to[0], 0xee) << name_of(d);
  }
}

TEST_P(BuilderMemory, MaskedAccessTouchesSetLanesOnly) {
  for (Dtype d : {Dtype::Bool, Dtype::I8, Dtype::I16, Dtype::U32, Dtype::F32, Dtype::F64, Dtype::BF16}) {
    const auto n = static_cast<std::size_t>(lanes());
    const std::size_t size = item_size(d);
    const auto code = compile_here(4, [&](Builder& b) {
      const Value mask = b.load(b.pointer_parameter(2), Dtype::Bool);
      const Value v = b.masked_load(b.pointer_parameter(0), d, mask);
      b.masked_store(b.pointer_parameter(1), v, mask);
      b.store(b.pointer_parameter(3), v);
    });
    std::vector<std::uint8_t> from(n * size), to(n * size, 0xee), all(n * size, 0xee);
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<std::uint8_t>(d == Dtype::Bool ? 1 : i * 37 + 1);
    for (unsigned pattern : {0u, 1u, 0x5555u, 0xffffu, 0x8421u}) {
      std::array<bool, 16> mask{};
      for (std::size_t i = 0; i < n; ++i) mask[i] = pattern >> i & 1;
      std::fill(to.begin(), to.end(), std::uint8_t{0xee});
      run(*code, from.data(), to.data(), mask.data(), all.data());
      for (std::size_t i = 0; i < n * size; ++i) {
        EXPECT_EQ(to[i], mask[i / size] ? from[i] : 0xee) << name_of(d) << " byte " << i;
        EXPECT_EQ(all[i], mask[i / size] ? from[i] : 0) << name_of(d) << " byte " << i;
      }
    }
  }
}

TEST_P(BuilderMemory, ExpandLoadReadsNeighbours) {
  for (Dtype d : {Dtype::I8, Dtype::I32, Dtype::F32, Dtype::F64}) {
    const auto n = static_cast<std::size_t>(lanes());
    const std::size_t size = item_size(d);
    const auto code = compile_here(3, [&](Builder& b) {
      const Value mask = b.load(b.pointer_parameter(1), Dtype::Bool);
      b.store(b.pointer_parameter(2), b.expand_load(b.pointer_parameter(0), d, mask));
    });
    for (unsigned pattern : {0u, 1u, 0x5555u, 0xffffu, 0x8421u, 0xfff0u}) {
      std::array<bool, 16> mask{};
      std::size_t set = 0;
      for (std::size_t i = 0; i < n; ++i) set += mask[i] = pattern >> i & 1;
      // No more than these: what lies behind them may be no memory of ours.
      std::vector<std::uint8_t> from(set * size), to(n * size, 0xee);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 37 + 1);
      run(*code, from.data(), mask.data(), to.data());
      for (std::size_t i = 0, next = 0; i < n; ++i)
        for (std::size_t k = 0; k < size; ++k) {
          const std::uint8_t want = mask[i] ? from[next * size + k] : 0;
          EXPECT_EQ(to[i * size + k], want) << name_of(d) << " lane " << i;
          if (k + 1 == size) next += mask[i];
        }
    }
  }
}

TEST_P(BuilderMemory, GatherAndScatter) {
  for (Dtype d : {Dtype::Bool, Dtype::I16, Dtype::F32, Dtype::I64}) {
    const auto n = static_cast<std::size_t>(lanes());
    const std::size_t size = item_size(d);
    const auto code = compile_here(5, [&](Builder& b) {
      const Value from = b.load(b.pointer_parameter(1), Dtype::I64),
                  to = b.load(b.pointer_parameter(2), Dtype::I64);
      const Value mask = b.load(b.pointer_parameter(3), Dtype::Bool);
      b.scatter(b.pointer_parameter(4), to, b.gather(b.pointer_parameter(0), from, d), mask);
      b.scatter(b.offset(b.pointer_parameter(4), static_cast<std::int64_t>(64 * size)), to,
                b.gather(b.pointer_parameter(0), from, d, mask));
    });
    std::vector<std::uint8_t> from(64 * size), to(128 * size, 0xee), expected(128 * size, 0xee);
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<std::uint8_t>(d == Dtype::Bool ? i % 2 : i * 37 + 1);
    std::array<std::int64_t, 16> pick, place;
    std::array<bool, 16> mask;
    for (std::size_t i = 0; i < 16; ++i) {
      pick[i] = static_cast<std::int64_t>(i * 13 % 64);
      place[i] =
          static_cast<std::int64_t>(i / 2 * 5);  // pairs of lanes name the same element: the later one stands
      mask[i] = i % 3 != 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint8_t* element = from.data() + static_cast<std::size_t>(pick[i]) * size;
      std::uint8_t* target = expected.data() + static_cast<std::size_t>(place[i]) * size;
      if (mask[i]) std::memcpy(target, element, size);
      if (mask[i])
        std::memcpy(target + 64 * size, element, size);
      else
        std::memset(target + 64 * size, 0, size);
    }
    run(*code, from.data(), pick.data(), place.data(), mask.data(), to.data());
    EXPECT_EQ(to, expected) << name_of(d);
  }
}

TEST_P(BuilderMemory, LanesApartAndTogether) {
  const auto n = static_cast<std::size_t>(lanes());
  const auto code = compile_here(4, [&](Builder& b) {
    const Value v = b.load(b.pointer_parameter(0), Dtype::F64);
    const Value which = b.load_element(b.pointer_parameter(1), Dtype::I64);
    // Lane `which` moves to lane 0; its place takes lane n-1; the rest is mirrored twice.
    const Value picked = b.extract(v, which);
    Value w = b.insert(b.insert(v, which, b.extract(v, lanes() - 1)), 0, picked);
    std::vector<int> back(n);
    for (std::size_t i = 0; i < n; ++i) back[i] = static_cast<int>(n - 1 - i);
    w = b.shuffle(b.shuffle(w, v, back), v, back);
    b.store(b.pointer_parameter(2), b.add(w, b.convert(b.lane_numbers(), Dtype::F64)));
    b.store(b.offset(b.pointer_parameter(2), static_cast<std::int64_t>(8 * n)), b.splat(picked));
    const Value mask = b.load(b.pointer_parameter(3), Dtype::Bool);
    const auto out = [&](std::int64_t i) { return b.offset(b.pointer_parameter(1), 8 * i); };
    b.store(out(1), b.mask_bits(mask));
    b.store(out(2), b.convert(b.any(mask), Dtype::I64));
    b.store(out(3), b.convert(b.all(mask), Dtype::I64));
    const int interleaved[] = {lanes() - 1, lanes()};
    b.store(b.offset(b.pointer_parameter(2), static_cast<std::int64_t>(16 * n)),
            b.shuffle(v, b.splat(picked), interleaved));
  });
  std::vector<double> in(n), out(2 * n + 2);
  std::iota(in.begin(), in.end(), 100.0);
  for (std::size_t which = 0; which < n; ++which)
    for (unsigned pattern : {0u, 0xffffu, 0x9a31u}) {
      std::array<bool, 16> mask{};
      unsigned bits = 0;
      for (std::size_t i = 0; i < n; ++i) {
        mask[i] = pattern >> i & 1;
        bits |= static_cast<unsigned>(mask[i]) << i;
      }
      std::int64_t numbers[4] = {static_cast<std::int64_t>(which), -1, -1, -1};
      run(*code, in.data(), numbers, out.data(), mask.data());
      std::vector<double> expected = in;
      expected[which] = in[n - 1];
      expected[0] = in[which];
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(out[i], expected[i] + static_cast<double>(i));
        EXPECT_EQ(out[n + i], in[which]);
      }
      EXPECT_EQ(out[2 * n], in[n - 1]);
      EXPECT_EQ(out[2 * n + 1], in[which]);
      EXPECT_EQ(numbers[1], bits);
      EXPECT_EQ(numbers[2], bits != 0);
      EXPECT_EQ(numbers[3], bits == (1u << n) - 1);
    }
}

INSTANTIATE_TEST_SUITE_P(All, BuilderMemory,
                         testing::Combine(testing::Values(1, 4, 8, 16),
                                          testing::Values(Level::None, Level::Less),
                                          testing::Values(Isa::Avx2, Isa::Native)),
                         [](const auto& info) {
                           return "lanes" + std::to_string(std::get<0>(info.param)) + "_level" +
                                  std::to_string(static_cast<int>(std::get<1>(info.param))) +
                                  (std::get<2>(info.param) == Isa::Avx2 ? "_avx2" : "_native");
                         });

/// A block computes a place or an address once, and known numbers are added to what it has.
TEST(Builder, PlacesAreWrittenOnce) {
  const auto b = make_builder({});
  const Type parameters[] = {pointer_type, {Dtype::I64, 1}};
  b->begin(b->declare("f", parameters, {}, true));
  const Pointer p = b->pointer_parameter(0);
  const Value i = b->parameter(1);
  Value sum = b->index(0);
  for (int k = 0; k < 5; ++k) {
    const Value place = b->mul(b->add(b->mul(i, b->index(1)), b->index(k)), b->index(24));
    sum = b->add(sum, b->load_element(b->offset(b->offset(p, b->add(place, b->index(8))), -8), Dtype::I64));
  }
  b->store(p, sum);
  b->return_values({});
  b->end();
  const auto count = [text = b->text()](std::string_view what) {
    int found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(" mul "), 1);
  EXPECT_EQ(count(", i64 24\n"), 1);
  const auto code = b->finish({});
  std::int64_t numbers[20];
  std::iota(numbers, numbers + 20, 100);
  reinterpret_cast<void (*)(std::int64_t*, std::int64_t)>(code->find("f"))(numbers, 2);
  EXPECT_EQ(numbers[0], 106 + 109 + 112 + 115 + 118);
}

/// What a loop's counter is multiplied with is added up instead, and products of products, whatever the
/// counter goes on by.
TEST(Builder, MultiplesOfCountersCountAlong) {
  for (const bool jumps : {false, true}) {
    const auto b = make_builder({});
    const Type parameters[] = {pointer_type, {Dtype::I64, 1}};
    b->begin(b->declare("f", parameters, {}, true));
    const Variable i = b->make_variable(b->index(1)), sum = b->make_variable(b->index(0));
    const Variable carried[] = {i, sum};
    LoopBlocks loop(*b, carried);
    const Value now = b->get(i), odd = b->mul(now, b->index(21)),
                more = b->mul(b->add(odd, b->index(2)), b->index(50));
    b->set(sum, b->add(b->get(sum), b->add(more, odd)));
    const Value further = b->add(now, b->index(3));
    const Value next =
        jumps ? b->select(b->compare(Compare::Gt, further, b->parameter(1)), b->parameter(1), further)
              : further;
    b->set(i, next);
    loop.close(b->compare(Compare::Ne, now, b->parameter(1)), Likely::True);
    b->store(b->pointer_parameter(0), b->get(sum));
    b->return_values({});
    b->end();
    EXPECT_EQ(b->text().find(" mul ") != std::string::npos, jumps);
    const auto code = b->finish({});
    std::int64_t expected = 0, found = 0;
    for (std::int64_t k = 1; k <= 31; k += 3) expected += (21 * k + 2) * 50 + 21 * k;
    reinterpret_cast<void (*)(std::int64_t*, std::int64_t)>(code->find("f"))(&found, 31);
    EXPECT_EQ(found, expected);
  }
}

TEST(Builder, BytesPointersAndConstants) {
  add_symbol("apsis_test_low_bits", reinterpret_cast<void*>(&low_bits));
  const char text[] = "a constant of the module";
  const auto code = compile(3, 1, Isa::Native, Level::Less, [&](Builder& b) {
    const Pointer data = b.constant_data(std::as_bytes(std::span(text)));
    b.copy_bytes(b.pointer_parameter(0), data, b.index(sizeof text));
    b.fill_bytes(b.pointer_parameter(1), 0x5a, b.load_element(b.pointer_parameter(2), Dtype::I64));
    const Pointer slot = b.stack(200);
    b.store_pointer(b.offset(slot, 128), b.pointer_parameter(1));
    const Pointer same = b.load_pointer(b.offset(slot, b.index(128)));
    b.store(same, b.constant(Dtype::U8, 0x11));
    // A stack slot's low address bits are zero.
    const Value low = b.call_runtime("apsis_test_low_bits", Dtype::I64, std::vector<Operand>{slot});
    b.store(b.offset(b.pointer_parameter(2), 8),
            b.add(low, b.load_relaxed(b.pointer_parameter(2), Dtype::I64)));
  });
  char copied[sizeof text] = {};
  std::uint8_t filled[8] = {};
  std::int64_t numbers[2] = {5, -1};
  run(*code, copied, filled, numbers);
  EXPECT_STREQ(copied, text);
  EXPECT_EQ(std::vector<int>(filled, filled + 8), (std::vector<int>{0x11, 0x5a, 0x5a, 0x5a, 0x5a, 0, 0, 0}));
  EXPECT_EQ(numbers[1], 5);
}

}  // namespace
}  // namespace apsis::detail
