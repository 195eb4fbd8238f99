#pragma once

// The right-hand side of an equation as solvers see it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "apsis/diffeq/delay_term.hpp"
#include "apsis/diffeq/langevin_terms.hpp"

namespace apsis {

/// How the terms of an equation belong together. A solver says which it takes by a member `terms`; without
/// one it is Whole.
enum class TermStructure : std::uint8_t {
  Whole,        ///< y' = f(t, y); of a MultiTerm, the sum
  Split,        ///< a MultiTerm of two, of which each is treated in its own way
  Partitioned,  ///< a pair of terms on a pair of states: q' = f(t, p), p' = g(t, q)
  Langevin,     ///< a MultiTerm of an UnderdampedLangevinDriftTerm and an UnderdampedLangevinDiffusionTerm
};

namespace detail {
/// Terms on leaves: slope number `term` is that of the whole state or, of partitioned terms, that of the part
/// `term`, as a function of the other part.
struct FlatTerms {
  const void* context;
  std::vector<Array> (*slope)(const void* context, std::size_t term, const Array& t,
                              std::span<const Array> y);
  std::size_t count;        // of the terms
  std::size_t first_part;   // leaves of the first part of the state, if there are parts
  TermStructure structure;  // Partitioned, or Whole
  LeafNames state;          // what errors call the leaves of the state
  FlatControls controls = {};
  FlatLangevin langevin = {};  // null unless the terms are those of Langevin diffusion
  FlatDelays delays = {};      // null unless the term is a DelayTerm
};
}  // namespace detail

/// The right-hand side of an equation as solvers see it: on the leaves of its state, in time that runs
/// forwards. A solve from 2 to 1 runs from -2 to -1, with slopes as they are, and steps of a negative
/// `length`.
class Slopes {
 public:
  Slopes(const detail::FlatTerms& terms, const Array& direction) : terms_(terms), direction_(direction) {}

  /// y', all terms together; of an equation with controls the part without them.
  std::vector<Array> operator()(const Array& t, std::span<const Array> y) const;
  /// The slope by one term. Of partitioned terms, that of part `i` as a function of the other part.
  std::vector<Array> term(std::size_t i, const Array& t, std::span<const Array> y) const;
  std::size_t terms() const { return terms_.count; }
  /// The leaves of part 0 or 1 of a partitioned state.
  std::span<const Array> part(std::size_t i, std::span<const Array> y) const {
    return i == 0 ? y.subspan(0, terms_.first_part) : y.subspan(terms_.first_part);
  }
  /// t1 - t0 as the user has it: negative in a solve that goes back.
  Array length(const Array& t0, const Array& t1) const;
  /// 1, or -1 in a solve that goes back.
  const Array& direction() const { return direction_; }
  TermStructure structure() const { return terms_.structure; }
  /// What errors call leaf `i` of the state.
  std::string name(std::size_t i) const { return terms_.state(i); }
  /// M of an equation M y' = f(t, y), [n, n] for the leaves as one vector of n elements; empty: there is
  /// none, and only solvers with StepTraits::takes_mass see one.
  const Array& mass() const { return mass_; }
  /// The slope where there is a mass matrix: the least one with M y' = f(t, y) as nearly as can be.
  std::vector<Array> rate(const Array& t, std::span<const Array> y) const;
  /// The same terms with a mass matrix and its pseudoinverse.
  Slopes with_mass(const Array& mass, const Array& pseudoinverse) const {
    Slopes with = *this;
    with.mass_ = mass;
    with.pseudoinverse_ = pseudoinverse;
    return with;
  }

  /// Whether there are ControlTerms.
  bool driven() const { return !terms_.controls.terms.empty(); }
  /// Whether term `i` is one.
  bool is_control(std::size_t i) const;
  /// What the controls do from t0 to t1. Not within a loop or branch of the solver's: a path remembers where
  /// it was asked last.
  ControlIncrement increment(const Array& t0, const Array& t1) const;
  /// The vector fields of the controls.
  std::vector<ControlField> fields(const Array& t, std::span<const Array> y) const;
  /// Σ field · control over all ControlTerms, like y.
  std::vector<Array> product(std::span<const ControlField> fields, std::span<const Array> y,
                             const Controls& controls) const;
  /// The same with the vector fields at t and y.
  std::vector<Array> diffusion(const Array& t, std::span<const Array> y, const Controls& controls) const {
    return product(fields(t, y), y, controls);
  }
  /// Of the terms of underdamped Langevin diffusion, and only of these: γ (0) and u (1) of the drift, or of
  /// the diffusion (2, 3), as they were given, and ∇f.
  bool is_langevin() const { return terms_.langevin.gradient != nullptr; }
  std::vector<Array> langevin(int which) const { return terms_.langevin.coefficients(terms_.context, which); }
  std::vector<Array> langevin_gradient(std::span<const Array> x) const {
    if (asked_ != nullptr) ++*asked_;
    return terms_.langevin.gradient(terms_.context, x);
  }
  /// What a path is, and what its term means.
  std::pair<detail::PathTraits, Calculus> path(std::size_t control) const;
  /// What the paths remember at first, and these terms with such a memory, which `increment` changes.
  detail::PathMemory start_memory() const;
  Slopes remembering(detail::PathMemory& memory) const;
  /// Whether the term is a DelayTerm; and it with states of the past.
  bool delayed() const { return terms_.delays.slope != nullptr; }
  Slopes seeing(const detail::PastLookup& past) const;
  /// These terms, which count how often they are asked for.
  Slopes counting(std::int64_t& asked) const {
    Slopes with = *this;
    with.asked_ = &asked;
    return with;
  }

 private:
  std::vector<Array> by_term(std::size_t i, const Array& t, std::span<const Array> y) const;

  detail::FlatTerms terms_;
  Array direction_, mass_ = {}, pseudoinverse_ = {};
  detail::PathMemory* memory_ = nullptr;
  const detail::PastLookup* past_ = nullptr;
  std::int64_t* asked_ = nullptr;
};

/// Σ factors · controls: factors[i] of terms of the same controls, of which empty ones count as 0.
Controls combined(std::initializer_list<std::pair<Array, const Controls&>> terms);

}  // namespace apsis
