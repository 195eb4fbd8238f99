// A plugin is closed, and what it left in caches is used, compared and destroyed afterwards.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "apsis/apsis.hpp"
#include "runtime/child.hpp"
#include "unload/plugin/plugin.hpp"

namespace apsis {
namespace {

/// A copy of the plugin, which is a library of its own.
class Plugin {
 public:
  Plugin() : path_(folder_.path() + "/plugin.so") {
    std::filesystem::copy_file(APSIS_PLUGIN, path_);
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(handle_) << dlerror();
  }
  ~Plugin() {
    if (handle_) close();
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  template <class... A>
  void call(const char* name, A&... args) {
    auto* function = reinterpret_cast<void (*)(A & ...)>(dlsym(handle_, name));
    ASSERT_TRUE(function) << name;
    function(args...);
  }
  void close() {
    EXPECT_EQ(dlclose(handle_), 0);
    handle_ = nullptr;
  }
  bool is_there() const {
    void* handle = dlopen(path_.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle) dlclose(handle);
    return handle;
  }

 private:
  testing::Folder folder_;
  std::string path_;
  void* handle_ = nullptr;
};

Array squared(const Array& x) { return x * x; }

/// Calls `name` in a plugin, closes it, and uses the caches.
void use_after(const char* name) {
  Plugin plugin;
  plugin.call(name);
  plugin.close();
  EXPECT_EQ(jit(squared)(3.).item<double>(), 9.);
  clear_caches();
  EXPECT_EQ(jit(squared)(4.).item<double>(), 16.);
}

// Otherwise the others show nothing.
TEST(Unload, OneThatTracedNothingGoes) {
  Plugin plugin;
  plugin.call("plain");
  EXPECT_TRUE(plugin.is_there());
  plugin.close();
  EXPECT_FALSE(plugin.is_there());
}

TEST(Unload, Callbacks) { use_after("callback"); }
TEST(Unload, CustomRules) { use_after("rules"); }
TEST(Unload, Loops) { use_after("loops"); }
TEST(Unload, ResultsOfItsTypes) { use_after("results_of_its_types"); }
TEST(Unload, OwnOps) { use_after("own_op_in_program"); }

TEST(Unload, CallsOfTheProgramsFunction) {
  const plugin::Function f = jit(&squared);
  Plugin plugin;
  plugin.call("call_jitted", f);
  plugin.close();
  EXPECT_EQ(f(3.).item<double>(), 9.);
  EXPECT_FALSE(f.explain().empty());
  f.clear_cache();
  EXPECT_EQ(f(3.).item<double>(), 9.);
}

// (Its arguments are of the plugin's types, so it is called there; a program is a program anywhere.)
TEST(Unload, ClosuresStay) {
  plugin::Line line;
  Plugin plugin;
  plugin.call("make_closure", line);
  plugin.close();
  const plugin::Line copy = line;
  EXPECT_TRUE(copy.same_program(line));
  EXPECT_EQ(copy.captures[0].item<double>(), 3.);
  EXPECT_NE(copy.text().find("mul"), std::string::npos);
}

// Caches that are destroyed with the process.
TEST(Unload, DISABLED_AndEnds) {
  Plugin plugin;
  for (const char* name : {"callback", "rules", "loops", "results_of_its_types"}) plugin.call(name);
  plugin.close();
}
TEST(Unload, AndEnds) { testing::Child("Unload.DISABLED_AndEnds", {}); }

}  // namespace
}  // namespace apsis
