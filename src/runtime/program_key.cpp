#include "runtime/program_key.hpp"

#include <cpuid.h>

#include <cstdint>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include "codegen/builder/load.hpp"
#include "ir/regions.hpp"
#include "ops/table.hpp"
#include "runtime/build_id.hpp"

namespace apsis::detail {
namespace {

/// The words of cpuid that LLVM derives the processor's name and features from, so that both need not be
/// asked of it. They decide the width of lanes, too. Word b of leaf 1 holds the number of the core and is
/// left out.
std::string processor() {
#ifdef APSIS_VALGRIND
  return " any";  // see codegen/llvm/target.cpp
#endif
  struct Leaf {
    unsigned leaf, subleaf;
    bool a, b, c, d;
  };
  constexpr Leaf leaves[] = {
      {0, 0, true, true, true, true},             // vendor
      {1, 0, true, false, true, true},            // family, model, stepping; features
      {7, 0, false, true, true, true},            // features
      {7, 1, true, true, true, true},             //
      {0xd, 1, true, false, false, false},        // xsaveopt, xsavec, xsaves
      {0x14, 0, false, true, false, false},       // ptwrite
      {0x19, 0, false, true, false, false},       // key locker
      {0x1e, 1, true, false, false, false},       // tile registers
      {0x24, 0, false, true, false, false},       // AVX10
      {0x80000001, 0, false, false, true, true},  // features
      {0x80000008, 0, false, true, false, false},
      {0x80000021, 0, true, false, false, false},
  };
  std::string text;
  char word[16];
  for (const Leaf& l : leaves) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(l.leaf, l.subleaf, &a, &b, &c, &d);  // zeros where the processor has no such leaf
    for (auto [wanted, value] :
         {std::pair{l.a, a}, std::pair{l.b, b}, std::pair{l.c, c}, std::pair{l.d, d}}) {
      if (!wanted) continue;
      text.append(word, static_cast<std::size_t>(std::snprintf(word, sizeof word, " %x", value)));
    }
  }
  // The registers that the system saves: without them, features are there in name only.
  unsigned low = 0, high = 0, a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE)) __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  text.append(word, static_cast<std::size_t>(std::snprintf(word, sizeof word, " %x", low)));
  return text;
}

/// What all keys of this process begin with; empty if the build is not known.
const std::string& surroundings() {
  static const std::string text = [] {
    const std::string library = library_build_id(), module = file_build_id(code_generator_path());
    if (library.empty() || module.empty()) return std::string();
    return "library " + library + " " + module + "\nllvm " APSIS_LLVM_VERSION "\nprocessor" + processor() +
           "\ncalls " + std::to_string(abi_version) + '\n';
  }();
  return text;
}

bool is_built_in(const Op* op) {
  static const auto* ops = new std::unordered_set<const Op*>(op_table().begin(), op_table().end());
  return ops->contains(op);
}

/// Whether the text of a graph says all about it, in any process. Ops from outside the library must be
/// registered, and have versions, which are written to `versions`.
bool has_lasting_text(const Graph& graph, std::string& versions) {
  for (const Eqn& e : graph.eqns()) {
    if (!is_built_in(e.op) && (e.op->version == 0 || find_op(e.op->name) != e.op)) return false;
    if (e.params && !e.op->parse) return false;
    if (e.op->version != 0) {
      const std::string line = std::string("op ") + e.op->name + ' ' + std::to_string(e.op->version) + '\n';
      if (versions.find(line) == versions.npos) versions += line;
    }
    for (const Graph* region : regions_of(e.params))
      if (!has_lasting_text(*region, versions)) return false;
  }
  return true;
}

}  // namespace

std::string program_key(const Graph& graph, const CodegenOptions& options) {
  std::string versions;
  if (surroundings().empty() || !has_lasting_text(graph, versions)) return {};
  std::string key = surroundings() + versions;
  key += "options lanes=" + std::to_string(options.lanes) + " level=" + std::to_string(options.level) +
         " isa=" + std::to_string(static_cast<int>(options.isa)) +
         " parallel=" + std::to_string(options.parallel) + '\n';
  key += to_string(graph);
  return key;
}

}  // namespace apsis::detail
