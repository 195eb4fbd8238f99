#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "transform/stage/signature.hpp"

namespace apsis::detail {

/// What became of a trace.
enum class TraceOutcome : std::uint8_t { Failed, Kept, NotKept };

/// The traces of one function: how many, how many may be, and why each. Any thread may ask.
class TraceCounts {
 public:
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  TraceCounts(std::string name, std::string arguments, std::int64_t limit, Loc loc)
      : name_(std::move(name)), arguments_(std::move(arguments)), loc_(loc), limit_(limit) {}

  static constexpr std::int64_t uncounted = 0;
  struct Ticket {
    std::int64_t number;
    std::shared_ptr<const SignatureText> text;
    std::string reason;
  };
  /// Counts a trace that is about to begin, unless UncountedTraces says not to. Throws where it is one too
  /// many, saying what changed.
  Ticket begin(const CallSiteType& type, const void* site);
  /// `notes`: what else `explain` tells about the trace.
  void finish(const Ticket& ticket, TraceOutcome outcome, std::vector<std::string> notes = {});

  std::int64_t count() const { return count_.load(std::memory_order_relaxed); }
  /// From zero again; what is known of earlier calls stays.
  void reset();
  /// Allows `more` from now on (never more than before); returns what was allowed.
  std::int64_t tighten(std::int64_t more);
  void restore(std::int64_t limit);
  /// A numbered list of the last traces with the reason of each.
  std::string explain() const;

  Loc loc() const { return loc_; }
  const std::string& name() const { return name_; }
  const std::string& arguments() const { return arguments_; }

 private:
  static constexpr std::size_t records_kept = 64;
  struct Record {
    std::int64_t number;
    std::shared_ptr<const SignatureText> text;
    std::string reason;
    TraceOutcome outcome;
    std::vector<std::string> notes;
  };
  std::string reason_for(const SignatureText& text) const;

  const std::string name_, arguments_;
  const Loc loc_;
  mutable std::mutex mutex_;
  std::atomic<std::int64_t> count_{0};
  std::int64_t limit_;
  std::int64_t next_number_ = 1;
  std::vector<Record> records_;  // the last ones, in order
};

}  // namespace apsis::detail
