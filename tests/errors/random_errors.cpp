// Random numbers.

#include "apsis/apsis.hpp"
#include "errors/provoke.hpp"

using namespace apsis;

namespace {

Array matrix() { return reshape(arange(6), {2, 3}); }

}  // namespace

APSIS_PROVOKES(
    random_key,
    "[uniform] a key is an array u32[2], got i32[2]; make one with random::key(seed), and take one row of "
    "split's keys",
    random::uniform(array({0, 1})))

APSIS_PROVOKES(random_seed, "[random] a seed is a scalar integer, got f64[1]", random::key(array({0.5})))

APSIS_PROVOKES(categorical_shape,
               "[categorical] the shape [4, 5] must end in the shape [2] of the logits without their axis",
               random::categorical(random::key(0), zeros({2, 3}), -1, {4, 5}))

APSIS_PROVOKES(
    choice_vector,
    "[choice] chooses among the entries of a vector, got shape [2, 3]; draw indices with randint for other "
    "arrays",
    random::choice(random::key(0), matrix(), {2}))

APSIS_PROVOKES(choice_probabilities,
               "[choice] probabilities of shape [2] do not fit entries of shape [3]; give one an entry",
               random::choice(random::key(0), arange(3), {2}, array({.5, .5})))

APSIS_PROVOKES(
    sobol_dimensions,
    "[normal_members] 1025 numbers a point, and Sobol's sequence has from 0 to 1024 here: draw the first of "
    "them, the most important, so, and the others with Draws::Independent",
    random::normal_members(random::key(0), 4, {25, 41}, {.draws = Draws::Sobol}))

APSIS_PROVOKES(member_number, "[sobol] the number of the first member must be a scalar integer, got f64[1]",
               random::sobol(4, 2, {.first = array({0.5})}))
