// Bounds of stiff solves: CVODE (BDF) from Debian's source package at -O3, with the Jacobian written out
// where the row says so. Tolerances are those whose errors are as small as those of Apsis' side (README.md).
// Built by bench/work_precision/build.sh.

#include <cmath>
#include <stdexcept>
#include <string>

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "../work_precision/common.hpp"
#include "problems.hpp"
#include "report.hpp"

namespace {

using Vector = std::vector<double>;

void check(int flag) {
  if (flag < 0) throw std::runtime_error("CVODE failed");
}

/// What is solved: n equations, how their matrices are stored, and the Jacobian, by differences if null.
struct Problem {
  CVRhsFn slope;
  CVLsJacFn jacobian;
  SUNMatrix (*matrix)(sunindextype n, SUNContext context);
  SUNLinearSolver (*linear)(N_Vector y, SUNMatrix a, SUNContext context);
};

Vector solve(const Problem& p, Vector y, double t1, double rtol, double atol, void* parameters = nullptr) {
  SUNContext context;
  SUNContext_Create(nullptr, &context);
  N_Vector state = N_VMake_Serial(static_cast<sunindextype>(y.size()), y.data(), context);
  void* memory = CVodeCreate(CV_BDF, context);
  CVodeInit(memory, p.slope, 0, state);
  CVodeSetUserData(memory, parameters);
  CVodeSStolerances(memory, rtol, atol);
  CVodeSetMaxNumSteps(memory, 1'000'000);
  SUNMatrix matrix = p.matrix(static_cast<sunindextype>(y.size()), context);
  SUNLinearSolver linear = p.linear(state, matrix, context);
  CVodeSetLinearSolver(memory, linear, matrix);
  if (p.jacobian != nullptr) CVodeSetJacFn(memory, p.jacobian);
  CVodeSetStopTime(memory, t1);
  double t = 0;
  const int flag = CVode(memory, t1, state, &t, CV_NORMAL);
  CVodeFree(&memory);
  SUNLinSolFree(linear);
  SUNMatDestroy(matrix);
  N_VDestroy(state);
  SUNContext_Free(&context);
  check(flag);
  return y;
}

SUNMatrix dense(sunindextype n, SUNContext context) { return SUNDenseMatrix(n, n, context); }

/// The rate of the slow reaction is the parameter.
int robertson(realtype, N_Vector state, N_Vector slope, void* rate) {
  const double *y = NV_DATA_S(state), slow = *static_cast<double*>(rate);
  double* d = NV_DATA_S(slope);
  const double first = slow * y[0] - 1e4 * y[1] * y[2];
  d[2] = 3e7 * y[1] * y[1];
  d[0] = -first;
  d[1] = first - d[2];
  return 0;
}
int robertson_jacobian(realtype, N_Vector state, N_Vector, SUNMatrix j, void* rate, N_Vector, N_Vector,
                       N_Vector) {
  const double *y = NV_DATA_S(state), slow = *static_cast<double*>(rate);
  double* a = SUNDenseMatrix_Data(j);  // by columns
  a[0] = -slow, a[3] = 1e4 * y[2], a[6] = 1e4 * y[1];
  a[2] = 0, a[5] = 6e7 * y[1], a[8] = 0;
  for (int c = 0; c < 3; ++c) a[3 * c + 1] = -a[3 * c] - a[3 * c + 2];
  return 0;
}

/// The Brusselator on a periodic square, u and v of each point by turns; see apsis/brusselator.cpp.
constexpr int side = 20, points = side * side;
void neighbours(int at, int (&found)[4]) {
  const int i = at / side, j = at % side;
  found[0] = (i + 1) % side * side + j;
  found[1] = (i + side - 1) % side * side + j;
  found[2] = i * side + (j + 1) % side;
  found[3] = i * side + (j + side - 1) % side;
}
constexpr double factor = side * side / 10.;
int in_the_plane(realtype, N_Vector state, N_Vector slope, void*) {
  const double* y = NV_DATA_S(state);
  double* d = NV_DATA_S(slope);
  for (int p = 0; p < points; ++p) {
    int beside[4];
    neighbours(p, beside);
    const double u = y[2 * p], v = y[2 * p + 1], reaction = u * u * v;
    double u_sum = -4 * u, v_sum = -4 * v;
    for (int q : beside) u_sum += y[2 * q], v_sum += y[2 * q + 1];
    d[2 * p] = 1 + reaction - 4.4 * u + factor * u_sum;
    d[2 * p + 1] = 3.4 * u - reaction + factor * v_sum;
  }
  return 0;
}
int plane_jacobian(realtype, N_Vector state, N_Vector, SUNMatrix j, void*, N_Vector, N_Vector, N_Vector) {
  const double* y = NV_DATA_S(state);
  sunindextype *starts = SUNSparseMatrix_IndexPointers(j), *rows = SUNSparseMatrix_IndexValues(j), next = 0;
  double* values = SUNSparseMatrix_Data(j);
  for (int column = 0; column < 2 * points; ++column) {
    const int p = column / 2, part = column % 2;
    const double u = y[2 * p], v = y[2 * p + 1];
    starts[column] = next;
    rows[next] = 2 * p, values[next++] = part == 0 ? 2 * u * v - 4.4 - 4 * factor : u * u;
    rows[next] = 2 * p + 1, values[next++] = part == 0 ? 3.4 - 2 * u * v : -u * u - 4 * factor;
    int beside[4];
    neighbours(p, beside);
    for (int q : beside) rows[next] = 2 * q + part, values[next++] = factor;
  }
  starts[2 * points] = next;
  return 0;
}

template <class P>
int slope_of(realtype, N_Vector y, N_Vector dy, void*) {
  P::slope(NV_DATA_S(y), NV_DATA_S(dy));
  return 0;
}

Vector picked(const Vector& y, const std::vector<int>& places) {
  Vector out;
  for (int i : places) out.push_back(y[static_cast<std::size_t>(i)]);
  return out;
}

void robertson_solve() {
  const Problem p{robertson, robertson_jacobian, dense, SUNLinSol_Dense};
  volatile double slow = 0.04;
  Vector end;
  const double spent = limits::median_seconds(51, [&] {
    double rate = slow;
    end = solve(p, {1, 0, 0}, 1e5, 1e-8, 1e-12, &rate);
  });
  limits::report("robertson/solve", "us", spent * 1e6, end);
}

/// Of the 10,000 solves every tenth, one after the other.
void robertson_ensemble() {
  const Problem p{robertson, robertson_jacobian, dense, SUNLinSol_Dense};
  Vector ends;
  const double spent = limits::median_seconds(3, [&] {
    ends.clear();
    for (int i = 0; i < 10'000; i += 10) {
      double rate = 0.02 + 0.04 * i / 9999.;
      const Vector end = solve(p, {1, 0, 0}, 1e5, 1e-8, 1e-12, &rate);
      if (i % 4000 == 0) ends.insert(ends.end(), end.begin(), end.end());
    }
  });
  limits::report("robertson/ensemble", "us/solve", spent * 1e3, ends);
}

void pollution() {
  const Problem p{slope_of<POLLUTION>, nullptr, dense, SUNLinSol_Dense};
  Vector end;
  const double spent =
      limits::median_seconds(51, [&] { end = solve(p, POLLUTION::y0(), POLLUTION::t1, 3e-8, 3e-13); });
  limits::report("pollution/solve", "us", spent * 1e6, picked(end, {0, 1, 3, 6, 7, 14}));
}

void brusselator() {
  const Problem line{slope_of<Brusselator>, nullptr,
                     [](sunindextype n, SUNContext c) { return SUNBandMatrix(n, 2, 2, c); }, SUNLinSol_Band};
  Vector end;
  double spent =
      limits::median_seconds(11, [&] { end = solve(line, Brusselator::y0(), Brusselator::t1, 3e-7, 3e-7); });
  limits::report("brusselator/banded", "ms", spent * 1e3, picked(end, {0, 126, 254, 1, 127, 255}));

  const Problem plane{in_the_plane, plane_jacobian,
                      [](sunindextype n, SUNContext c) { return SUNSparseMatrix(n, n, 6 * n, CSC_MAT, c); },
                      SUNLinSol_KLU};
  Vector start;
  for (int p = 0; p < points; ++p) {
    const auto bump = [](double at) { return std::pow(at * (1 - at), 1.5); };
    const double x = p / side / static_cast<double>(side), y = p % side / static_cast<double>(side);
    start.push_back(22 * bump(x));
    start.push_back(27 * bump(y));
  }
  spent = limits::median_seconds(11, [&] { end = solve(plane, start, 11.5, 1e-6, 1e-6); });
  limits::report("brusselator/2d", "ms", spent * 1e3, picked(end, {0, 210, 420, 1, 211, 421}));
}

}  // namespace

int main(int count, char** words) {
  const struct {
    const char* name;
    void (*run)();
  } groups[] = {{"robertson", robertson_solve},
                {"robertson-ensemble", robertson_ensemble},
                {"pollution", pollution},
                {"brusselator", brusselator}};
  for (const auto& group : groups)
    if (count < 2 || std::string(words[1]) == group.name) group.run();
}
