// Bounds of products/*: OpenBLAS called directly. It takes kernels by the processor's name, and slow ones
// where it does not know the name; so each product runs with all kernels that run here, and the bound is the
// fastest.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "report.hpp"

namespace {

struct Figure {
  double seconds = 0, trace = 0, squares = 0;  // of the diagonal
};

struct Case {
  const char* name;
  int n;
  bool single;
};
constexpr Case cases[] = {{"products/f32-16", 16, true},
                          {"products/f32-64", 64, true},
                          {"products/f32-256", 256, true},
                          {"products/f32-1024", 1024, true},
                          {"products/f64-1024", 1024, false}};

/// cblas_sgemm and cblas_dgemm. An enumeration is passed as an int.
template <class T>
using Gemm = void (*)(int order, int turn_a, int turn_b, int m, int n, int k, T alpha, const T* a, int lda,
                      const T* b, int ldb, T beta, T* c, int ldc);

template <class T>
Figure measure(Gemm<T> gemm, int n) {
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<T> a(size), b(size), c(size);
  for (std::size_t i = 0; i < size; ++i) {
    a[i] = static_cast<T>(std::sin(static_cast<double>(i) * 0.37));
    b[i] = static_cast<T>(std::sin(static_cast<double>(i) * 0.73));
  }
  constexpr int row_major = 101, as_it_is = 111;
  const auto product = [&] {
    gemm(row_major, as_it_is, as_it_is, n, n, n, T(1), a.data(), n, b.data(), n, T(0), c.data(), n);
  };
  const double flops = 2. * n * n * n;
  const int count = 1 + static_cast<int>(2e8 / flops);
  Figure figure;
  figure.seconds = limits::median_seconds(7,
                                          [&] {
                                            for (int i = 0; i < count; ++i) product();
                                          }) /
                   count;
  for (int i = 0; i < n; ++i) {
    const double v = c[static_cast<std::size_t>(i) * static_cast<std::size_t>(n + 1)];
    figure.trace += v, figure.squares += v * v;
  }
  return figure;
}

/// In a process of its own, since the library chooses when it is loaded: writes the figures of all cases to
/// `out`.
int run_with(const char* kernels, int out) {
  if (*kernels) setenv("OPENBLAS_CORETYPE", kernels, 1);
  void* const library = dlopen(APSIS_OPENBLAS, RTLD_NOW);
  if (!library) return 1;
  if (auto threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))) threads(1);
  const auto single = reinterpret_cast<Gemm<float>>(dlsym(library, "cblas_sgemm"));
  const auto twice = reinterpret_cast<Gemm<double>>(dlsym(library, "cblas_dgemm"));
  if (!single || !twice) return 1;
  for (const Case& c : cases) {
    const Figure figure = c.single ? measure(single, c.n) : measure(twice, c.n);
    if (write(out, &figure, sizeof figure) != sizeof figure) return 1;
  }
  return 0;
}

}  // namespace

int main() {
  std::map<std::string, Figure> best;
  for (const char* kernels : {"", "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"}) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    const pid_t child = fork();
    if (child == 0) _exit(run_with(kernels, ends[1]));
    close(ends[1]);
    for (const Case& c : cases) {
      Figure figure;
      if (read(ends[0], &figure, sizeof figure) != sizeof figure) break;  // kernels that do not run here
      if (!best.contains(c.name) || figure.seconds < best[c.name].seconds) best[c.name] = figure;
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
  }
  for (const auto& [name, figure] : best)
    limits::report(name, "ns", figure.seconds * 1e9, {figure.trace, figure.squares});
}
