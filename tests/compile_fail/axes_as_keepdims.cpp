// expect: several_axes_are_written_as_dot_axis_equals_braces
#include <apsis/apsis.hpp>

apsis::Array use(const apsis::Array& x) { return apsis::sum(x, {0, 1}); }
