// expect: a pointer to it has no default arguments; write a lambda
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) { (void)vmap(tril)(x); }
