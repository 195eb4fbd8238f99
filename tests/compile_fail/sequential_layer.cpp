// expect: a layer of make_sequential is called as layer(x)
#include <apsis/apsis.hpp>

auto slip() { return apsis::nn::make_sequential(apsis::nn::Identity{}, apsis::nn::celu); }
