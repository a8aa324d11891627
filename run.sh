#!/usr/bin/env bash
# The newcomer's commands: install what is missing, build, and show or test it.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'HELP'
Retake: recordings -> scenes of 3D Gaussians -> any view over HTTP.

usage: ./run.sh COMMAND

  demo      install, build, make a small street recording, reconstruct it with a progress bar,
            serve it and print the address (Ctrl-C stops the server)
  serve     install, build and serve; further options go to `retake serve`
  test      install, build, and run every test this machine can run
  build     install what building needs and build the release
  install   install what building, serving and testing need (Debian 12, Ubuntu 24.04)
  clean     remove the build folders

  RETAKE_PORT=N   port of demo and serve (8080)
  RETAKE_JOBS=N   parallel compile jobs (all cores)
HELP
}

say() { printf '\033[1m== %s\033[0m\n' "$*"; }
jobs="${RETAKE_JOBS:-$(nproc)}"

BUILD_PACKAGES=(gcc make cmake pkg-config git ca-certificates libmicrohttpd-dev libjansson-dev
  libpng-dev libjpeg-dev libturbojpeg0-dev libsqlite3-dev libzip-dev libarchive-dev zlib1g-dev
  libzstd-dev nettle-dev libcmocka-dev)
TEST_PACKAGES=(python3 python3-pytest python3-numpy python3-yaml curl clang-tidy clang-format
  cppcheck chromium nodejs npm)

# Installs the packages of the list that are not there and prints them; silent when all are.
install_packages() {
  command -v apt-get >/dev/null || {
    echo "run.sh installs with apt-get (Debian 12, Ubuntu 24.04); on other systems install: $*" >&2
    exit 1
  }
  local missing=() name
  for name in "$@"; do
    # A command that is already there by other means (a newer node, say) counts as installed.
    case "$name" in
      nodejs) command -v node >/dev/null && continue ;;
      npm | git | curl | chromium | cmake) command -v "$name" >/dev/null && continue ;;
    esac
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "installing: ${missing[*]}"
  local sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

install_npm() {
  [ -f package-lock.json ] || return 0
  if [ ! -f node_modules/.package-lock.json ] ||
    [ package-lock.json -nt node_modules/.package-lock.json ]; then
    say "npm ci: packages of the browser tests and the viewer"
    npm ci --no-audit --no-fund --loglevel=error
    touch node_modules/.package-lock.json
  fi
}

build() { # preset
  say "building ($1)"
  local log
  log=$(mktemp)
  cmake --preset "$1" >"$log" 2>&1 || { cat "$log"; rm -f "$log"; exit 1; }
  rm -f "$log"
  cmake --build "build/$1" -j "$jobs" -- --no-print-directory
}

serve() { # options of `retake serve`
  exec build/release/retake serve --port "${RETAKE_PORT:-8080}" "$@"
}

demo() {
  local data="${XDG_DATA_HOME:-$HOME/.local/share}/retake" started
  local street="$data/demo/street" scene="$data/scenes/street.retake"
  started=$(date +%s)
  mkdir -p "$data/demo" "$data/scenes"
  if [ ! -f "$scene" ]; then
    if [ ! -f "$street/recording.json" ]; then
      say "making a street recording: $street"
      build/release/retake synth "$street" --static --force
    fi
    say "reconstructing it: $scene"
    build/release/retake reconstruct "$street" -o "$scene" --work "$data/demo/work" --resume \
      --config splats_max=100000
  fi
  say "$(($(date +%s) - started)) s of compute. Open the address below; Ctrl-C stops the server."
  serve --data "$data"
}

run_tests() {
  local suites=(--output-on-failure --no-tests=error -j "$jobs")
  build release
  build asan
  say "AddressSanitizer and UBSan: the CPU suite"
  ctest --test-dir build/asan "${suites[@]}" -L 'unit|grad|golden|fuzz'
  say "release: the whole suite"
  ctest --test-dir build/release "${suites[@]}"
}

case "${1:-help}" in
  demo)
    install_packages "${BUILD_PACKAGES[@]}" nodejs npm
    install_npm
    build release
    demo
    ;;
  serve)
    shift
    install_packages "${BUILD_PACKAGES[@]}" nodejs npm
    install_npm
    build release
    serve "$@"
    ;;
  test)
    install_packages "${BUILD_PACKAGES[@]}"
    install_packages "${TEST_PACKAGES[@]}"
    install_npm
    run_tests
    ;;
  build)
    install_packages "${BUILD_PACKAGES[@]}"
    build release
    ;;
  install)
    install_packages "${BUILD_PACKAGES[@]}"
    install_packages "${TEST_PACKAGES[@]}"
    install_npm
    ;;
  clean) rm -rf build ;;
  help | --help | -h) usage ;;
  *)
    echo "run.sh: unknown command \"$1\"" >&2
    usage >&2
    exit 2
    ;;
esac
