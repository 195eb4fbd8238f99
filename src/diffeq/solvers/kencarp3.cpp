// Kennedy and Carpenter's ARK3, of which both halves are of order 3(2): Additive Runge-Kutta schemes for
// convection-diffusion-reaction equations, Appl. Numer. Math. 44, 2003, appendix C.

#include "apsis/diffeq/implicit.hpp"
#include "diffeq/solvers/predictor.hpp"

namespace apsis {
namespace {

using Row = std::vector<double>;
using detail::on_line;

constexpr double gamma = 1767732205903. / 4055673282236.;
const Row b = {1471266399579. / 7840856788654., -4482444167858. / 7529755066697.,
               11266239266428. / 11593286722821., gamma};
const Row embedded = {2756255671327. / 12835298489170., -10771552573575. / 22201958757719.,
                      9247589265047. / 10645013368117., 2193209047091. / 5459859503100.};
const Row c = {0, 2. * gamma, 3. / 5., 1.0};

}  // namespace

const DiagonallyImplicitRungeKutta& KenCarp3::method() {
  static const DiagonallyImplicitRungeKutta table{
      .name = "KenCarp3",
      .order = 3,
      .error_order = 3,
      .c = c,
      .a = {{0},
            {gamma, gamma},
            {2746238789719. / 10658868560708., -640167445237. / 6845629431997., gamma},
            b},
      .b = b,
      .error = detail::difference(b, embedded),
      .predictor = {{}, {1}, on_line(2, 1, c[2] / c[1]), on_line(3, 1, c[3] / c[1])},
      .dense = {{4655552711362. / 22874653954995., -18682724506714. / 9892148508045.,
                 34259539580243. / 13192909600954., 584795268549. / 6622622206610.},
                {-215264564351. / 13552729205753., 17870216137069. / 13817060693119.,
                 -28141676662227. / 17317692491321., 2508943948391. / 7218656332882.}},
      .explicit_a = {{},
                     {2. * gamma},
                     {5535828885825. / 10492691773637., 788022342437. / 10882634858940.},
                     {6485989280629. / 16251701735622., -4246266847089. / 9704473918619.,
                      10755448449292. / 10357097424841.}}};
  return table;
}

}  // namespace apsis
