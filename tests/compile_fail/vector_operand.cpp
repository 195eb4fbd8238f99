// expect: a std::vector or std::array of numbers is no Array: write array(v)
#include <apsis/apsis.hpp>

apsis::Array slip(const apsis::Array& x, const std::vector<double>& v) { return x + v; }
