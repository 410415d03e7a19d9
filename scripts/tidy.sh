#!/usr/bin/env bash
# clang-tidy 14 over our sources, those named on the command line or all that git knows: scripts/tidy.sh [FILE…]
#
# It reads libstdc++ 12 with Clang 14, which cannot parse all of <ranges>: a file that stops there is counted and named,
# not failed. Everything that it does parse must have no finding.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

tidy=$(command -v clang-tidy-14 || command -v clang-tidy || true)
if [ -z "$tidy" ]; then
  echo "clang-tidy is not installed: apt-get install clang-tidy" >&2
  exit 3
fi
# A folder of its own, which nothing is built in: each source is looked at alone, and so needs a command of its own.
quietly tidy-configure cmake --preset release -B build/tidy -D BUILD_TESTING=ON -D CMAKE_UNITY_BUILD=OFF

if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files '*.cpp' ':!tests'); fi
mkdir -p build/logs/tidy
rm -f build/logs/tidy/*
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I '{}' sh -c '
  log="build/logs/tidy/$(echo "$2" | tr / _).log"
  "$1" -p build/tidy --quiet --extra-arg=-Wno-unknown-warning-option "$2" >"$log" 2>/dev/null || true' tidy "$tidy" '{}'

unparsed=()
findings=0
for file in "${files[@]}"; do
  log="build/logs/tidy/$(echo "$file" | tr / _).log"
  if grep -q 'clang-diagnostic-error' "$log"; then
    unparsed+=("$file")
  elif grep -qE '(error|warning):' "$log"; then
    cat "$log"
    findings=$((findings + 1))
  fi
done
echo "clang-tidy: $((${#files[@]} - ${#unparsed[@]})) of ${#files[@]} files parsed, $findings with findings"
[ ${#unparsed[@]} -eq 0 ] || printf '  cannot be parsed by Clang 14: %s\n' "${unparsed[@]}"
[ "$findings" -eq 0 ]
