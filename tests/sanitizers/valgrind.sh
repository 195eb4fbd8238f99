#!/usr/bin/env bash
# usage: tests/sanitizers/valgrind.sh PROGRAM [ARGUMENT...]
# Runs a test program under valgrind's memcheck, code that was made while it runs included. PROGRAM is one of a build with
# APSIS_SANITIZE=valgrind: `cmake --preset valgrind && cmake --build --preset valgrind --target test_compositions`, then
#   APSIS_COMPOSITIONS=1,500 tests/sanitizers/valgrind.sh build/valgrind/tests/test_compositions --gtest_filter='*Random'
# It runs twice: first as it is, to compile what it needs and keep that on disk, for compiling takes very long under
# valgrind; then under valgrind. Fails at the first kind of error, or where the program fails. Random programs are not cut
# down there: what fails is told by its seed. They take a second or two each.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
kept=${APSIS_VALGRIND_CACHE:-$(mktemp -d)}
[ -n "${APSIS_VALGRIND_CACHE:-}" ] || trap 'rm -rf "$kept"' EXIT
export APSIS_DISK_CACHE=$kept APSIS_DISK_CACHE_BYTES=${APSIS_DISK_CACHE_BYTES:-8000000000}
"$@" > /dev/null
export APSIS_COMPOSITIONS_SHRINK=0 APSIS_COMPOSITIONS_LIMIT=${APSIS_COMPOSITIONS_LIMIT:-3000}
valgrind --quiet --error-exitcode=9 --exit-on-first-error=${APSIS_VALGRIND_STOP:-no} --undef-value-errors=yes \
  --max-stackframe=8000000 --suppressions="$here/valgrind.supp" ${APSIS_VALGRIND_OPTIONS:-} "$@"
