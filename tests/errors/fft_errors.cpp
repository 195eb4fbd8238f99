#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

APSIS_PROVOKES(
    fft_length,
    "[fft] a transform of 0 points along axis 0 of c128[0]: there must be at least one; give n, or an "
    "array with entries there",
    fft::fft(astype(ones({0}), c128)))

APSIS_PROVOKES(
    fft_of_half,
    "[irfft] c128[1] has one entry along axis 0: k entries are the transform of 2 (k - 1) real numbers, "
    "which must be at least two; say how many with n, or give more entries",
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
