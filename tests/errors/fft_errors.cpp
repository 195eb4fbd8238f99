#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

APSIS_PROVOKES(
    fft_length,
    "[irfft] a transform of 0 points along axis 0 of c128[1]: there must be at least one; give n, or an "
    "array with entries there",
    fft::irfft(astype(ones({1}), c128)))

APSIS_PROVOKES(fft_of_real, "[rfft] transforms real numbers, got c128[3]; use fft for complex ones",
               fft::rfft(astype(ones({3}), c128)))

APSIS_PROVOKES(
    fft_axes,
    "[fftn] sizes [3] for the axes [0, 0] of f64[2,3]: name one axis or more, none twice, and give one "
    "size for each",
    fft::fftn(ones({2, 3}), {.s = Dims{3}, .axes = {0, 0}}))

APSIS_PROVOKES(
    fft_two_axes,
    "[fft2] transforms along two axes, got the axes [1]: name two, or use the function of the same name that "
    "ends in n",
    fft::fft2(ones({2, 3}), {.axes = {1}}))

APSIS_PROVOKES(fft_points, "[fftfreq] frequencies of 0 points: there must be at least one", fft::fftfreq(0))
