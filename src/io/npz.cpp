// NumPy's .npz: a zip archive of .npy files.

#include <map>
#include <set>

#include "apsis/core/op.hpp"
#include "apsis/io/save.hpp"
#include "io/file.hpp"
#include "io/messages.hpp"
#include "io/npy.hpp"
#include "io/text.hpp"
#include "io/zip.hpp"

namespace apsis::detail {
namespace {

std::string entry_name(const std::string& path, std::size_t i) {
  return (path.empty() ? "leaf" + std::to_string(i) : path.starts_with(".") ? path.substr(1) : path) + ".npy";
}

/// A leaf as the user spells it, `tree.layers[0].weight`, for messages.
std::string leaf_text(const std::string& path) {
  const bool joined = path.empty() || path.starts_with(".") || path.starts_with("[");
  return shown("tree" + (joined ? path : "." + path), 200);
}

/// What a file holds, for messages.
std::string contents(const std::map<std::string, std::string_view>& entries) {
  constexpr std::size_t most = 8;
  std::string out;
  std::size_t n = 0;
  for (const auto& [name, bytes] : entries) {
    if (n++ == most) return out + ", … (" + std::to_string(entries.size()) + " in all)";
    out += (out.empty() ? "" : ", ") + shown(name);
  }
  return out.empty() ? "nothing" : out;
}

}  // namespace

void save_leaves(const std::string& path, const std::vector<std::string>& names,
                 std::span<const Array> leaves, Loc loc) {
  const LocScope place(loc);
  const std::string file = shown(path, 300);
  ZipWriter zip;
  std::set<std::string> used;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].is_empty()) continue;
    const std::string name = entry_name(names[i], i);
    // What could not be found again, by NumPy or here, is not written.
    if (name.size() > 0xffff || name.find('\0') != name.npos)
      fail(messages::save_name, {file, leaf_text(names[i]), std::to_string(name.size())});
    if (!used.insert(name).second) fail(messages::save_twice, {file, leaf_text(names[i])});
    if (!zip.add(name, npy_bytes(leaves[i]))) fail(messages::file_too_large, {file});
  }
  write_file(path, zip.finish());
}

std::vector<Array> load_leaves(const std::string& path, const std::vector<std::string>& names,
                               std::span<const Array> like, Loc loc) {
  const LocScope place(loc);
  const std::string bytes = read_file(path), file = shown(path, 300);
  const auto entries = zip_entries(bytes, file);
  std::vector<Array> leaves(like.size());
  std::set<std::string> used;
  for (std::size_t i = 0; i < like.size(); ++i) {
    if (like[i].is_empty()) continue;
    const std::string name = entry_name(names[i], i);
    const auto found = entries.find(name);
    if (found == entries.end())
      fail(messages::record_missing,
           {file, shown(name, 200), leaf_text(names[i]), to_string(like[i].aval()), contents(entries)});
    const NpyHeader header = npy_header(found->second, file + ":" + shown(name, 200));
    if (header.dtype != like[i].dtype() || header.shape != like[i].shape())
      fail(messages::record_mismatch, {file, shown(name, 200), to_string(Aval(header.dtype, header.shape)),
                                       leaf_text(names[i]), to_string(like[i].aval())});
    leaves[i] = npy_array(found->second, header);
    used.insert(name);
  }
  for (const auto& [name, unused] : entries)
    if (!used.contains(name)) fail(messages::record_unknown, {file, shown(name, 200)});
  return leaves;
}

}  // namespace apsis::detail
