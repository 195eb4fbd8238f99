// Files of events as TensorBoard reads them: protocol buffers (event.proto, summary.proto) in frames of
// length and checksum (TFRecord).

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "apsis/core/op.hpp"
#include "io/file.hpp"
#include "io/messages.hpp"
#include "io/metrics.hpp"
#include "io/text.hpp"

namespace apsis {
namespace detail {
namespace {

/// CRC-32C (Castagnoli), turned and shifted as TFRecord wants it.
std::uint32_t checksum(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0u);
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t crc = ~0u;
  for (char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return std::rotr(~crc, 15) + 0xa282ead8u;
}

/// Least significant byte first.
template <class Unsigned>
std::string little(Unsigned value) {
  std::string bytes(sizeof value, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xff);
    value = static_cast<Unsigned>(value >> 8);
  }
  return bytes;
}

// A field of a protocol buffer is its number and kind, then its value.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes += static_cast<char>(value);
}
std::string tag(unsigned field, unsigned kind) { return varint(field << 3 | kind); }
std::string integer(unsigned field, std::int64_t value) {
  return value == 0 ? "" : tag(field, 0) + varint(static_cast<std::uint64_t>(value));
}
std::string number(unsigned field, double value) {
  return tag(field, 1) + little(std::bit_cast<std::uint64_t>(value));
}
std::string number(unsigned field, float value) {
  return tag(field, 5) + little(std::bit_cast<std::uint32_t>(value));
}
std::string message(unsigned field, const std::string& content) {
  return tag(field, 2) + varint(content.size()) + content;
}

std::string framed(const std::string& event) {
  const std::string length = little(static_cast<std::uint64_t>(event.size()));
  return length + little(checksum(length)) + event + little(checksum(event));
}

constexpr std::size_t before = 12, behind = 4;  // bytes of a frame before and behind an event

}  // namespace

std::string version_event(double seconds) { return framed(number(1, seconds) + message(3, "brain.Event:2")); }

std::string scalar_event(double seconds, std::int64_t step, const Metrics& metrics) {
  std::string summary;
  for (const Metric& m : metrics)
    summary += message(1, message(1, m.name) + number(2, static_cast<float>(number_of(m))));
  return framed(number(1, seconds) + integer(2, step) + message(5, summary));
}

std::string restart_event(double seconds, std::int64_t step) {
  constexpr std::int64_t start = 1;  // SessionLog.START
  return framed(number(1, seconds) + integer(2, step) + message(7, integer(1, start)));
}

std::size_t whole_events(std::string_view bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= before) {
    std::uint64_t length = 0;
    std::uint32_t sum = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    std::memcpy(&sum, bytes.data() + at + sizeof length, sizeof sum);
    if (sum != checksum(bytes.substr(at, sizeof length))) break;
    if (length > bytes.size() - at || bytes.size() - at - length < before + behind) break;
    at += before + length + behind;
  }
  return at;
}

}  // namespace detail

namespace {

std::string file_of(const TensorBoard& board) { return board.directory + "/events.out.tfevents.apsis"; }
double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

void TensorBoard::write(std::int64_t step, const Metrics& metrics, Loc loc) const {
  const LocScope place(loc);
  if (step < 0) fail(messages::tensorboard_step, {std::to_string(step)});
  detail::check_names(metrics);
  const std::string event = detail::scalar_event(now(), step, metrics), file = file_of(*this);
  const bool is_new = !detail::file_exists(file);
  if (is_new) detail::make_folder(directory);
  detail::append_file(file, is_new ? detail::version_event(now()) + event : event);
}

void TensorBoard::rewind(std::int64_t step, Loc loc) const {
  const LocScope place(loc);
  if (step < 0) fail(messages::tensorboard_step, {std::to_string(step)});
  const std::string file = file_of(*this);
  if (!detail::file_exists(file)) return;
  const std::string bytes = detail::read_file(file);
  const std::size_t whole = detail::whole_events(bytes);
  if (whole == 0 && !bytes.empty()) fail(messages::tensorboard_file, {detail::shown(file, 300)});
  // What follows half an event is never read.
  if (whole != bytes.size()) detail::write_file(file, std::string_view(bytes).substr(0, whole));
  detail::append_file(file, detail::restart_event(now(), step));
}

}  // namespace apsis
