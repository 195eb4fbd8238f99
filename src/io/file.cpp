#include "io/file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

#include "io/messages.hpp"
#include "io/text.hpp"

namespace apsis::detail {
namespace {

constexpr std::size_t shown_path = 300;  // bytes of a path in a message
// The names of files that are not whole yet begin and end so.
constexpr char part_prefix[] = ".apsis-", part_suffix[] = ".part";

[[noreturn]] void unreadable(const std::string& path, const std::string& why) {
  fail(messages::cannot_read, {shown(path, shown_path), why});
}
[[noreturn]] void unwritable(const std::string& path, const std::string& why) {
  fail(messages::cannot_write, {shown(path, shown_path), why});
}

/// Why no file can have this name; null if one can. What the system would cut off is not a name.
const char* fault_of(const std::string& path) {
  if (path.empty()) return "the path is empty";
  if (path.find('\0') != path.npos) return "the path holds a NUL byte";
  return nullptr;
}

/// While it lives, a pipe without a reader and the limit of a file's size are errors of `write`, not signals
/// that end the process.
class QuietSignals {
 public:
  QuietSignals() {
    sigset_t pending;
    sigemptyset(&quiet_);
    sigpending(&pending);
    for (int s : {SIGPIPE, SIGXFSZ})
      if (!sigismember(&pending, s)) sigaddset(&quiet_, s);
    pthread_sigmask(SIG_BLOCK, &quiet_, &before_);
  }
  ~QuietSignals() {
    const int error = errno;
    const timespec now{};
    while (sigtimedwait(&quiet_, nullptr, &now) > 0 || errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t quiet_, before_;
};

/// Whether the path names a descriptor that is open here: another process's view of the same file must not
/// be torn off it.
bool names_descriptor(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/");
}

void write_into(const std::string& path, std::string_view bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC));
  if (!file || !write_all(file.get(), bytes) || !file.close()) unwritable(path, std::strerror(errno));
}

/// A new file with a name that nobody else uses, removed with its owner unless it was given another name.
class NewFile {
 public:
  NewFile(const Descriptor& directory, mode_t mode) : directory_(directory), file_(-1) {
    constexpr int attempts = 100;
    for (int i = 0; i < attempts && !file_; ++i) {
      unsigned long long number = 0;
      if (getrandom(&number, sizeof number, 0) != sizeof number) return;
      std::snprintf(name_, sizeof name_, "%s%016llx%s", part_prefix, number, part_suffix);
      file_ = Descriptor(
          openat(directory.get(), name_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
      if (!file_ && errno != EEXIST) return;
    }
    // The lock goes with the process: a file that nobody holds is nobody's.
    if (file_) flock(file_.get(), LOCK_EX | LOCK_NB);
    there_ = static_cast<bool>(file_);
  }
  ~NewFile() {
    if (there_) unlinkat(directory_.get(), name_, 0);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  explicit operator bool() const { return static_cast<bool>(file_); }
  int get() const { return file_.get(); }
  /// Closes the file and gives it the name `to`. False, with errno, on failure.
  bool become(const std::string& to) {
    if (!file_.close() || renameat(directory_.get(), name_, directory_.get(), to.c_str()) != 0) return false;
    there_ = false;
    return true;
  }

 private:
  const Descriptor& directory_;
  char name_[40];
  Descriptor file_;
  bool there_ = false;
};

/// The file that a link leads to, which must be the one seen behind it.
std::string end_of_link(const std::string& path, const struct stat& seen) {
  const std::unique_ptr<char, void (*)(void*)> end(realpath(path.c_str(), nullptr), std::free);
  struct stat there;
  if (!end || stat(end.get(), &there) != 0) unwritable(path, std::strerror(errno));
  if (there.st_dev != seen.st_dev || there.st_ino != seen.st_ino)
    unwritable(path, "the link changed meanwhile");
  return end.get();
}

/// Writes a file whole under the path of no link. `before`: what it replaces, or null.
void replace(const std::string& path, const std::string& target, const struct stat* before,
             std::string_view bytes) {
  const std::size_t slash = target.rfind('/');
  const std::string name = slash == target.npos ? target : target.substr(slash + 1);
  const std::string folder = slash == target.npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
  if (name.empty()) unwritable(path, std::strerror(EISDIR));
  const Descriptor directory(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) unwritable(path, std::strerror(errno));
  NewFile file(directory, before ? 0600 : 0666);
  if (!file)
    unwritable(path, "no file can be made in " + shown(folder, shown_path) + ": " + std::strerror(errno));
  if (before) {
    // Only the superuser can give files away; others own what they write.
    if (fchown(file.get(), before->st_uid, before->st_gid) != 0 &&
        fchown(file.get(), static_cast<uid_t>(-1), before->st_gid) != 0 && errno != EPERM)
      unwritable(path, std::strerror(errno));
    if (fchmod(file.get(), before->st_mode & 07777) != 0) unwritable(path, std::strerror(errno));
  }
  // Some file systems have nothing to synchronise and say EINVAL.
  if (!write_all(file.get(), bytes) || (fsync(file.get()) != 0 && errno != EINVAL) || !file.become(name))
    unwritable(path, std::strerror(errno));
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

bool Descriptor::close() {
  const int number = number_;
  number_ = -1;
  return number < 0 || ::close(number) == 0 || errno == EINTR;
}

bool read_all(int descriptor, std::string& bytes) {
  constexpr std::size_t piece = 1 << 16;
  std::size_t size = bytes.size();
  for (;;) {
    if (size == bytes.size()) bytes.resize(size + std::max(piece, size / 2));
    const ssize_t n = read(descriptor, bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      bytes.resize(size);
      return n == 0;
    }
    size += static_cast<std::size_t>(n);
  }
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = ENOSPC;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string read_file(const std::string& path) {
  if (const char* fault = fault_of(path)) unreadable(path, fault);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0) unreadable(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) unreadable(path, std::strerror(EISDIR));
  // Devices as /dev/zero have no end.
  if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && !isatty(file.get())))
    unreadable(path, "it is a device");
  // A file with holes can claim any size.
  const long long memory = static_cast<long long>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (S_ISREG(status.st_mode) && status.st_size > memory)
    unreadable(path, "it has " + std::to_string(status.st_size) + " bytes, more than this machine's memory");
  std::string bytes;
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = read(file.get(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) unreadable(path, std::strerror(errno));
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }
  if (!read_all(file.get(), bytes)) unreadable(path, std::strerror(errno));
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  if (const char* fault = fault_of(path)) unwritable(path, fault);
  const QuietSignals quiet;
  const Descriptor there(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status, link;
  if (!there) {
    if (errno != ENOENT) unwritable(path, std::strerror(errno));
    if (lstat(path.c_str(), &link) == 0) unwritable(path, "it is a link to what does not exist");
    return replace(path, path, nullptr, bytes);
  }
  if (fstat(there.get(), &status) != 0) unwritable(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) unwritable(path, std::strerror(EISDIR));
  if (!S_ISREG(status.st_mode) || names_descriptor(path)) return write_into(path, bytes);
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) unwritable(path, std::strerror(errno));
  const bool is_link = lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  replace(path, is_link ? end_of_link(path, status) : path, &status, bytes);
}

void append_file(const std::string& path, std::string_view bytes) {
  if (const char* fault = fault_of(path)) unwritable(path, fault);
  const QuietSignals quiet;
  Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666));
  if (!file || !write_all(file.get(), bytes) || !file.close()) unwritable(path, std::strerror(errno));
}

bool file_exists(const std::string& path) {
  struct stat status;
  return fault_of(path) == nullptr && stat(path.c_str(), &status) == 0;
}

void make_folder(const std::string& path) {
  if (const char* fault = fault_of(path)) unwritable(path, fault);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  // (An error where the path ends in a slash and the folder is there.)
  if (error && !std::filesystem::is_directory(path)) unwritable(path, error.message());
}

std::vector<std::string> names_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) unreadable(folder, error.message());
  return names;
}

void sync_folder(const std::string& folder) {
  const Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || (fsync(directory.get()) != 0 && errno != EINVAL))
    unwritable(folder, std::strerror(errno));
}

void remove_file(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) unwritable(path, std::strerror(errno));
}

void remove_abandoned(const std::string& folder) {
  constexpr std::time_t young = 10;  // seconds: its writer may not have locked it yet
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with(part_prefix) || !name.ends_with(part_suffix)) continue;
    const std::string path = folder + "/" + name;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status;
    if (!file || fstat(file.get(), &status) != 0 || std::time(nullptr) - status.st_mtime < young) continue;
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) remove_file(path);
  }
}

}  // namespace apsis::detail
