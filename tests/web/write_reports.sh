# write_reports.sh TWINSTEP FOLDER: the reports that report_test.mjs opens, each as HTML and as JSON.
set -e
twinstep=$1
cd "$2"
cat > scenario.in.json <<END
{"cluster": {"profile": "dgx-h100-ndr", "nodes": 2},
 "model": {"family": "llama", "layers": 2, "hidden": 1024, "heads": 8},
 "training": {"sequence_length": 1024, "micro_batch": 1, "global_batch": 32, "precision": "bf16"},
 "strategy": [{"name": "ddp"}, {"name": "zero-3"}]}
END
"$twinstep" report scenario.in.json --out scenario.html --json scenario.json

for op in all_reduce all_gather; do
  "$twinstep" collective dgx-h100-ndr --op $op --ranks 16 -b 64K -e 256M --json > $op.in.json
done
"$twinstep" plan scenario.in.json --gpus 16 --json > plan.in.json
cat > sweep.in.json <<END
{"base": "scenario.in.json", "axes": {"cluster.nodes": [1, 2]}}
END
rm -f sweep.in.sqlite  # of an earlier build
"$twinstep" sweep sweep.in.json --out sweep.in.sqlite > /dev/null
"$twinstep" report all_reduce.in.json all_gather.in.json plan.in.json sweep.in.sqlite --out results.html --json results.json
