#!/usr/bin/env bash
# Records what the program answers to every example and documented command, so that two builds can be compared:
#   scripts/record_answers.sh BINARY FOLDER        then  diff -r FOLDER OTHER
# Times, dates and the program's own speed are blanked; everything else must stay the same to the last digit where a
# change says that it changes no answer.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[ $# -eq 2 ] || { echo "usage: scripts/record_answers.sh BINARY FOLDER" >&2; exit 2; }
twinstep=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

blank() {
  sed -E -e 's/"wall_s": [0-9.e+-]+/"wall_s": 0/g' -e 's/20[0-9]{2}-[0-9]{2}-[0-9]{2}/DATE/g' \
    -e 's/[0-9.]+ (s|ms|us) (of wall time|on [0-9]+ threads?)/TIME \2/g' -e "s#$work#WORK#g" \
    -e 's/, [0-9.]+ [mu]?s( \([0-9,]+ a second\))/, TIME/g' -e 's/[0-9.]+ [mun]?s, [0-9]+ threads?/TIME/g' -e 's/[0-9.,]+ a second/MANY a second/' \
    -e 's/ in [0-9.]+ (m?s)\b/ in TIME/g'
}
# ask NAME ARGUMENT…: standard output, standard error and the exit code, in one file.
ask() {
  local name=$1
  shift
  { printf '$ twinstep %s\n' "${*//$work/WORK}"; "$twinstep" "$@" 2>"$work/err" </dev/null && code=0 || code=$?
    cat "$work/err"; echo "exit code $code"; } 2>&1 | blank >"$out/$name.txt"
}
# keep NAME FILE: a file that a command wrote.
keep() { blank <"$2" >"$out/$1"; }

for file in examples/*.json; do
  name=$(basename "$file" .json)
  case $name in
    sweep-*)
      ask "$name" sweep "$file" --out "$work/$name.sqlite" --jsonl "$work/$name.jsonl" --csv "$work/$name.csv"
      keep "$name.jsonl" "$work/$name.jsonl"
      keep "$name.csv" "$work/$name.csv"
      ask "$name.report" report "$work/$name.sqlite" --text
      ;;
    *)
      ask "$name" simulate "$file"
      ask "$name.json" simulate "$file" --json --trace "$work/$name.trace.json"
      for trace in "$work/$name".*trace.json; do [ -e "$trace" ] && sha256sum <"$trace" >"$out/$(basename "$trace").sha256"; done
      ask "$name.why" simulate "$file" --why
      ask "$name.closed" simulate "$file" --fidelity closed
      ask "$name.report" report "$file" --text --markdown "$work/$name.md" --csv "$work/$name.csv" --json "$work/$name.json" --out "$work/$name.html"
      for kind in md csv json html; do [ -e "$work/$name.$kind" ] && keep "$name.report.$kind" "$work/$name.$kind"; done
      ;;
  esac
done

seven=examples/llama-2-7b-4xh100.json
seventy=examples/llama-3.1-70b-64xh100.json
for strategy in naive ddp zero-1 zero-2 zero-3 fsdp1 fsdp2 deepspeed-1 deepspeed-2 deepspeed-3 megatron; do
  ask "strategy.$strategy" simulate "$seven" --set "strategy={\"name\": \"$strategy\"}" --set training.global_batch=64 --json
  ask "strategy.$strategy.recompute" simulate "$seven" --set "strategy={\"name\": \"$strategy\", \"recompute\": \"full\"}" --trace "$work/$strategy.trace.json"
  sha256sum <"$work/$strategy.trace.json" >"$out/$strategy.trace.sha256"
done
ask why.zero1 simulate "$seven" --set 'strategy={"name": "zero-1"}' --why
ask why.zero1.json simulate "$seven" --set 'strategy={"name": "zero-1"}' --why --json
ask compare compare "$work/ddp.trace.json" "$work/fsdp2.trace.json"
ask compare.json compare "$work/ddp.trace.json" "$work/fsdp2.trace.json" --json
ask report.traces report "$work/ddp.trace.json" "$work/fsdp2.trace.json" --text
ask plan plan "$seventy" --gpus 512
ask plan.json plan "$seventy" --gpus 512 --json
ask plan.job plan "$seven" --gpus 8..64 --tokens 1T --deadline 90d --price "2.5 USD/GPU-hour@2026-11" --power "1 kW/GPU" \
  --checkpoint "60 s" --restart "5 min" --what-if 'cluster.node.nic=800 Gb/s,cluster.fabric.port=800 Gb/s'
ask plan.job.json plan "$seven" --gpus 8..64 --tokens 1T --deadline 90d --price "2.5 USD/GPU-hour@2026-11" --json
{ "$twinstep" plan "$seven" --gpus 8..64 --tokens 1T --json 2>/dev/null || true; } | blank >"$work/plan.json"
ask plan.report report "$work/plan.json" --text
ask plan.small plan examples/gpt2-2xrtx4090.json
ask collective collective dgx-h100-ndr --op all_reduce --ranks 16 -b 8 -e 16G -f 2 --explain
ask collective.json collective dgx-h100-ndr --op all_reduce --ranks 16 -b 8 -e 16G -f 2 --json
"$twinstep" collective dgx-h100-ndr --op all_reduce --ranks 16 --json >"$work/collective.json"
ask collective.report report "$work/collective.json" --text
ask collective.facts collective '{"gpu": "h200", "gpus_per_node": 8, "nodes": 4, "intra": "nvswitch", "fabric": "efa", "nics_per_node": 16, "nic_gbps": 200}' --op all_gather
for op in all_gather reduce_scatter broadcast reduce all_to_all gather scatter send_recv; do
  ask "collective.$op" collective dgx-a100-hdr --op $op -b 1K -e 64M -f 16 --json
done
ask collective.exact collective flat-switch --ranks 64 -b 1M -e 1G -f 32 --algorithm ring --fidelity exact --json
ask profiles.list profiles list
ask profiles.show profiles show dgx-h100-ndr dgx-h100 infiniband-ndr h100-sxm5-80
ask profiles.check profiles check
for topo in tests/fixtures/topo/*; do
  case $topo in *.xml) kind=nccl-topology ;; *) kind=nvidia-smi ;; esac
  ask "import.$(basename "$topo")" import $kind "$topo"
done
ask import.nccl-tests import nccl-tests tests/fixtures/nccl_tests.log
ask import.deepspeed import deepspeed examples/configs/deepspeed-zero3.json
ask import.accelerate import accelerate examples/configs/accelerate-fsdp.yaml
ask import.torchtitan import torchtitan examples/configs/torchtitan-llama.toml
ask import.megatron import megatron examples/configs/megatron-7b.sh
for model in examples/models/*/config.json; do ask "import.hf.$(basename "$(dirname "$model")")" import hf-config "$model"; done
ask validate.log validate collectives tests/fixtures/nccl_tests.log --cluster dgx-a100-hdr
ask validate.collectives validate collectives tests/accuracy/collectives.json
ask validate.collectives.json validate collectives tests/accuracy/collectives.json --json
ask validate.steps validate steps tests/accuracy/steps.json
ask validate.steps.json validate steps tests/accuracy/steps.json --json
"$twinstep" validate steps tests/accuracy/steps.json --json >"$work/steps.json" 2>/dev/null || true
ask validate.report report "$work/steps.json" --text
ask calibrate calibrate '{"gpu": "h100-sxm5-80", "gpus_per_node": 2, "nodes": 2, "intra": "nvswitch", "fabric": "infiniband", "nics_per_node": 2, "nic_gbps": 400}' --measurements tests/fixtures/nccl_tests.log --out "$work/calibrated.json"
[ -e "$work/calibrated.json" ] && keep calibrate.profile.json "$work/calibrated.json"
for bad in 'strategy={"name": "zero-9"}' 'cluster.nodes=0' 'cluster.node.nic=3 ducks' 'training.precision=fp13' 'model.x=1' 'cluster.profile=nowhere' 'strategy=zero-3'; do
  ask "bad.$(tr -c 'a-z0-9\n' _ <<<"$bad")" simulate "$seven" --set "$bad"
done
for command in "" simulate sweep plan collective measure calibrate validate import report compare profiles; do ask "help.$command" $command --help; done
