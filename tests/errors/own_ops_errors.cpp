#include <apsis/apsis.hpp>

#include "apsis/ops/extend.hpp"
#include "errors/provoke.hpp"

using namespace apsis;

namespace {

// Ops whose authors left something out.
const Op shapeless = {.name = "my.shapeless",
                      .kind = OpKind::Index,
                      .evaluate = [](const Params&, std::span<const Array>, std::span<Array>) {}};
const Op another_sin = {.name = "sin", .kind = OpKind::Index};

}  // namespace

APSIS_PROVOKES_WITHOUT_PLACE(
    no_shape, "[my.shapeless] the op has no shape rule, which every op needs; give its Op a `shape`",
    bind1(shapeless, {}, {array(1.)}))

APSIS_PROVOKES(
    op_name_taken,
    "[register_op] there is another op called 'sin'; give yours a name of its own, such as 'my.sin'",
    register_op(another_sin))
