#!/usr/bin/env bash
# Builds the benchmarks, installs the peers and measures both sides in one run.
# usage: bench/run.sh [BUILD] [JOBS] [ARGUMENT OF run.py ...]
set -euo pipefail
cd "$(dirname "$0")/.."
build="${1:-build}"
jobs="${2:-2}"
cmake -S . -B "$build" -DAPSIS_BENCH=ON >/dev/null
cmake --build "$build" -j "$jobs" --target bench
tools/install_packages.sh bench
bench/install_peers.sh "$build/peers"
status=0
python3 bench/run.py --build "$build" "${@:3}" || status=$?
if [ $# -le 2 ]; then python3 bench/arrays.py --build "$build" || status=$?; fi
exit $status
