#pragma once

#include <string>
#include <string_view>

namespace apsis::detail {

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    const int number = number_;
    number_ = other.number_;
    other.number_ = number;
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  /// Closes it now. False, with errno, if what was written is not kept.
  bool close();

 private:
  int number_;
};

/// All bytes of a file, or of what comes through a pipe until its other end is closed. Throws if it cannot be
/// read.
std::string read_file(const std::string& path);
/// Reads what is left behind a descriptor. False, with errno, on failure.
bool read_all(int descriptor, std::string& bytes);
/// False, with errno, on failure.
bool write_all(int descriptor, std::string_view bytes);

/// Puts bytes where `path` says. A file appears whole or not at all, whoever else writes or reads it, and
/// nothing is left behind where that fails: the bytes are written to a new file beside it, which then takes
/// its name. A file that was there passes on its permissions, and must be one that may be written. A link
/// stays, and what it points to is replaced; one that points to nothing is refused. What is no file (a
/// device, a pipe, `/dev/stdout`) is written into. Throws if it cannot be written.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace apsis::detail
