#!/usr/bin/env bash
# Builds the peers of the work-precision diagrams: CVODE from Debian's source package at -O3 (the packaged library is built at -O0), odeint
# from the headers of libboost-dev; and CVODE as the bound of stiff rows of the benchmark, with KLU from libsuitesparse-dev.
# usage: bench/work_precision/build.sh [BUILD]      default build; needs deb-src lines for apt-get source, or SUNDIALS=folder of the source
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
build="$(cd "${1:-$here/../../build}" && pwd)"
python="${PYTHON:-python3}"
out="$build/work_precision"
mkdir -p "$out"
"$python" "$here/problems.py" "$out/problems.hpp"

if [ ! -e "$out/sundials/lib" ]; then
  if [ -z "${SUNDIALS:-}" ]; then
    (cd "$out" && apt-get source sundials)
    SUNDIALS="$(ls -d "$out"/sundials-*/ | head -1)"
  fi
  cmake -S "$SUNDIALS" -B "$out/sundials-build" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=-O3 -march=native -DNDEBUG" \
    -DBUILD_ARKODE=OFF -DBUILD_CVODES=OFF -DBUILD_IDA=OFF -DBUILD_IDAS=OFF -DBUILD_KINSOL=OFF -DBUILD_SHARED_LIBS=OFF \
    -DENABLE_KLU=ON "-DKLU_INCLUDE_DIR=${SUITESPARSE_INCLUDE:-/usr/include/suitesparse}" \
    "-DKLU_LIBRARY_DIR=${SUITESPARSE_LIBRARY:-/usr/lib/$(gcc -print-multiarch)}" \
    -DEXAMPLES_ENABLE_C=OFF -DEXAMPLES_INSTALL=OFF -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$out/sundials"
  cmake --build "$out/sundials-build" --target install
fi
flags=(-std=c++20 -O3 -march=native -DNDEBUG -I "$out" -I "$here")
sundials=(-I "$out/sundials/include" "$out/sundials/lib/libsundials_cvode.a" "$out/sundials/lib/libsundials_nvecserial.a"
  "$out/sundials/lib/libsundials_sunlinsoldense.a" "$out/sundials/lib/libsundials_sunlinsolband.a"
  "$out/sundials/lib/libsundials_sunmatrixdense.a" "$out/sundials/lib/libsundials_sunmatrixband.a"
  "$out/sundials/lib/libsundials_sunnonlinsolfixedpoint.a" "$out/sundials/lib/libsundials_sunnonlinsolnewton.a")
g++ "${flags[@]}" "$here/cvode.cpp" "${sundials[@]}" -lm -o "$out/cvode"
mkdir -p "$build/bench"
g++ "${flags[@]}" "$here/../limits/cvode.cpp" -I "${SUITESPARSE_INCLUDE:-/usr/include/suitesparse}" "$out/sundials/lib/libsundials_sunlinsolklu.a" \
  "$out/sundials/lib/libsundials_sunmatrixsparse.a" "${sundials[@]}" -lklu -lm -o "$build/bench/limit_cvode"
g++ "${flags[@]}" -std=c++17 ${BOOST:+-I "$BOOST"} "$here/odeint.cpp" -o "$out/odeint"
