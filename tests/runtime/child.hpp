#pragma once

// Tests that need a process of their own: the parent starts this executable again for one test, which is
// disabled otherwise, with an environment of its own.

#include <gtest/gtest.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "temporary_folder.hpp"

namespace apsis::testing {

class Child {
 public:
  /// Starts `Suite.DISABLED_Name`. `variables` are `NAME=value`; APSIS_DISK_CACHE and XDG_CACHE_HOME are
  /// unset otherwise.
  Child(const std::string& test, const std::vector<std::string>& variables) {
    std::vector<std::string> environment = variables,
                             arguments = {"/proc/self/exe", "--gtest_filter=" + test,
                                          "--gtest_also_run_disabled_tests", "--gtest_brief=1"};
    for (char** v = environ; *v; ++v) {
      const std::string variable = *v;
      if (!variable.starts_with("APSIS_DISK_CACHE") && !variable.starts_with("XDG_CACHE_HOME="))
        environment.push_back(variable);
    }
    auto pointers = [](std::vector<std::string>& strings) {
      std::vector<char*> out;
      for (std::string& s : strings) out.push_back(s.data());
      out.push_back(nullptr);
      return out;
    };
    EXPECT_EQ(posix_spawn(&id_, "/proc/self/exe", nullptr, nullptr, pointers(arguments).data(),
                          pointers(environment).data()),
              0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    int status = 0;
    EXPECT_EQ(waitpid(id_, &status, 0), id_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child failed";
  }

 private:
  pid_t id_ = -1;
};

}  // namespace apsis::testing
