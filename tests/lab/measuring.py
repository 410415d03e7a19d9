"""Measuring with twinstep in the laboratory, and what it predicts of the same."""
import json
import subprocess
import tempfile
from pathlib import Path

import namespaces

HERE = Path(__file__).resolve().parent
CLUSTER = HERE / "lab.json"


class Failed(Exception):
    """A command did not do what it was asked for; the message has its words."""


class Lab:
    """Measurements and predictions by one twinstep binary, in one folder for their files."""

    def __init__(self, twinstep, folder):
        self.twinstep = str(Path(twinstep).resolve())
        self.folder = Path(folder)

    def measure(self, ranks, rate, *arguments):
        """The records of `twinstep measure` on `ranks` ranks and links of `rate`."""
        out = Path(tempfile.mkstemp(suffix=".json", dir=self.folder)[1])
        command = [self.twinstep, "measure", *arguments, "--backend", "gloo", "--system", "lab", "--out", str(out)]
        with namespaces.Laboratory(ranks, rate) as laboratory, open(self.folder / "log", "a+", encoding="utf8") as log:
            begin = log.tell()
            codes = laboratory.run(command, timeout_s=120, stdout=subprocess.DEVNULL, stderr=log)
            log.seek(begin)
            if any(codes):
                raise Failed(f"{' '.join(arguments)} on {ranks} ranks at {rate}: exit codes {codes}\n{log.read()}")
        return json.loads(out.read_text(encoding="utf8"))

    def calibrate(self, cluster, records, name):
        """The profile that calibrating `cluster` to `records` gives."""
        measured = self.folder / f"{name}-measured.json"
        measured.write_text(json.dumps(records), encoding="utf8")
        profile = self.folder / f"{name}.json"
        self.run("calibrate", str(cluster), "--measurements", str(measured), "--out", str(profile))
        return profile

    def step_latency(self, profile):
        """Microseconds of a message between two ranks, as the profile has it, or the one that it changes."""
        for file in Path(profile), CLUSTER:
            document = json.loads(file.read_text(encoding="utf8"))
            found = document.get("fabric", {}).get("transport", {}).get("step_latency")
            if found:
                return float(found["value"].removesuffix("us"))
        raise Failed(f"{profile}: no step latency")

    def collective_times(self, cluster, op, ranks, sizes):
        """Seconds that each size is predicted to take, by size."""
        def time_of(size):
            asked = self.run("collective", cluster, "--op", op, "--ranks", str(ranks), "-b", str(size), "-e", str(size),
                             "--json")
            return asked["rows"][0]["time_us"] / 1e6
        return {size: time_of(size) for size in sizes}

    def step(self, scenario, trace=None):
        """The answer of `twinstep simulate`."""
        return self.run("simulate", str(self.write(scenario)), "--json", *(["--trace", str(trace)] if trace else []))

    def write(self, scenario):
        file = Path(tempfile.mkstemp(suffix=".scenario.json", dir=self.folder)[1])
        file.write_text(json.dumps(scenario), encoding="utf8")
        return file

    def run(self, *arguments):
        done = subprocess.run([self.twinstep, *arguments], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Failed(f"twinstep {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout) if "--json" in arguments else None
