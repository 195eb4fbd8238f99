// expect: std::less<apsis::Array>
// expect: deleted
#include <apsis/apsis.hpp>

// What std::map and std::set ask of their keys.
bool use(const apsis::Array& x, const apsis::Array& y) { return std::less<apsis::Array>{}(x, y); }
