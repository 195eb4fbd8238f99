#pragma once

#include <cstddef>

// Structured bindings cannot be written with a number of names that is a template argument, so there is one
// line for each number of fields up to 64.

namespace apsis::detail {

inline constexpr std::size_t max_fields = 64;

/// `Bind<N>::call(t, f)` calls `f` with references to the N fields of `t`.
template <std::size_t N>
struct Bind;

template <>
struct Bind<0> {
  template <class T, class F>
  [[gnu::always_inline]] static constexpr decltype(auto) call(T&, F&& f) {
    return f();
  }
};

#define APSIS_BIND(count, ...)                                                    \
  template <>                                                                     \
  struct Bind<count> {                                                            \
    template <class T, class F>                                                   \
    [[gnu::always_inline]] static constexpr decltype(auto) call(T& tree, F&& f) { \
      auto& [__VA_ARGS__] = tree;                                                 \
      return f(__VA_ARGS__);                                                      \
    }                                                                             \
  };
#define APSIS_BIND_8 f0, f1, f2, f3, f4, f5, f6, f7
#define APSIS_BIND_16 APSIS_BIND_8, f8, f9, f10, f11, f12, f13, f14, f15
#define APSIS_BIND_24 APSIS_BIND_16, f16, f17, f18, f19, f20, f21, f22, f23
#define APSIS_BIND_32 APSIS_BIND_24, f24, f25, f26, f27, f28, f29, f30, f31
#define APSIS_BIND_40 APSIS_BIND_32, f32, f33, f34, f35, f36, f37, f38, f39
#define APSIS_BIND_48 APSIS_BIND_40, f40, f41, f42, f43, f44, f45, f46, f47
#define APSIS_BIND_56 APSIS_BIND_48, f48, f49, f50, f51, f52, f53, f54, f55

APSIS_BIND(1, f0)
APSIS_BIND(2, f0, f1)
APSIS_BIND(3, f0, f1, f2)
APSIS_BIND(4, f0, f1, f2, f3)
APSIS_BIND(5, f0, f1, f2, f3, f4)
APSIS_BIND(6, f0, f1, f2, f3, f4, f5)
APSIS_BIND(7, f0, f1, f2, f3, f4, f5, f6)
APSIS_BIND(8, f0, f1, f2, f3, f4, f5, f6, f7)
APSIS_BIND(9, APSIS_BIND_8, f8)
APSIS_BIND(10, APSIS_BIND_8, f8, f9)
APSIS_BIND(11, APSIS_BIND_8, f8, f9, f10)
APSIS_BIND(12, APSIS_BIND_8, f8, f9, f10, f11)
APSIS_BIND(13, APSIS_BIND_8, f8, f9, f10, f11, f12)
APSIS_BIND(14, APSIS_BIND_8, f8, f9, f10, f11, f12, f13)
APSIS_BIND(15, APSIS_BIND_8, f8, f9, f10, f11, f12, f13, f14)
APSIS_BIND(16, APSIS_BIND_8, f8, f9, f10, f11, f12, f13, f14, f15)
APSIS_BIND(17, APSIS_BIND_16, f16)
APSIS_BIND(18, APSIS_BIND_16, f16, f17)
APSIS_BIND(19, APSIS_BIND_16, f16, f17, f18)
APSIS_BIND(20, APSIS_BIND_16, f16, f17, f18, f19)
APSIS_BIND(21, APSIS_BIND_16, f16, f17, f18, f19, f20)
APSIS_BIND(22, APSIS_BIND_16, f16, f17, f18, f19, f20, f21)
APSIS_BIND(23, APSIS_BIND_16, f16, f17, f18, f19, f20, f21, f22)
APSIS_BIND(24, APSIS_BIND_16, f16, f17, f18, f19, f20, f21, f22, f23)
APSIS_BIND(25, APSIS_BIND_24, f24)
APSIS_BIND(26, APSIS_BIND_24, f24, f25)
APSIS_BIND(27, APSIS_BIND_24, f24, f25, f26)
APSIS_BIND(28, APSIS_BIND_24, f24, f25, f26, f27)
APSIS_BIND(29, APSIS_BIND_24, f24, f25, f26, f27, f28)
APSIS_BIND(30, APSIS_BIND_24, f24, f25, f26, f27, f28, f29)
APSIS_BIND(31, APSIS_BIND_24, f24, f25, f26, f27, f28, f29, f30)
APSIS_BIND(32, APSIS_BIND_24, f24, f25, f26, f27, f28, f29, f30, f31)
APSIS_BIND(33, APSIS_BIND_32, f32)
APSIS_BIND(34, APSIS_BIND_32, f32, f33)
APSIS_BIND(35, APSIS_BIND_32, f32, f33, f34)
APSIS_BIND(36, APSIS_BIND_32, f32, f33, f34, f35)
APSIS_BIND(37, APSIS_BIND_32, f32, f33, f34, f35, f36)
APSIS_BIND(38, APSIS_BIND_32, f32, f33, f34, f35, f36, f37)
APSIS_BIND(39, APSIS_BIND_32, f32, f33, f34, f35, f36, f37, f38)
APSIS_BIND(40, APSIS_BIND_32, f32, f33, f34, f35, f36, f37, f38, f39)
APSIS_BIND(41, APSIS_BIND_40, f40)
APSIS_BIND(42, APSIS_BIND_40, f40, f41)
APSIS_BIND(43, APSIS_BIND_40, f40, f41, f42)
APSIS_BIND(44, APSIS_BIND_40, f40, f41, f42, f43)
APSIS_BIND(45, APSIS_BIND_40, f40, f41, f42, f43, f44)
APSIS_BIND(46, APSIS_BIND_40, f40, f41, f42, f43, f44, f45)
APSIS_BIND(47, APSIS_BIND_40, f40, f41, f42, f43, f44, f45, f46)
APSIS_BIND(48, APSIS_BIND_40, f40, f41, f42, f43, f44, f45, f46, f47)
APSIS_BIND(49, APSIS_BIND_48, f48)
APSIS_BIND(50, APSIS_BIND_48, f48, f49)
APSIS_BIND(51, APSIS_BIND_48, f48, f49, f50)
APSIS_BIND(52, APSIS_BIND_48, f48, f49, f50, f51)
APSIS_BIND(53, APSIS_BIND_48, f48, f49, f50, f51, f52)
APSIS_BIND(54, APSIS_BIND_48, f48, f49, f50, f51, f52, f53)
APSIS_BIND(55, APSIS_BIND_48, f48, f49, f50, f51, f52, f53, f54)
APSIS_BIND(56, APSIS_BIND_48, f48, f49, f50, f51, f52, f53, f54, f55)
APSIS_BIND(57, APSIS_BIND_56, f56)
APSIS_BIND(58, APSIS_BIND_56, f56, f57)
APSIS_BIND(59, APSIS_BIND_56, f56, f57, f58)
APSIS_BIND(60, APSIS_BIND_56, f56, f57, f58, f59)
APSIS_BIND(61, APSIS_BIND_56, f56, f57, f58, f59, f60)
APSIS_BIND(62, APSIS_BIND_56, f56, f57, f58, f59, f60, f61)
APSIS_BIND(63, APSIS_BIND_56, f56, f57, f58, f59, f60, f61, f62)
APSIS_BIND(64, APSIS_BIND_56, f56, f57, f58, f59, f60, f61, f62, f63)

#undef APSIS_BIND
#undef APSIS_BIND_8
#undef APSIS_BIND_16
#undef APSIS_BIND_24
#undef APSIS_BIND_32
#undef APSIS_BIND_40
#undef APSIS_BIND_48
#undef APSIS_BIND_56

}  // namespace apsis::detail
