// A file is a header, the key, the object, what is told of its functions, and the kernels that the object
// calls: each a program of one equation in the text form, so that ops are found by name and parameters read
// back as anywhere else.

#include "runtime/program_file.hpp"

#include <charconv>
#include <cstring>

#include "base/hash.hpp"

namespace apsis::detail {
namespace {

struct Header {
  char magic[8];
  std::uint64_t checksum;  // of all that follows this field
  std::uint64_t key_bytes, object_bytes, kernel_bytes, function_bytes;
  std::int64_t scratch_bytes, equations, loops;
};
constexpr char magic[8] = {'a', 'p', 's', 'i', 's', 'p', '0', '3'};
constexpr std::size_t checked_from = offsetof(Header, key_bytes);

/// Which arrays are packed, and the program that it evaluates.
std::string kernel_text(const Kernel& kernel) {
  GraphBuilder builder;
  std::vector<ValueId> operands, results(kernel.out.size());
  for (const Aval& a : kernel.in) operands.push_back(builder.input(a));
  builder.append(*kernel.op, kernel.params, operands, results);
  return std::to_string(kernel.packed) + '\n' + to_string(*builder.finish(results));
}

Kernel kernel_of_text(std::string_view text) {
  const std::size_t line = text.find('\n');
  std::uint32_t packed = 0;
  std::from_chars(text.data(), text.data() + line, packed);
  GraphRef graph = parse_graph(text.substr(line + 1));
  if (graph->eqns().size() != 1) throw InternalError("a kernel is one equation");
  const Eqn& e = graph->eqns()[0];
  Kernel kernel{e.op, e.params, {}, {}};
  for (ValueId v : graph->operands(e)) kernel.in.push_back(graph->aval(v));
  for (std::uint32_t r = 0; r < e.result_count; ++r) kernel.out.push_back(graph->aval(e.first_result + r));
  kernel.packed = packed;
  return kernel;
}

}  // namespace

std::uint64_t hash_file(std::span<const std::byte> bytes) {
  // Hashes side by side, which the processor mixes at once.
  constexpr std::size_t ways = 4, word = sizeof(std::uint64_t);
  std::uint64_t hash[ways] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + ways * word <= bytes.size(); at += ways * word)
    for (std::size_t w = 0; w < ways; ++w) {
      std::uint64_t piece;
      std::memcpy(&piece, bytes.data() + at + w * word, word);
      hash[w] = hash_mix(hash[w], piece);
    }
  std::uint64_t all = hash_bytes(bytes.size(), bytes.data() + at, bytes.size() - at);
  for (std::uint64_t h : hash) all = hash_mix(all, h);
  return all;
}

std::vector<std::byte> encode_program(const std::string& key, const ProgramImage& image) {
  std::string kernels;
  for (const Kernel& k : image.kernels) (kernels += kernel_text(k)) += '\0';
  Header header{{},
                0,
                key.size(),
                image.object.size(),
                kernels.size(),
                image.functions.size(),
                image.scratch_bytes,
                image.equations,
                image.loops};
  std::memcpy(header.magic, magic, sizeof magic);
  std::vector<std::byte> file(sizeof header + key.size() + image.object.size() + kernels.size() +
                              image.functions.size());
  std::byte* end = file.data() + sizeof header;
  auto put = [&end](const void* data, std::size_t bytes) {
    if (bytes) std::memcpy(end, data, bytes);
    end += bytes;
  };
  put(key.data(), key.size());
  put(image.object.data(), image.object.size());
  put(kernels.data(), kernels.size());
  put(image.functions.data(), image.functions.size());
  std::memcpy(file.data(), &header, sizeof header);
  header.checksum = hash_file(std::span<const std::byte>(file).subspan(checked_from));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

std::optional<ProgramImage> decode_program(std::span<const std::byte> file, const std::string& key) {
  Header header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const std::size_t rest = file.size() - sizeof header;
  if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.key_bytes != key.size() ||
      header.key_bytes > rest || header.object_bytes > rest - header.key_bytes ||
      header.kernel_bytes > rest - header.key_bytes - header.object_bytes ||
      header.function_bytes != rest - header.key_bytes - header.object_bytes - header.kernel_bytes)
    return {};
  const std::byte* at = file.data() + sizeof header;
  if (std::memcmp(at, key.data(), key.size()) != 0 ||
      header.checksum != hash_file(file.subspan(checked_from)))
    return {};
  at += key.size();

  ProgramImage image;
  image.object.assign(at, at + header.object_bytes);
  at += header.object_bytes;
  image.scratch_bytes = header.scratch_bytes;
  image.equations = header.equations;
  image.loops = header.loops;
  std::string_view kernels(reinterpret_cast<const char*>(at), header.kernel_bytes);
  image.functions.assign(reinterpret_cast<const char*>(at) + header.kernel_bytes, header.function_bytes);
  try {
    for (std::size_t end; (end = kernels.find('\0')) != kernels.npos; kernels.remove_prefix(end + 1))
      image.kernels.push_back(kernel_of_text(kernels.substr(0, end)));
  } catch (const std::exception&) {
    return {};  // an op that this program does not have
  }
  return image;
}

}  // namespace apsis::detail
