#!/usr/bin/env bash
# Installs the benchmark's peers (JAX, Equinox, Diffrax, Optax, SciPy) into a private virtual environment.
# usage: bench/install_peers.sh [DIRECTORY]      default build/peers; does nothing when they are all there
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
venv="${1:-$here/../build/peers}"
stamp="$venv/requirements.installed"

if [ -x "$venv/bin/python" ] && cmp -s "$here/peers/requirements.txt" "$stamp"; then exit 0; fi
python="${PYTHON:-python3}"
if ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "$0: needs Python 3.11 or newer with venv (Debian: apt-get install python3-venv); PYTHON names another one" >&2
  exit 1
fi
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/peers/requirements.txt"
cp "$here/peers/requirements.txt" "$stamp"
