#include "transform/stage/trace_counts.hpp"

#include <algorithm>

#include "apsis/transform/count_traces.hpp"
#include "transform/stage/messages.hpp"
#include "transform/stage/trace_watch.hpp"

namespace apsis {
namespace detail {

/// Against the earlier call that is nearest, the latest of them.
std::string TraceCounts::reason_for(const SignatureText& text) const {
  if (records_.empty()) return "the first trace";
  const Record* nearest = nullptr;
  std::size_t fewest = 0;
  for (const Record& r : records_) {
    std::size_t n = distance(*r.text, text);
    if (!nearest || n <= fewest) {
      nearest = &r;
      fewest = n;
    }
  }
  if (fewest > 0) return joined_differences(*nearest->text, text, true);
  std::string same = "its arguments are as in an earlier call";
  if (const TraceNotice* around = TraceNotice::current())
    return same + ", but `" + around->name() + "` around it is traced: " + around->reason();
  if (nearest->outcome == TraceOutcome::Failed) return same + ", whose trace failed";
  if (nearest->outcome == TraceOutcome::NotKept)
    return same +
           ", whose trace was not kept; make the jitted function once and keep it, and pass traced values "
           "from "
           "outside as arguments";
  return same + ", whose program was dropped (max_entries, or the cache was cleared)";
}

TraceCounts::Ticket TraceCounts::begin(const CallSiteType& type, const void* site) {
  auto text = std::make_shared<const SignatureText>(type, site, arguments_);
  if (!traces_count()) return {uncounted, text, {}};
  std::scoped_lock lock(mutex_);
  std::string reason = reason_for(*text);
  if (count() >= limit_)
    fail(messages::max_traces,
         {name_, std::to_string(limit_), limit_ == 1 ? "trace is" : "traces are", reason}, loc_);
  count_.fetch_add(1, std::memory_order_relaxed);
  if (records_.size() == records_kept) records_.erase(records_.begin());
  records_.push_back({next_number_, text, reason, TraceOutcome::Failed, {}});
  return {next_number_++, text, reason};
}

void TraceCounts::finish(const Ticket& ticket, TraceOutcome outcome, std::vector<std::string> notes) {
  if (ticket.number == uncounted) return;
  std::scoped_lock lock(mutex_);
  auto mine = std::ranges::find(records_, ticket.number, &Record::number);
  if (mine == records_.end()) return;
  mine->outcome = outcome;
  mine->notes = std::move(notes);
}

void TraceCounts::reset() {
  std::scoped_lock lock(mutex_);
  count_.store(0, std::memory_order_relaxed);
}

std::int64_t TraceCounts::tighten(std::int64_t more) {
  std::scoped_lock lock(mutex_);
  std::int64_t before = limit_;
  if (more < unlimited - count()) limit_ = std::min(limit_, count() + more);
  return before;
}

void TraceCounts::restore(std::int64_t limit) {
  std::scoped_lock lock(mutex_);
  limit_ = limit;
}

std::string TraceCounts::explain() const {
  std::scoped_lock lock(mutex_);
  std::string text;
  for (const Record& r : records_) {
    text += std::to_string(r.number) + ". " + r.text->summary() + "\n   " + r.reason + "\n";
    for (const std::string& note : r.notes) text += "   " + note + "\n";
    if (r.outcome == TraceOutcome::Failed) text += "   the trace failed\n";
  }
  return text;
}

std::int64_t count_of(const TraceCounts& counts) { return counts.count(); }
void reset(TraceCounts& counts) { counts.reset(); }
std::int64_t tighten(TraceCounts& counts, std::int64_t more) { return counts.tighten(more); }
void restore(TraceCounts& counts, std::int64_t limit) { counts.restore(limit); }

struct TraceCounter::Shared : TraceCounts {
  using TraceCounts::TraceCounts;
  std::atomic<std::uint32_t> refs{1};
};

TraceCounter::TraceCounter(std::int64_t limit, const TraceOptions& options, Loc loc)
    : shared_(new Shared(options.name, options.arguments, limit < 0 ? TraceCounts::unlimited : limit, loc)) {}
TraceCounter::TraceCounter(const TraceCounter& other) noexcept : shared_(other.shared_) {
  if (shared_) shared_->refs.fetch_add(1, std::memory_order_relaxed);
}
TraceCounter::~TraceCounter() {
  if (shared_ && shared_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared_;
}
TraceCounts& TraceCounter::counts() const { return *shared_; }
std::string TraceCounter::explain() const {
  std::int64_t n = shared_->count();
  return shared_->name() + ": " + std::to_string(n) + (n == 1 ? " trace\n" : " traces\n") +
         shared_->explain();
}

namespace {

/// A call of a counted function. Counts once, however much is traced in it.
class CountedCall final : TraceWatch {
 public:
  CountedCall(TraceCounts& counts, const CallSiteType& type, const void* site, bool has_own_code)
      : counts_(counts), type_(type), site_(site) {
    if (has_own_code && is_staging()) on_trace();
  }
  void succeeded() {
    // What is traced is kept by the jitted function that traces it, if there is one.
    if (counted_) counts_.finish(ticket_, TraceOutcome::NotKept);
  }

 private:
  void on_trace() override {
    if (counted_) return;
    ticket_ = counts_.begin(type_, site_);
    counted_ = true;
  }
  TraceCounts& counts_;
  const CallSiteType& type_;
  const void* site_;
  TraceCounts::Ticket ticket_;
  bool counted_ = false;
};

}  // namespace

void TraceCounter::run(const CallSiteType& type, const void* site, bool has_own_code, void* context,
                       void (*body)(void*)) const {
  CountedCall call(*shared_, type, site, has_own_code);
  body(context);
  call.succeeded();
}

}  // namespace detail
}  // namespace apsis
