#!/usr/bin/env bash
# Installs what building and testing twinstep needs on Debian 12. Does nothing when all of it is there.
set -euo pipefail

packages=(
  g++ cmake ninja-build git ca-certificates python3 iproute2
  libfmt-dev nlohmann-json3-dev libvalijson-dev libcli11-dev libboost-graph-dev
  libpugixml-dev libyaml-cpp-dev libtoml11-dev libssl-dev zlib1g-dev libceres-dev libeigen3-dev libopenblas-dev libgloo-dev
  libtbb-dev libsqlite3-dev libopenmpi-dev openmpi-bin
  catch2 libbenchmark-dev time chromium
)
# Node.js of another source brings npm with it, and Debian's npm would not go beside it.
command -v npm >/dev/null || packages+=(npm)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "these packages are missing and there is no sudo: ${missing[*]}" >&2; exit 3; }
  as_root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
