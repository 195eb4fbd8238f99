#pragma once

// Everything: what a program that uses Apsis includes. Rooms in the order in which they build on each other.

#include "apsis/base/error.hpp"
#include "apsis/base/loc.hpp"
#include "apsis/core/array.hpp"
#include "apsis/core/aval.hpp"
#include "apsis/core/dtype.hpp"
#include "apsis/core/shape.hpp"
