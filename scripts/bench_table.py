#!/usr/bin/env python3
"""Measures how fast the simulator is, and prints each figure beside its goal.

Usage: bench_table.py BUILD_FOLDER     such as build/release, with twinstep and the benchmarks built

Times are processor time, the best of some runs, so that other work on the machine disturbs them little.
"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1])
TWINSTEP = BUILD / "app" / "twinstep"
EXAMPLE = pathlib.Path("examples/llama-2-7b-4xh100.json")
RUNS = 5


def counters(benchmark, names, counter):
    """What a Google benchmark counted in its runs, by name and run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [BUILD / "tests" / benchmark, f"--benchmark_filter={names}", "--benchmark_min_time=0.2",
                   f"--benchmark_repetitions={RUNS}", f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs = json.load(out)["benchmarks"]
    found = {}
    for run in runs:
        if run["run_type"] == "iteration":
            found.setdefault(run["run_name"], []).append(run[counter])
    return found


def highest(benchmark, name, counter):
    return max(max(runs) for runs in counters(benchmark, name, counter).values())


def nanoseconds(benchmark, name):
    return min(min(runs) for runs in counters(benchmark, name, "time_per_operation").values()) * 1e9


def spent(*command):
    """Processor time in seconds and peak memory in kB of one run of a command."""
    def used():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    told = subprocess.run(["/usr/bin/time", "-f", "%M", *command], check=True, text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    return used() - before, int(told.stderr.splitlines()[-1])


def best(*command):
    runs = [spent(*command) for _ in range(RUNS)]
    return min(time for time, _ in runs), min(memory for _, memory in runs)


def ask(scenario, strategy, *options):
    return best(TWINSTEP, "simulate", scenario, "--json", "--set", f'strategy={{"name": "{strategy}"}}', *options)


def accumulation():
    few, many = (ask(EXAMPLE, "ddp", "--set", f"training.global_batch={32 * count}") for count in (8, 512))
    return many[0] / few[0], many[1] / few[1]


def layers():
    """4,000 layers beside 1,000, in time, where both fit: no other plan is searched for."""
    config = json.loads(pathlib.Path("examples/models/llama-2-7b/config.json").read_text())
    scenario = json.loads(EXAMPLE.read_text())
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (1000, 4000):
            config["num_hidden_layers"] = count
            scenario["model"]["hf_config"] = f"{count}.json"
            pathlib.Path(folder, f"{count}.json").write_text(json.dumps(config))
            question = pathlib.Path(folder, f"scenario-{count}.json")
            question.write_text(json.dumps(scenario))
            times.append(ask(question, "ddp", "--set", 'cluster.gpu={"memory_capacity": "100 TB"}')[0])
    return times[1] / times[0]


def checks():
    """Of 131,072 ranks beside 8: the strategy that loses most."""
    found = counters("bench_step", "^check_step", "time_per_operation")
    few = {name: min(runs) for name, runs in found.items() if name.endswith("/ranks:8")}
    return max(min(found[name.replace("ranks:8", "ranks:131072")]) / time for name, time in few.items())


def memory_of_a_rank():
    """What each further rank of an exact step holds, in kB."""
    few, many = (ask(EXAMPLE, "zero-3", "--fidelity", "exact", "--set", f"cluster.nodes={nodes}", "--set",
                     f"training.global_batch={8 * nodes}")[1] for nodes in (2, 8))
    return (many - few) / 48


def simgrid():
    program = BUILD / "tests" / "bench_simgrid"
    if not program.exists():
        return None
    ours = highest("bench_exact", "ring_on_flat_switch/256$", "messages_per_s")
    runs = [subprocess.run([program, "256"], check=True, capture_output=True, text=True) for _ in range(RUNS)]
    return ours / max(json.loads(run.stdout)["messages_per_s"] for run in runs)


def row(what, value, goal, unit="", at_least=False):
    if value is None:
        print(f"{what:<62}{'left out':>14}")
        return
    digits = 1 if value < 100 else 0
    met = value >= goal if at_least else value <= goal
    sign = ">=" if at_least else "<="
    print(f"{what:<62}{value:>14,.{digits}f}   {sign} {goal:>10,}  {'' if met else 'short':<6}{unit}", flush=True)


def main():
    print(f"{'':<62}{'measured':>14}   {'goal':>13}")
    row("ring of 1,024 ranks, exact", highest("bench_exact", "ring_on_flat_switch/1024", "messages_per_s"), 12_000_000,
        "messages/s", True)
    for ranks in (64, 256):
        row(f"tree of {ranks} ranks, exact", highest("bench_exact", f"tree_on_flat_switch/{ranks}$", "messages_per_s"),
            4_000_000, "messages/s", True)
    row("ring of 256 ranks beside SimGrid's", simgrid(), 5, "times as fast", True)
    row("exact step of 7B, zero-3: memory of a rank", memory_of_a_rank(), 64, "kB")
    for strategy, name in ((1, "ddp"), (4, "zero-3")):
        row(f"an operation of 7B, {name}, compiled", nanoseconds("bench_step", f"^compile_step/{strategy}/"), 120, "ns")
        row(f"an operation of 7B, {name}, simulated with its ledger",
            nanoseconds("bench_step", f"^simulate/strategy:{strategy}/allocator:0"), 250, "ns")
    row("steps of 7B compiled and simulated, one core",
        highest("bench_plan", "^folded$", "simulations_per_s"), 2_000, "a second", True)
    row("a sweep of 7B with the allocator, one core",
        highest("bench_sweep", "^folded/threads:1", "points_per_second"), 500, "a second", True)
    row("bounds of LLaMA-3.1-70B, one core", highest("bench_plan", "^bounds$", "configurations_per_s"), 20_000,
        "a second", True)
    for allocator, name, goal in ((0, "its ledger", 60), (1, "the allocator", 60)):
        rate = highest("bench_step", f"^mesh_of_175b/allocator:{allocator}", "steps_per_s")
        row(f"175B on 1,024 GPUs, tensor 8 x 8 stages, with {name}", 1000 / rate, goal, "ms")
    time, memory = accumulation()
    row("7B, ddp: accumulation of 512 beside 8, time", time, 3, "times")
    row("7B, ddp: accumulation of 512 beside 8, memory", memory, 3, "times")
    row("ddp: 4,000 layers beside 1,000, time", layers(), 4, "times")
    row("checks at 131,072 ranks beside 8, time", checks(), 1.5, "times")


if __name__ == "__main__":
    main()
