#!/usr/bin/env bash
# Compares the C++ files that git knows with .clang-format. clang-format 14 decides; without it there is nothing to say.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

formatter=$(command -v clang-format-14 || true)
if [ -z "$formatter" ]; then
  echo "layout not checked: clang-format-14 is not installed"
  exit 0
fi
wrong=$(git ls-files -z '*.cpp' '*.hpp' '*.cu' | xargs -0 "$formatter" --dry-run 2>&1 |
  sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: warning: code should be.*/\1/p' | sort -u)
if [ -n "$wrong" ]; then
  printf 'not laid out as .clang-format says; run clang-format-14 -i on\n%s\n' "$wrong" >&2
  exit 1
fi
echo "every file is laid out as .clang-format says"
