#include "transform/stage/signature.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "tree/path_visitor.hpp"

namespace apsis::detail {

CallSignature::CallSignature(const JitCall& call) : type(call.type), hash(hash_of(call)) {
  for (Node* n : call.nodes) avals.push_back(n ? n->aval : Aval());
  if (call.key) key = *call.key;
}

std::uint64_t CallSignature::hash_of(const JitCall& call) {
  std::uint64_t hash = hash_mix(reinterpret_cast<std::uintptr_t>(call.type), call.key ? call.key->hash() : 0);
  for (Node* n : call.nodes) hash = hash_mix(hash, n ? n->aval.hash() : 0);
  return hash;
}

bool CallSignature::matches(const JitCall& call) const {
  const auto same = [](const Aval& aval, const Node* n) { return n ? aval == n->aval : !aval; };
  return type == call.type && std::ranges::equal(avals, call.nodes, same) && same_key(call);
}

namespace {

using Kind = SignatureText::Kind;
using Line = SignatureText::Line;

/// `apsis::Static<double>` as `double`.
std::string_view unwrapped(std::string_view type) {
  constexpr std::string_view wrapper = "apsis::Static<";
  return type.starts_with(wrapper) ? type.substr(wrapper.size(), type.size() - wrapper.size() - 1) : type;
}

/// Whether an Array could take the place of a static value of this type.
bool is_arithmetic_name(std::string_view type) {
  constexpr std::string_view first_words[] = {"bool",   "char",     "short", "int",   "long",
                                              "signed", "unsigned", "float", "double"};
  type = unwrapped(type);
  return std::ranges::find(first_words, type.substr(0, type.find(' '))) != std::end(first_words);
}

class Describe final : public PathVisitor {
 public:
  Describe(std::string_view root, std::vector<Line>& lines) : PathVisitor(root), lines_(lines) {}
  void leaf(const void* leaf, const LeafType& type) override {
    std::string text;
    if (type.empty(leaf))
      text = "empty";
    else
      type.print(text, leaf);
    lines_.push_back({path(), text, {}, Kind::Leaf});
  }
  void fixed(std::string_view value, std::string_view type) override {
    lines_.push_back(
        {path(), std::string(value), type, is_arithmetic_name(type) ? Kind::Number : Kind::Fixed});
  }
  void entered(const TreeNode& node) override {
    std::string shape = describe_shape(node);
    if (!shape.empty()) lines_.push_back({path(), shape, {}, Kind::Size});
  }

 private:
  std::vector<Line>& lines_;
};

std::string type_text(std::string_view type) {
  type = unwrapped(type);
  return type.find("::") == std::string_view::npos ? std::string(type) : short_type_name(type);
}

std::string_view advice_for(const Line& before, const Line& after) {
  switch (after.kind) {
    case Kind::Number:
      return "; pass an Array to make it dynamic";
    case Kind::Fixed:
      return "; it is static: each value is a program of its own";
    case Kind::Size:
      return "; it is static: each structure is a program of its own";
    case Kind::Leaf:
      break;
  }
  if (before.kind != Kind::Leaf) return "; one is static, the other an Array: pass one or the other always";
  if (before.value == "empty" || after.value == "empty") return "; pass it always, or never";
  auto dtype = [](std::string_view aval) { return aval.substr(0, aval.find('[')); };
  auto strong = [](std::string_view aval) { return aval.substr(aval.starts_with('~')); };
  if (strong(before.value) == strong(after.value))
    return "; one is a number, the other an Array: pass one or the other always";
  auto shape = [](std::string_view aval) { return aval.substr(aval.find('[')); };
  auto rank = [&](std::string_view aval) {
    const std::string_view sizes = shape(aval);
    return sizes == "[]" ? 0 : 1 + std::ranges::count(sizes, ',');
  };
  if (shape(before.value) == shape(after.value)) return "; convert it to one dtype before the call";
  if (dtype(strong(before.value)) != dtype(strong(after.value)))
    return "; each shape and dtype is a program of its own: convert it to one dtype, pad to one shape";
  if (rank(before.value) != rank(after.value))
    return "; each number of axes is a program of its own: vmap maps a function over an axis";
  return "; each shape is a program of its own: pad to one shape, or expect a trace for each";
}

std::string difference(const Line& before, const Line& after, bool advice) {
  std::string text = after.path + ": ";
  if (after.kind == Kind::Number || after.kind == Kind::Fixed)
    text += "static " + type_text(after.type) + " ";
  text += before.value + " → " + after.value;
  if (advice) text += advice_for(before, after);
  return text;
}

}  // namespace

SignatureText::SignatureText(const CallSiteType& type, const void* site, std::string_view argument_names) {
  std::vector<ConstTreeRef> trees;
  type.trees(site, trees);
  for (std::size_t i = 0, argument = 0; i < trees.size(); ++i) {
    std::string root = "function";
    if (i > 0 || !type.function_is_tree) {
      std::size_t end = std::min(argument_names.find(','), argument_names.size());
      std::string_view name = argument_names.substr(0, end);
      argument_names.remove_prefix(std::min(end + 1, argument_names.size()));
      while (name.starts_with(' ')) name.remove_prefix(1);
      root = name.empty() ? "argument " + std::to_string(argument) : std::string(name);
      ++argument;
    }
    Describe visitor(root, lines);
    trees[i].type->walk(trees[i].tree, visitor);
  }
}

const std::string& SignatureText::leaf_path(std::size_t i) const {
  for (const Line& line : lines)
    if (line.kind == Kind::Leaf && i-- == 0) return line.path;
  static const std::string none;
  return none;
}

std::string SignatureText::summary() const {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i)
    text += (i ? ", " : "") + lines[i].path + ": " + lines[i].value;
  if (lines.size() > most) text += " and " + std::to_string(lines.size() - most) + " more";
  return lines.empty() ? "no arguments" : text;
}

std::vector<std::string> differences(const SignatureText& before, const SignatureText& after, bool advice) {
  std::vector<std::string> changed, only_in_one;
  // Mostly at the same index.
  auto counterpart = [](const std::vector<Line>& lines, std::size_t i, const Line& line) -> const Line* {
    auto same = [&line](const Line& l) {
      return l.path == line.path && (l.kind == Kind::Size) == (line.kind == Kind::Size);
    };
    if (i < lines.size() && same(lines[i])) return &lines[i];
    auto found = std::ranges::find_if(lines, same);
    return found == lines.end() ? nullptr : &*found;
  };
  for (std::size_t i = 0; i < after.lines.size(); ++i) {
    const Line& now = after.lines[i];
    const Line* was = counterpart(before.lines, i, now);
    if (!was)
      only_in_one.push_back(now.path + " is new: " + now.value);
    else if (was->value != now.value || was->type != now.type)
      changed.push_back(difference(*was, now, advice));
  }
  for (std::size_t i = 0; i < before.lines.size(); ++i)
    if (!counterpart(after.lines, i, before.lines[i]))
      only_in_one.push_back(before.lines[i].path + " is gone: " + before.lines[i].value);
  // What a container holds comes and goes with its size.
  return changed.empty() ? only_in_one : changed;
}

std::size_t distance(const SignatureText& a, const SignatureText& b) {
  const auto only_in = [](const std::vector<Line>& lines, const std::vector<Line>& others) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto same = [&line = lines[i]](const Line& l) {
        return l.path == line.path && l.kind == line.kind && l.value == line.value && l.type == line.type;
      };
      const bool in_place = i < others.size() && same(others[i]);
      count += !in_place && std::ranges::none_of(others, same);
    }
    return count;
  };
  return only_in(a.lines, b.lines) + only_in(b.lines, a.lines);
}

std::string joined_differences(const SignatureText& before, const SignatureText& after, bool advice) {
  constexpr std::size_t most = 4;
  std::vector<std::string> all = differences(before, after, advice);
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) text += (i ? "; " : "") + all[i];
  if (all.size() > most) text += "; and " + std::to_string(all.size() - most) + " more";
  return text;
}

}  // namespace apsis::detail
