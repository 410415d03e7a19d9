# What demo, check and the other scripts share. Source it; it changes to the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

started=$SECONDS

# say "what comes next", with the seconds since the script began.
say() { printf '[%3d s] %s\n' $((SECONDS - started)) "$*"; }

# quietly LOG COMMAND…: the command's output goes to build/logs/LOG.log and is shown only if it fails.
quietly() {
  local log="build/logs/$1.log"
  shift
  mkdir -p build/logs
  if ! "$@" >"$log" 2>&1 </dev/null; then
    grep -nE '(error|FAILED|Error):? ' "$log" | head -20 >&2 || true
    tail -n 40 "$log" >&2
    echo "failed: $*; everything it said is in $log" >&2
    exit 1
  fi
}
