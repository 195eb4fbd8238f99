// expect: std::hash<apsis::Array>
// expect: deleted
#include <apsis/apsis.hpp>

#include <unordered_set>

std::size_t use(const apsis::Array& x) { return std::hash<apsis::Array>()(x); }
