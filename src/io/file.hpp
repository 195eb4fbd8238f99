#pragma once

#include <string>
#include <string_view>
#include <vector>

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

/// Adds bytes to the end of a file, which is made if need be. Throws if it cannot be written.
void append_file(const std::string& path, std::string_view bytes);
/// Whether there is a file of this name.
bool file_exists(const std::string& path);

// Folders. All throw where it cannot be done.

/// Makes a folder and those above it, if they are not there.
void make_folder(const std::string& path);
/// The names of what is in a folder; none where there is no folder.
std::vector<std::string> names_in(const std::string& folder);
/// What was renamed in a folder is so on the disk, too.
void sync_folder(const std::string& folder);
/// Removes a file; nothing if there is none.
void remove_file(const std::string& path);
/// Removes what `write_file` left in a folder when its process was killed.
void remove_abandoned(const std::string& folder);

}  // namespace apsis::detail
