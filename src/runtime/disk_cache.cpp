#include "runtime/disk_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "runtime/program_file.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t usual_max_bytes = std::int64_t{256} << 20;
constexpr std::string_view suffix = ".program", temporary_suffix = ".part";

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Makes a directory and those above it. What is there already stays as it is.
void make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    mkdir(path.substr(0, end).c_str(), 0700);
    if (end == path.npos) return;
  }
}

bool write_all(int file, const std::vector<std::byte>& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(file, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// One directory, in use. Its methods may run on any number of threads at once.
class Directory {
 public:
  Directory(std::string path, std::int64_t max_bytes, int descriptor)
      : path_(std::move(path)), max_bytes_(max_bytes), directory_(descriptor) {}

  const std::string& path() const { return path_; }
  std::int64_t max_bytes() const { return max_bytes_; }

  std::optional<ProgramImage> find(const std::string& key) const {
    const File file(
        openat(directory_.get(), name_of(key).c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    struct stat status;
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_size > max_bytes_)
      return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    if (read(file.get(), bytes.data(), bytes.size()) != status.st_size) return {};
    std::optional<ProgramImage> image = decode_program(bytes, key);
    if (image) futimens(file.get(), nullptr);  // used now
    return image;
  }

  void keep(const std::string& key, const ProgramImage& image) {
    const std::vector<std::byte> bytes = encode_program(key, image);
    const auto size = static_cast<std::int64_t>(bytes.size());
    if (size > max_bytes_) return;
    const std::string name = name_of(key), part = name + '.' + unique() + std::string(temporary_suffix);
    {
      const File file(
          openat(directory_.get(), part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!file) return;
      if (!write_all(file.get(), bytes) ||
          renameat(directory_.get(), part.c_str(), directory_.get(), name.c_str()) != 0) {
        unlinkat(directory_.get(), part.c_str(), 0);
        return;
      }
    }
    std::scoped_lock lock(mutex_);
    // What other processes add is seen when the directory is read, now and then.
    constexpr int reads_every = 64;
    known_bytes_ += size;
    if (keeps_++ % reads_every == 0 || known_bytes_ > max_bytes_) trim();
  }

  void clear() const {
    for (const Entry& e : entries()) unlinkat(directory_.get(), e.name.c_str(), 0);
  }

 private:
  struct Entry {
    std::string name;
    timespec used;
    std::int64_t bytes;
    bool temporary;
  };

  static std::string name_of(const std::string& key) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(hash_file(std::as_bytes(std::span(key)))));
    return digits + std::string(suffix);
  }
  /// Names that no other thread or process uses for its unfinished files.
  static std::string unique() {
    static std::atomic<std::uint64_t> number{0};
    return std::to_string(getpid()) + '-' +
           std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + '-' +
           std::to_string(number++);
  }

  /// Our files in the directory.
  std::vector<Entry> entries() const {
    std::vector<Entry> found;
    const int again = openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = again >= 0 ? fdopendir(again) : nullptr;
    if (!stream) {
      if (again >= 0) close(again);
      return found;
    }
    while (const dirent* e = readdir(stream)) {
      const std::string_view name = e->d_name;
      const bool temporary = name.ends_with(temporary_suffix);
      struct stat status;
      if ((temporary || name.ends_with(suffix)) &&
          fstatat(directory_.get(), e->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
        found.push_back({e->d_name, status.st_mtim, status.st_size, temporary});
    }
    closedir(stream);
    return found;
  }

  /// Removes the least recently used programs above the limit, and what processes that died left unfinished.
  void trim() {
    constexpr std::time_t abandoned_after = 3600;  // seconds
    std::vector<Entry> all = entries();
    std::ranges::sort(all, [](const Entry& a, const Entry& b) {
      return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    known_bytes_ = 0;
    for (const Entry& e : all) known_bytes_ += e.bytes;
    const std::time_t now = std::time(nullptr);
    for (const Entry& e : all) {
      if (e.temporary ? now - e.used.tv_sec < abandoned_after : known_bytes_ <= max_bytes_) continue;
      unlinkat(directory_.get(), e.name.c_str(), 0);
      known_bytes_ -= e.bytes;
    }
  }

  const std::string path_;
  const std::int64_t max_bytes_;
  const File directory_;
  std::mutex mutex_;
  std::int64_t known_bytes_ = 0;
  int keeps_ = 0;
};

struct State {
  std::mutex mutex;
  std::shared_ptr<Directory> directory;  // null: off
  std::string why_off;
  std::atomic<bool> on{false};

  State() {
    // A program that runs with more rights than its caller does not let the caller choose its machine code.
    const char* wish = getauxval(AT_SECURE) ? nullptr : std::getenv("APSIS_DISK_CACHE");
    const std::string_view value = wish ? wish : "off";
    if (value.empty() || value == "off" || value == "0") return;
    std::int64_t max_bytes = usual_max_bytes;
    if (const char* limit = std::getenv("APSIS_DISK_CACHE_BYTES")) {
      const char* end = limit + std::strlen(limit);
      const auto [next, status] = std::from_chars(limit, end, max_bytes);
      if (status != std::errc{} || next != end) {
        why_off = "APSIS_DISK_CACHE_BYTES is '" + std::string(limit) + "', which is no number of bytes";
        return;
      }
    }
    const bool usual_place = value == "on" || value == "1";
    use(usual_place ? std::string() : std::string(value), max_bytes);
  }

  void use(std::string path, std::int64_t max_bytes) {
    directory = nullptr;
    why_off.clear();
    if (path.empty()) path = usual_place();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (max_bytes <= 0) {
      why_off = "a limit of " + std::to_string(max_bytes) + " bytes leaves no room for programs";
    } else if (path.empty() || path[0] != '/') {
      why_off =
          path.empty() ? "neither XDG_CACHE_HOME nor HOME is set" : "'" + path + "' is no absolute path";
    } else {
      make_directories(path);
      const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      why_off = descriptor < 0 ? path + ": " + std::strerror(errno) : refusal(path, descriptor);
      if (why_off.empty())
        directory = std::make_shared<Directory>(path, max_bytes, descriptor);
      else if (descriptor >= 0)
        close(descriptor);
    }
    on = directory != nullptr;
  }

  static std::string usual_place() {
    auto absolute = [](const char* variable) -> std::string {
      const char* value = getauxval(AT_SECURE) ? nullptr : std::getenv(variable);
      return value && value[0] == '/' ? value : "";
    };
    if (std::string cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return cache + "/apsis";
    if (std::string home = absolute("HOME"); !home.empty()) return home + "/.cache/apsis";
    return {};
  }

  static std::string refusal(const std::string& path, int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return path + ": " + std::strerror(errno);
    if (status.st_uid != geteuid()) return path + " belongs to another user";
    if (status.st_mode & 077) return path + " is open to other users: chmod 700";
    return {};
  }
};

State& state() {
  static auto* s = new State;  // programs may be compiled while static objects are destroyed
  return *s;
}

std::shared_ptr<Directory> directory() {
  State& s = state();
  std::scoped_lock lock(s.mutex);
  return s.directory;
}

}  // namespace

void set_disk_cache(const std::string& path, std::int64_t max_bytes) {
  State& s = state();
  std::scoped_lock lock(s.mutex);
  s.use(path, max_bytes);
}

void set_disk_cache_off() {
  State& s = state();
  std::scoped_lock lock(s.mutex);
  s.directory = nullptr;
  s.why_off.clear();
  s.on = false;
}

bool disk_cache_on() { return state().on.load(std::memory_order_relaxed); }

DiskCacheInfo disk_cache_info() {
  State& s = state();
  std::scoped_lock lock(s.mutex);
  if (!s.directory) return {{}, s.why_off, 0};
  return {s.directory->path(), {}, s.directory->max_bytes()};
}

void clear_disk_cache() {
  if (auto d = directory()) d->clear();
}

std::optional<ProgramImage> find_on_disk(const std::string& key) {
  auto d = directory();
  return d ? d->find(key) : std::nullopt;
}

void keep_on_disk(const std::string& key, const ProgramImage& image) noexcept {
  try {
    if (auto d = directory()) d->keep(key, image);
  } catch (const std::exception&) {
    // Out of memory, or a kernel without a text: the program runs all the same.
  }
}

}  // namespace apsis::detail
