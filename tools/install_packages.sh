#!/usr/bin/env bash
# Installs the Debian packages Apsis is built with. Does nothing, and needs no network, when they are all there.
# usage: tools/install_packages.sh [build|docs]      APSIS_SKIP_PACKAGES=1 leaves the system alone
set -euo pipefail

[ -z "${APSIS_SKIP_PACKAGES:-}" ] || exit 0

case "${1:-build}" in
  build)
    # gnuplot draws the examples' plots; MPFR is what the tests measure the elementary functions against;
    # ccache makes the second build, and the tests that build Apsis inside another project, cheap.
    packages=(g++ cmake ninja-build make pkg-config libtbb-dev libopenblas-serial-dev libgtest-dev libmpfr-dev
              gnuplot-nox ccache python3)
    # Any one of these will do; the first that the system offers is taken when none is installed.
    llvm=(llvm-22-dev llvm-21-dev llvm-20-dev llvm-19-dev llvm-18-dev)
    ;;
  docs)
    packages=(doxygen)
    llvm=()
    ;;
  *)
    echo "usage: $0 [build|docs]" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "$0: this is no Debian-like system (there is no apt-get). Install the equivalents of" >&2
  echo "  ${packages[*]} ${llvm[0]:-}" >&2
  echo "by hand and run again with APSIS_SKIP_PACKAGES=1." >&2
  exit 1
fi

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
need_llvm=${llvm[0]:-}
for package in "${llvm[@]}"; do
  if installed "$package"; then
    need_llvm=
    break
  fi
done
[ ${#missing[@]} -gt 0 ] || [ -n "$need_llvm" ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "$0: packages are missing (${missing[*]} $need_llvm), and neither root nor sudo is at hand to install them." >&2
    exit 1
  fi
  as_root=(sudo)
fi

# noninteractive is given through env because sudo drops the caller's environment.
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"; }

apt update
if [ -n "$need_llvm" ]; then
  need_llvm=
  for package in "${llvm[@]}"; do
    if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
      need_llvm=$package
      break
    fi
  done
  if [ -z "$need_llvm" ]; then
    echo "$0: none of ${llvm[*]} is offered by the package sources of this system." >&2
    echo "On Debian 12 llvm-22-dev comes with bookworm-security, llvm-19-dev with bookworm." >&2
    exit 1
  fi
  missing+=("$need_llvm")
fi
echo "installing: ${missing[*]}"
apt install -y --no-install-recommends "${missing[@]}"
