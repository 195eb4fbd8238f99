// SUNDIALS' side: CVODE with BDF and its own difference quotients for Jacobians, dense or banded, or with
// Adams.

#include <cstring>
#include <memory>
#include <stdexcept>

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include "common.hpp"
#include "problems.hpp"

namespace {

template <class P>
int slope(realtype, N_Vector y, N_Vector dy, void*) {
  P::slope(NV_DATA_S(y), NV_DATA_S(dy));
  return 0;
}
void check(int flag) {
  if (flag < 0) throw std::runtime_error("CVODE failed");
}

template <class P>
std::vector<double> solve(double rtol, double floor, bool stiff, int band) {
  SUNContext context;
  SUNContext_Create(nullptr, &context);
  std::vector<double> y = P::y0();
  N_Vector state = N_VMake_Serial(P::n, y.data(), context);
  void* memory = CVodeCreate(stiff ? CV_BDF : CV_ADAMS, context);
  CVodeInit(memory, slope<P>, P::t0, state);
  CVodeSStolerances(memory, rtol, rtol * floor);
  CVodeSetMaxNumSteps(memory, 10'000'000);
  CVodeSetErrFile(memory, nullptr);
  SUNMatrix matrix = nullptr;
  SUNLinearSolver linear = nullptr;
  SUNNonlinearSolver nonlinear = nullptr;
  if (!stiff) {
    nonlinear = SUNNonlinSol_FixedPoint(state, 0, context);
    CVodeSetNonlinearSolver(memory, nonlinear);
  } else if (band > 0) {
    matrix = SUNBandMatrix(P::n, band, band, context);
    linear = SUNLinSol_Band(state, matrix, context);
    CVodeSetLinearSolver(memory, linear, matrix);
  } else {
    matrix = SUNDenseMatrix(P::n, P::n, context);
    linear = SUNLinSol_Dense(state, matrix, context);
    CVodeSetLinearSolver(memory, linear, matrix);
  }
  double t = P::t0;
  CVodeSetStopTime(memory, P::t1);
  const int flag = CVode(memory, P::t1, state, &t, CV_NORMAL);
  CVodeFree(&memory);
  if (linear != nullptr) SUNLinSolFree(linear);
  if (nonlinear != nullptr) SUNNonlinSolFree(nonlinear);
  if (matrix != nullptr) SUNMatDestroy(matrix);
  N_VDestroy(state);
  SUNContext_Free(&context);
  check(flag);
  return y;
}

template <class P>
void run(const char* side, double floor, bool stiff, int band) {
  for (double rtol : P::rtols()) {
    try {
      std::vector<double> y;
      const double seconds = seconds_of([&] { y = solve<P>(rtol, floor, stiff, band); });
      tell(P::name, side, rtol, seconds, y);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s %s %g: %s\n", P::name, side, rtol, error.what());
    }
  }
}
template <class... P>
void run_list(List<P...>, const char* only) {
  ((only == nullptr || std::strcmp(only, P::name) == 0
        ? run<P>(P::stiff ? "CVODE BDF" : "CVODE Adams", P::floor, P::stiff, 0)
        : void()),
   ...);
}

}  // namespace

int main(int count, char** words) {
  const char* only = count > 1 ? words[1] : nullptr;
  run_list(Problems{}, only);
  if (only == nullptr || std::strcmp(only, Brusselator::name) == 0)
    run<Brusselator>("CVODE BDF, banded", 1., true, 2);
}
