// The header of NumPy's .npy format, versions 1.0 to 3.0: the text of a Python dictionary with the entries
// descr, fortran_order and shape. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include <charconv>

#include "io/messages.hpp"
#include "io/npy.hpp"
#include "io/text.hpp"

namespace apsis::detail {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

struct Code {
  Dtype dtype;
  std::string_view kind;  // without the order of bytes
};
constexpr Code codes[] = {{Dtype::Bool, "b1"}, {Dtype::I8, "i1"},   {Dtype::I16, "i2"},  {Dtype::I32, "i4"},
                          {Dtype::I64, "i8"},  {Dtype::U8, "u1"},   {Dtype::U16, "u2"},  {Dtype::U32, "u4"},
                          {Dtype::U64, "u8"},  {Dtype::BF16, "V2"}, {Dtype::F16, "f2"},  {Dtype::F32, "f4"},
                          {Dtype::F64, "f8"},  {Dtype::C64, "c8"},  {Dtype::C128, "c16"}};

/// Reads the header's dictionary from front to back.
class Reader {
 public:
  Reader(std::string_view text, std::size_t start, const std::string& name)
      : text_(text), start_(start), name_(name) {}

  [[noreturn]] void damaged(const std::string& what) const {
    fail(messages::file_damaged, {name_, what + " (byte " + std::to_string(start_ + at_) + ")"});
  }

  NpyHeader read() {
    NpyHeader header;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0) damaged("the header has an entry " + shown(key));
      if (seen[which]) damaged("the header has two entries " + shown(key));
      seen[which] = true;
      expect(':');
      if (which == 0)
        element(header);
      else if (which == 1)
        header.fortran = truth();
      else
        header.shape = shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    for (bool s : seen)
      if (!s) damaged("the header lacks one of descr, fortran_order and shape");
    space();
    if (at_ != text_.size()) damaged("the header goes on after its end");
    return header;
  }

 private:
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) damaged(std::string("the header has no ") + c + " where one must be");
  }
  std::string_view string() {
    space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') damaged("the header has no quoted text where one must be");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) damaged("the header has a quoted text without an end");
    const std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return found;
  }
  bool truth() {
    space();
    for (std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    damaged("fortran_order is neither True nor False");
  }
  Shape shape() {
    Shape sizes;
    expect('(');
    while (!accept(')')) {
      space();
      std::int64_t size = 0;
      const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
      auto [next, status] = std::from_chars(begin, end, size);
      if (status != std::errc{} || size < 0) damaged("the shape is not readable");
      at_ += static_cast<std::size_t>(next - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
      constexpr std::size_t most = 64;                     // NumPy's limit too
      if (sizes.size() == most) damaged("the shape has more than 64 axes");
      sizes.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }
  void element(NpyHeader& header) {
    space();
    if (at_ < text_.size() && text_[at_] == '[')
      fail(messages::unknown_element, {name_, "a record of several fields"});
    std::string_view text = string();
    const std::string all = shown(text);
    const char order = text.empty() ? ' ' : text[0];
    if (order == '<' || order == '>' || order == '|' || order == '=') text.remove_prefix(1);
    if (text.starts_with('O')) fail(messages::object_elements, {name_});
    for (const Code& c : codes)
      if (c.kind == text) {
        header.dtype = c.dtype;
        header.big_endian = order == '>';
        return;
      }
    fail(messages::unknown_element, {name_, all});
  }

  std::string_view text_;
  std::size_t at_ = 0, start_;
  const std::string& name_;
};

/// The bytes of an array; nothing if that is more than any memory.
bool bytes_of(const NpyHeader& header, std::size_t& bytes) {
  // An empty array must have a shape whose other sizes can be multiplied, too.
  std::size_t whole = item_size(header.dtype);
  bool empty = false;
  for (std::int64_t d : header.shape) {
    if (d == 0)
      empty = true;
    else if (__builtin_mul_overflow(whole, static_cast<std::size_t>(d), &whole) || whole > PTRDIFF_MAX)
      return false;
  }
  bytes = empty ? 0 : whole;
  return true;
}

}  // namespace

std::string npy_element(Dtype dtype) {
  const Code& code = codes[static_cast<int>(dtype)];
  return (item_size(dtype) == 1 ? "|" : "<") + std::string(code.kind);
}

NpyHeader npy_header(std::string_view bytes, const std::string& name) {
  auto damaged = [&](const std::string& what) { fail(messages::file_damaged, {name, what}); };
  if (bytes.size() < 10 || !bytes.starts_with(magic)) damaged("it does not begin as a .npy file");
  const int version = static_cast<unsigned char>(bytes[6]), minor = static_cast<unsigned char>(bytes[7]);
  if (version < 1 || version > 3 || minor != 0)
    fail(messages::npy_version, {name, std::to_string(version) + "." + std::to_string(minor)});
  // Version 1 has a length of two bytes, later ones of four.
  const std::size_t start = version > 1 ? 12 : 10;
  if (bytes.size() < start) damaged("it ends inside the header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < start - 8; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  if (bytes.size() - start < length) damaged("it ends inside the header");
  NpyHeader header = Reader(bytes.substr(start, length), start, name).read();
  header.start = start + length;
  std::size_t wanted = 0;
  const std::size_t there = bytes.size() - header.start;
  if (!bytes_of(header, wanted) || wanted > there)
    damaged("the header says " + std::string(name_of(header.dtype)) + to_string(header.shape) +
            ", of which " + std::to_string(there) + " bytes are there");
  if (wanted < there) damaged(std::to_string(there - wanted) + " bytes follow the last element");
  return header;
}

}  // namespace apsis::detail
