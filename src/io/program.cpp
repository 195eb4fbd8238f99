#include "io/program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "io/file.hpp"

namespace apsis::detail {
namespace {

[[noreturn]] void refuse(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// A file in memory, without a name. Its number is none of the three that the program is given.
Descriptor nameless_file() {
  const Descriptor made(memfd_create("apsis", MFD_CLOEXEC));
  if (!made) refuse(errno, "memfd_create");
  Descriptor above(fcntl(made.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!above) refuse(errno, "fcntl");
  return above;
}

std::string content(const Descriptor& file) {
  std::string bytes;
  if (lseek(file.get(), 0, SEEK_SET) != 0 || !read_all(file.get(), bytes)) refuse(errno, "read");
  return bytes;
}

/// What posix_spawn is told: the three descriptors, and signals as in a process newly made.
class Setup {
 public:
  Setup(const Descriptor& in, const Descriptor& out, const Descriptor& err) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.get(), STDERR_FILENO);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Setup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/bin:/bin";
  for (;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    // An empty entry means the working directory: whoever may write there would choose the program.
    if (folder.starts_with('/')) {
      const std::string file = std::string(folder) + '/' + name;
      struct stat status;
      if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(file.c_str(), X_OK) == 0)
        return file;
    }
    if (colon == rest.npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

Ran run_program(const std::string& file, const std::vector<std::string>& arguments, std::string_view input) {
  const Descriptor in = nameless_file(), out = nameless_file(), err = nameless_file();
  if (!write_all(in.get(), input) || lseek(in.get(), 0, SEEK_SET) != 0) refuse(errno, "write");
  std::vector<char*> words{const_cast<char*>(file.c_str())};
  for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
  words.push_back(nullptr);
  pid_t child = -1;
  {
    const Setup setup(in, out, err);
    if (int error =
            posix_spawn(&child, file.c_str(), &setup.actions, &setup.attributes, words.data(), environ))
      refuse(error, "posix_spawn");
  }
  int status = 0;
  pid_t ended;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  Ran ran{content(out), content(err), 0};
  // Where SIGCHLD is ignored the status is lost, and what was written has to tell.
  if (ended == child) ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

}  // namespace apsis::detail
