#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "apsis/tree/tree.hpp"
#include "leaf.hpp"

// A small model that the tests of algorithms on trees share.

struct Linear {
  Probe weight, bias;
};
enum class Activation { Relu, Tanh };
struct Model {
  std::vector<Linear> layers;
  Activation activation = Activation::Relu;
  apsis::Static<double> slope = 0.5;
  std::optional<Probe> scale;
};
inline Model make_model() { return {{{1, 2}, {3, 4}}, Activation::Tanh, 0.25, Probe(5)}; }

/// The values of the leaves in order, -1 for empty ones.
template <class T>
std::vector<double> values(const T& tree) {
  std::vector<double> out;
  apsis::for_each_leaf(tree, [&](const Probe& p) { out.push_back(p.empty() ? -1 : p.value()); });
  return out;
}
template <class T>
apsis::StaticKey key_of(const T& tree) {
  apsis::StaticKey key;
  apsis::append_static_key(tree, key);
  return key;
}
/// 1, 2, …, n
inline std::vector<double> count_from_one(int n) {
  std::vector<double> out;
  for (int i = 1; i <= n; ++i) out.push_back(i);
  return out;
}
