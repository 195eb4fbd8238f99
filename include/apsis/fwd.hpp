#pragma once

// The names that a user's header needs to declare functions and hold references, at no cost.

#include <cstdint>

/// Arrays, transformations of functions, loops, and differential equations.
namespace apsis {

class Array;
class Aval;
class Dims;
class Error;
enum class Dtype : std::uint8_t;
struct Loc;

}  // namespace apsis
