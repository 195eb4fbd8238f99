// expect: complex numbers as operands are std::complex<float> and std::complex<double>
#include <complex>

#include <apsis/apsis.hpp>

apsis::Array slip(const apsis::Array& x) { return x * std::complex<long double>(0.L, 1.L); }
