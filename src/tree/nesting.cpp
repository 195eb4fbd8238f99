#include "apsis/tree/nesting.hpp"

#include "base/place.hpp"
#include "tree/messages.hpp"
#include "tree/path_visitor.hpp"

namespace apsis::detail {
namespace {

/// Where the walk ends that looks for the way down.
struct Found {};

/// Goes down as the walk did that failed, until a node is met that is one of those around it.
class WayDown final : public PathVisitor {
 public:
  WayDown() : PathVisitor({}) {}

  void entered(const TreeNode& node) override {
    for (const Around& a : around_)
      if (a.tree == node.tree && a.type_name == node.type_name) {
        first = a.path;
        again = path();
        is_cycle = true;
        throw Found();
      }
    if (around_.empty()) type = node.type_name();
    around_.push_back({node.tree, node.type_name, path()});
    if (around_.size() == shown) deep = path();
    if (around_.size() > Nesting::limit / 2) throw Found();  // a long list, before this walk fails too
  }
  void left() override { around_.pop_back(); }
  std::string type, first, again, deep;
  bool is_cycle = false;

 private:
  static constexpr std::size_t shown = 12;
  struct Around {
    const void* tree;
    std::string_view (*type_name)();
    std::string path;
  };
  std::vector<Around> around_;
};

std::string quoted(const std::string& path) { return path.empty() ? "the tree itself" : "`" + path + "`"; }

}  // namespace

void NestingError::rethrow_at(Loc loc) const {
  loc = users_place(loc);
  const std::string text = what();
  if (!loc.known() || text.find("\n  at ") != std::string::npos) throw;
  throw NestingError(id(), text.substr(0, text.find("\n  in scope ")) + place_text(loc));
}

void Nesting::fail(const Nesting& outermost) {
  WayDown way;
  try {
    outermost.walk_(outermost.tree_, way);
  } catch (const Found&) {
  }
  const std::string type = short_type_name(way.type);
  try {
    if (way.is_cycle) apsis::fail(messages::tree_cycle, {type, quoted(way.again), quoted(way.first)});
    apsis::fail(messages::tree_depth, {type, std::to_string(limit), "`" + way.deep + "` and on"});
  } catch (const Error& error) {
    throw NestingError(error.id(), error.what());
  }
}

}  // namespace apsis::detail
