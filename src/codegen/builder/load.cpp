#include "codegen/builder/load.hpp"

#include <dlfcn.h>

#include <mutex>
#include <unordered_map>

#include "apsis/base/keep_library.hpp"
#include "base/exit.hpp"
#include "codegen/builder/loader.hpp"
#include "codegen/builder/messages.hpp"

namespace apsis::detail {
namespace {

struct AddedSymbols {
  std::mutex mutex;
  std::unordered_map<std::string, void*> addresses;
};
AddedSymbols& added_symbols() {
  static AddedSymbols* const symbols = new AddedSymbols;  // used until the last thread ends
  return *symbols;
}

}  // namespace

std::string code_generator_path() {
  Dl_info here{};
  std::string path;
  if (dladdr(reinterpret_cast<void*>(&load_code_generator), &here) && here.dli_fname) path = here.dli_fname;
  const auto slash = path.rfind('/');
  return (slash == std::string::npos ? std::string() : path.substr(0, slash + 1)) + "libapsis_llvm.so";
}

MakeBuilder load_code_generator(const std::string& path) {
  // Never unloaded: code generation keeps per-process state.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* make = module ? dlsym(module, "apsis_make_builder") : nullptr;
  if (!make) {
    const char* reason = dlerror();
    fail(messages::no_code_generator, {path, reason ? reason : "it is another library"});
  }
  end_leases_at_exit();
  return reinterpret_cast<MakeBuilder>(make);
}

std::unique_ptr<Builder> make_builder(const BuilderOptions& options) {
  static const MakeBuilder make =
      load_code_generator(code_generator_path());  // tried again next time if it throws
  return std::unique_ptr<Builder>(make(options));
}

std::unique_ptr<Code> Builder::finish(const CodeOptions& options) { return load_object(object(options)); }

void* find_symbol(const char* name) {
  AddedSymbols& added = added_symbols();
  {
    std::scoped_lock lock(added.mutex);
    if (auto it = added.addresses.find(name); it != added.addresses.end()) return it->second;
  }
  return dlsym(RTLD_DEFAULT, name);
}

void add_symbol(const char* name, void* address) {
  keep_library(address);
  AddedSymbols& added = added_symbols();
  std::scoped_lock lock(added.mutex);
  added.addresses[name] = address;
}

}  // namespace apsis::detail
