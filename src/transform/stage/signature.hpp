#pragma once

// Signatures of calls: what a program was made for, as keys and as text for people.

#include "apsis/transform/jit_call.hpp"

namespace apsis::detail {

/// What a call must agree on to use an entry.
struct CallSignature {
  std::vector<Aval> avals;  // empty Avals for empty leaves
  StaticKey key;
  const CallSiteType* type;
  std::uint64_t hash;

  explicit CallSignature(const JitCall& call);
  static std::uint64_t hash_of(const JitCall& call);
  bool matches(const JitCall& call) const;
  /// If the call matches, its leaves have elements, and their avals are the signature's own objects, as
  /// interned ones are: notes where the elements are, in the same pass (with many leaves, reading their nodes
  /// is what a call costs), and returns the end of that. Else null. `in` has room for all.
  [[gnu::always_inline]] const void** take(const JitCall& call, const void** in) const {
    if (type != call.type || avals.size() != call.nodes.size() || !same_key(call)) return nullptr;
    const Aval* wanted = avals.data();
#pragma GCC unroll 4
    for (const Node* n : call.nodes) {
      const AvalNode* aval = (wanted++)->node();
      if (n) [[likely]] {
        if (aval != n->aval.node() || n->kind != NodeKind::Buffer) [[unlikely]]
          return nullptr;
        *in++ = static_cast<const BufferNode*>(n)->data;
      } else if (aval) {
        return nullptr;
      }
    }
    return in;
  }

 private:
  bool same_key(const JitCall& call) const { return call.key ? key == *call.key : key.empty(); }
};

/// A signature for people: a line for each leaf, static value and size, in the order of the arguments.
struct SignatureText {
  enum class Kind : std::uint8_t { Leaf, Number, Fixed, Size };
  struct Line {
    std::string path, value;
    std::string_view type;  // of static values
    Kind kind;
  };
  std::vector<Line> lines;

  /// `argument_names` as in JitOptions.
  SignatureText(const CallSiteType& type, const void* site, std::string_view argument_names);
  /// The path of leaf i.
  const std::string& leaf_path(std::size_t i) const;
  /// `x: f64[3], n: 2`
  std::string summary() const;
};

/// What changed from one call to another, a text each: `n: static int 2 → 3; pass an Array to make it
/// dynamic`. Without advice only the first part.
std::vector<std::string> differences(const SignatureText& before, const SignatureText& after, bool advice);
/// How many lines of the two are not in both: which earlier call is nearest.
std::size_t distance(const SignatureText& a, const SignatureText& b);
/// The first few of them in one line; empty if nothing changed.
std::string joined_differences(const SignatureText& before, const SignatureText& after, bool advice);

}  // namespace apsis::detail
