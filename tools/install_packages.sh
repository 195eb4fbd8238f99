#!/usr/bin/env bash
# Installs the Debian packages Apsis is built with. Does nothing, and needs no network, when they are all there.
# usage: tools/install_packages.sh [build|test|bench|docs]      APSIS_SKIP_PACKAGES=1 leaves the system alone
set -euo pipefail

[ -z "${APSIS_SKIP_PACKAGES:-}" ] || exit 0

# Of each list in `one_of` any package will do; the first that the system offers is taken when none is installed.
one_of=()
case "${1:-build}" in
  build | test)
    # SuiteSparse has the LU of sparse matrices; gnuplot draws the examples' plots;
    # MPFR is what the tests measure the elementary functions against;
    # ccache makes the second build, and the tests that build Apsis inside another project, cheap;
    # Doxygen builds the site, which has a test, too.
    packages=(g++ cmake ninja-build make pkg-config libtbb-dev libopenblas-serial-dev libsuitesparse-dev
              libgtest-dev libmpfr-dev gnuplot-nox ccache python3)
    [ "${1:-build}" = build ] || packages+=(doxygen)
    one_of=("llvm-22-dev llvm-21-dev llvm-20-dev llvm-19-dev llvm-18-dev")
    # The second compiler of the tests: a tenth of LLVM's size once LLVM itself is there.
    [ "${1:-build}" = build ] || one_of+=("clang-22 clang-21 clang-20 clang-19 clang-18 clang-17")
    ;;
  bench)
    # The peers live in a virtual environment of their own. FFTW is the bound of the Fourier transforms, oneDNN that
    # of convolutions.
    packages=(python3 python3-venv libfftw3-dev libdnnl-dev)
    one_of=()
    ;;
  docs)
    packages=(doxygen)
    ;;
  *)
    echo "usage: $0 [build|test|bench|docs]" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "$0: this is no Debian-like system (there is no apt-get). Install the equivalents of" >&2
  printf '  %s\n' "${packages[*]}" "${one_of[@]/#/one of: }" >&2
  echo "by hand and run again with APSIS_SKIP_PACKAGES=1." >&2
  exit 1
fi

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
open_choices=()
for choice in "${one_of[@]}"; do
  for package in $choice; do
    if installed "$package"; then continue 2; fi
  done
  open_choices+=("$choice")
done
[ ${#missing[@]} -gt 0 ] || [ ${#open_choices[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "$0: packages are missing (${missing[*]} ${open_choices[*]%% *}), and neither root nor sudo is at hand to install them." >&2
    exit 1
  fi
  as_root=(sudo)
fi

# noninteractive is given through env because sudo drops the caller's environment.
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"; }

apt update
for choice in "${open_choices[@]}"; do
  for package in $choice; do
    if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
      missing+=("$package")
      continue 2
    fi
  done
  echo "$0: the package sources of this system offer none of $choice" >&2
  echo "(Debian 12 has version 22 in bookworm-security and 19 in bookworm)." >&2
  exit 1
done
echo "installing: ${missing[*]}"
apt install -y --no-install-recommends "${missing[@]}"
