#include "transform/stage/trace_watch.hpp"

#include <algorithm>

#include "transform/stage/stage.hpp"

namespace apsis::detail {
namespace {

thread_local TraceWatch* innermost_watch = nullptr;
thread_local TraceNotice* innermost_notice = nullptr;
thread_local int uncounted = 0;

}  // namespace

TraceWatch::TraceWatch() : outer_(innermost_watch) { innermost_watch = this; }
TraceWatch::~TraceWatch() { innermost_watch = outer_; }

TraceNotice::TraceNotice(const char* name, const std::string& reason)
    : name_(name), reason_(reason), outer_(innermost_notice) {
  for (TraceWatch* w = innermost_watch; w; w = w->outer_) w->on_trace();
  innermost_notice = this;
}
TraceNotice::~TraceNotice() { innermost_notice = outer_; }
const TraceNotice* TraceNotice::current() { return innermost_notice; }

UncountedTraces::UncountedTraces() { ++uncounted; }
UncountedTraces::~UncountedTraces() { --uncounted; }
bool traces_count() { return uncounted == 0; }

void note_choice(std::string text) {
  if (!innermost_notice) return;
  std::vector<std::string>& notes = innermost_notice->notes_;
  if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
}

bool is_staging() {
  for (const Trace* t = current_trace(); t; t = t->parent())
    if (dynamic_cast<const StageTrace*>(t)) return true;
  return false;
}

}  // namespace apsis::detail
