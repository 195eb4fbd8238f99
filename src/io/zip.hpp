#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace apsis::detail {

/// A zip archive of stored (not compressed) files: PKWARE's APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.16.
class ZipWriter {
 public:
  /// False if the archive would be more than the format allows.
  bool add(const std::string& name, std::string_view bytes);
  /// The whole archive; the same for the same content.
  std::string finish();

 private:
  std::string file_, central_;
  std::size_t count_ = 0;
};

/// Name → stored bytes. Throws if the archive is damaged or of a kind that is not read; `path` is for
/// messages.
std::map<std::string, std::string_view> zip_entries(std::string_view file, const std::string& path);

}  // namespace apsis::detail
