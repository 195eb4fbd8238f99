#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "core/list.hpp"
#include "ir/graph.hpp"
#include "ir/messages.hpp"

namespace apsis::detail {
namespace {

/// A recursive-descent reader of the grammar in print.cpp; its depth is that of nested regions.
class Reader final : public ParamsReader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  GraphRef graph_text() {
    const Level level(*this);
    GraphBuilder builder;
    std::unordered_map<std::string, ValueId> names;
    expect("(");
    std::size_t inputs = 0;
    for (; !accept(")"); ++inputs) {
      if (inputs) expect(",");
      std::string name = word();
      expect(":");
      names[name] = builder.input(aval());
    }
    expect("{");
    while (!accept("return")) equation(builder, names);
    std::vector<ValueId> outputs;
    while (!accept("}")) {
      if (!outputs.empty()) expect(",");
      outputs.push_back(use(names));
    }
    return builder.finish(outputs);
  }

  void end() {
    skip();
    if (at_ != text_.size()) error("the end of the text");
  }

  void key(const char* name) override {
    accept(",");
    expect(name);
    expect("=");
  }
  std::int64_t integer() override {
    const auto value = number_as<std::int64_t>("an integer");
    // Lists hold sizes and axes.
    if (lists_ > 0 && (value > most || value < -most)) error("a number of at most 2^46");
    return value;
  }
  double number() override {
    skip();
    double value = 0;
    auto [end, status] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, std::chars_format::hex);
    if (status != std::errc{}) error("a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  bool flag() override {
    if (accept("true")) return true;
    expect("false");
    return false;
  }
  Dtype dtype() override {
    std::string name = word();
    for (int d = 0; d < dtype_count; ++d)
      if (name_of(static_cast<Dtype>(d)) == name) return static_cast<Dtype>(d);
    error("a dtype");
  }
  std::string text() override {
    expect("\"");
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      const bool escaped = text_[at_] == '\\' && at_ + 1 < text_.size();
      if (escaped) ++at_;
      out += escaped && text_[at_] == 'n' ? '\n' : text_[at_];
    }
    expect("\"");
    return out;
  }
  bool open_list() override {
    expect("[");
    ++lists_;
    return true;
  }
  bool next_item() override {
    accept(",");
    if (!accept("]")) return true;
    --lists_;
    return false;
  }
  const void* graph() override {
    if (accept("none")) return nullptr;
    nested_.push_back(graph_text());  // kept here until the parameters hold it
    return nested_.back().get();
  }

 private:
  using Names = std::unordered_map<std::string, ValueId>;

  void equation(GraphBuilder& builder, Names& names) {
    std::vector<std::string> results;
    std::vector<Aval> declared;
    std::string name = word();
    if (accept(":")) {
      results.push_back(name);
      declared.push_back(aval());
      while (accept(",")) {
        results.push_back(word());
        expect(":");
        declared.push_back(aval());
      }
      expect("=");
      name = word();
    }
    const Op* op = find_op(name);
    if (!op) fail(messages::graph_text_op, {std::to_string(line()), name});
    Params params;
    if (accept("{")) {
      if (!op->parse) fail(messages::graph_text_params, {std::to_string(line()), name});
      try {
        params = op->parse(*this);
      } catch (const InternalError&) {
        error("the parameters of '" + name + "' as to_string(graph) writes them");
      }
      expect("}");
    }
    std::vector<ValueId> operands, values(results.size());
    if (accept("(")) {
      while (!accept(")")) {
        if (!operands.empty()) expect(",");
        operands.push_back(use(names));
      }
    }
    append(builder, *op, params, operands, values);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!(builder.aval(values[i]) == declared[i]))
        fail(messages::graph_text_aval,
             {std::to_string(line()), name, to_string(builder.aval(values[i])), to_string(declared[i])});
      names[results[i]] = values[i];
    }
  }

  /// What ops take for granted, as only the library makes equations, is asked of text.
  void append(GraphBuilder& builder, const Op& op, const Params& params, std::span<const ValueId> operands,
              std::span<ValueId> results) {
    const auto is_list = [&](ValueId v) { return builder.aval(v).is_list(); };
    const bool takes_lists = op.kind >= OpKind::While || op.kind == OpKind::View ||
                             op.kind == OpKind::Constant || !std::ranges::any_of(operands, is_list);
    try {
      // This one has parameters or none.
      if (op.parse && !params && op.name != std::string_view("stop_gradient"))
        throw InternalError("parameters");
      if (!takes_lists || (op.kind == OpKind::View && op.view && std::ranges::any_of(operands, is_list)))
        throw InternalError("lists");
      builder.append(op, params, operands, results);
    } catch (const InternalError&) {
      std::string given;
      for (ValueId v : operands) given += (given.empty() ? "" : ", ") + to_string(builder.aval(v));
      fail(messages::graph_text_equation, {std::to_string(line()), op.name, given, to_string(params)});
    }
  }

  ValueId use(const Names& names) {
    auto found = names.find(word());
    if (found == names.end()) error("the name of a value defined above");
    return found->second;
  }

  Aval aval() {
    const Level level(*this);
    AvalData data;
    bool per_lane = accept("lists<");
    if (per_lane || accept("list<")) {
      data = *aval();
      // Four bits count the levels of either.
      constexpr int most_levels = 14;
      if (list_depth(data.list) >= most_levels || lane_bits(data.list) >= most_levels)
        error("no more than 14 lists within each other");
      data.list = !per_lane || !of_lanes(data.list) ? listed(data.list) : data.list;
      if (per_lane) data.list = with_lanes(data.list);
      if (static_cast<std::size_t>(lane_levels(data.list)) > data.shape.size())
        error("an axis for each level of lanes");
      expect(">");
      return Aval(data);
    }
    data.weak = accept("~");
    data.dtype = dtype();
    parse_field(*this, data.shape);
    std::int64_t bytes = static_cast<std::int64_t>(item_size(data.dtype));
    for (std::int64_t n : data.shape) {
      if (n < 0) error("sizes that are not negative");
      if (__builtin_mul_overflow(bytes, n > 0 ? n : 1, &bytes) || bytes > most)
        error("an array of at most 2^46 bytes");
    }
    return Aval(data);
  }

  template <class T>
  T number_as(const char* what) {
    skip();
    T value = 0;
    auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (status != std::errc{}) error(what);
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  void skip() {
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      else if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
        return;
    }
  }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }
  std::string word() {
    skip();
    std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin) error("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  /// Takes `token` if it comes next; a word only as a whole.
  bool accept(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    std::size_t after = at_ + token.size();
    if (is_word(token.back()) && after < text_.size() && is_word(text_[after])) return false;
    at_ = after;
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) error("'" + std::string(token) + "'");
  }
  std::size_t line() const {
    std::size_t count = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) count += text_[i] == '\n';
    return count;
  }
  [[noreturn]] void error(const std::string& expected) {
    std::string_view rest = text_.substr(std::min(at_, text_.size()));
    fail(messages::graph_text, {std::to_string(line()), expected,
                                std::string(rest.substr(0, std::min<std::size_t>(rest.find('\n'), 24)))});
  }

  /// One more region, or type, within another.
  struct Level {
    explicit Level(Reader& r) : reader(r) {
      constexpr int deepest = 100;
      if (++reader.level_ > deepest) reader.error("no more than 100 regions or types within each other");
    }
    ~Level() {
      --reader.level_;
      reader.lists_ = lists;
    }
    Reader& reader;
    int lists = std::exchange(reader.lists_, 0);  // numbers of a region in a list are no entries of the list
  };

  static constexpr std::int64_t most = std::int64_t{1} << 46;
  std::string_view text_;
  std::size_t at_ = 0;
  int level_ = 0, lists_ = 0;
  std::vector<GraphRef> nested_;
};

}  // namespace

GraphRef parse_graph(std::string_view text) {
  Reader reader(text);
  GraphRef graph = reader.graph_text();
  reader.end();
  return graph;
}

}  // namespace apsis::detail
