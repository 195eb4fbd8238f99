// expect: while_loop calls its body as body(state)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  struct State {
    Array a, b;
  };
  auto end =
      while_loop([](const State& s) { return s.a < 1.; }, [](const Array& a) { return a; }, State{x, x});
  (void)end;
}
