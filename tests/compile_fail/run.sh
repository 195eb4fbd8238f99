#!/usr/bin/env bash
# Runs the compilers over the cases of this folder: run.sh INCLUDE_DIR CASE_DIR COMPILER...
# A case begins with lines `// expect: text`: it must be refused, with every text in the compiler's output, which has at
# most 15 lines and names the case's own; or with the line `// compiles`: it must pass without warnings.
set -u
include=$1
cases=$2
shift 2
precompiled=$(mktemp -d)
trap 'rm -rf "$precompiled"' EXIT

flags="-std=c++20 -Wall -Wextra -Werror -I$precompiled -I$include"
# The header of all headers is read once, by a name that both compilers look for where a case includes it: GCC by
# itself, Clang where it is told.
precompile() {  # COMPILER
  mkdir -p "$precompiled/apsis"
  echo '#include <apsis/apsis.hpp>' >"$precompiled/all.hpp"
  rm -f "$precompiled/apsis/apsis.hpp.gch"
  "$1" $flags -x c++-header "$precompiled/all.hpp" -o "$precompiled/apsis/apsis.hpp.gch"
}

check() {  # COMPILER CASE
  local output status=0 expected header=""
  if [ "$clang" = 1 ] && grep -q '^#include <apsis/apsis.hpp>' "$2"; then
    header="-include-pch $precompiled/apsis/apsis.hpp.gch"
  fi
  output=$("$1" $flags $header -fsyntax-only "$2" 2>&1) || status=1
  output=$(grep -v "^In file included from $precompiled/all.hpp" <<<"$output")
  if head -n 1 "$2" | grep -qx '// compiles'; then
    [ $status = 0 ] && return 0
    printf 'FAILED %s with %s: refused\n%s\n' "$2" "$1" "$(head -n 20 <<<"$output")"
    return 1
  fi
  if [ $status = 0 ]; then
    printf 'FAILED %s with %s: it compiled\n' "$2" "$1"
    return 1
  fi
  if ! grep -q '^// expect: ' "$2"; then
    printf 'FAILED %s: its first line is neither `// expect: …` nor `// compiles`\n' "$2"
    return 1
  fi
  while IFS= read -r expected; do
    if ! grep -qF -- "$expected" <<<"$output"; then
      printf 'FAILED %s with %s: expected: %s\n%s\n' "$2" "$1" "$expected" "$(head -n 40 <<<"$output")"
      return 1
    fi
  done < <(sed -n 's|^// expect: ||p' "$2")
  if [ "$(wc -l <<<"$output")" -gt 15 ]; then
    printf 'FAILED %s with %s: the sentence drowns in %s lines\n%s\n' "$2" "$1" "$(wc -l <<<"$output")" "$output"
    return 1
  fi
  if ! grep -q "^$2:[0-9]" <<<"$output"; then
    printf 'FAILED %s with %s: no line of the case is named\n%s\n' "$2" "$1" "$output"
    return 1
  fi
}
export -f check
export flags precompiled clang

count=$(find "$cases" -name '*.cpp' | wc -l)
if [ "$count" = 0 ]; then
  echo "no cases in $cases"
  exit 1
fi
failed=0
for compiler in "$@"; do
  clang=$("$compiler" --version | grep -c clang)
  precompile "$compiler" || exit 1
  find "$cases" -name '*.cpp' -print0 | sort -z | xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$0" "$1"' "$compiler" || failed=1
  echo "$count cases with $compiler"
done
exit $failed
