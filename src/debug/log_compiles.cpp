#include "apsis/debug/log_compiles.hpp"

#include <cstdio>

#include "apsis/core/watch.hpp"

namespace apsis::debug {
namespace {

void write(const apsis::detail::CompileEvent& e) {
  std::fprintf(stderr, "[log_compiles] %s: %lld equations, %zu bytes of code, %.1f ms\n", e.signature.c_str(),
               static_cast<long long>(e.equations), e.code_bytes, e.seconds * 1e3);
}

}  // namespace

LogCompiles::LogCompiles() : previous_(reinterpret_cast<void*>(apsis::detail::on_compile(write))) {}
LogCompiles::~LogCompiles() {
  apsis::detail::on_compile(reinterpret_cast<apsis::detail::CompileListener>(previous_));
}

}  // namespace apsis::debug
