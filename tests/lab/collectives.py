"""Collectives in the laboratory: measured, calibrated on a few, predicted for the others."""
import json
import os

from measuring import CLUSTER

OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")
HOME = (2, "1gbit")  # the ranks and the rate that calibration sees
OTHERS = ((2, "200mbit"), (3, "1gbit"), (4, "1gbit"), (3, "200mbit"), (4, "200mbit"))
PORTS = {"1gbit": "1 Gb/s", "200mbit": "200 Mb/s"}
GROUPS = {(True, True): "held-out sizes", (False, True): "other ranks", (True, False): "other rate",
          (False, False): "other ranks and rate"}


def sweep(lab, op, ranks, rate, smallest, largest):
    """One sweep: every eighth size. Batches are long enough to empty the token buckets before and while they count."""
    return lab.measure(ranks, rate, "collective", "--op", op, "-b", smallest, "-e", largest, "-f", "8",
                       "-n", "100", "-w", "60", "--max-time", "0.25", "--precision", "3")


def cluster_at(lab, profile, ranks, rate, op=None):
    """The profile with so many ranks on links of that rate. A step's latency is time of processors, which ranks that
    work at once share where they are more than the cores: known from the host and the algorithm, not fitted. In a
    broadcast's tree two ranks work at first."""
    at_once = 2 if op == "broadcast" else ranks
    latency = lab.step_latency(profile) * max(1.0, at_once / os.cpu_count())
    return {"profile": str(profile), "nodes": ranks,
            "fabric": {"port": PORTS[rate], "transport": {"step_latency": f"{latency:.3f} us"}}}


def rows_of(lab, profile, op, ranks, rate, records, group=None):
    """Measured beside predicted, out of place, for every size of a sweep."""
    measured = {row[0]: row[1] / 1e6 for record in records for row in record["rows"]}
    predicted = lab.collective_times(json.dumps(cluster_at(lab, profile, ranks, rate, op)), op, ranks, measured)
    group = group or GROUPS[ranks == HOME[0], rate == HOME[1]]
    return [{"what": f"{op} {size:>9} B", "ranks": ranks, "rate": rate, "measured_s": measured[size],
             "predicted_s": predicted[size], "group": group, "op": op, "size": size} for size in measured]


def compare_collectives(lab, quick):
    """The rows of all sweeps, and the calibrated profile."""
    ops = OPS[:2] if quick else OPS
    seen = {op: sweep(lab, op, *HOME, "1K", "4M" if quick else "32M") for op in ops}
    profile = lab.calibrate(CLUSTER, [record for records in seen.values() for record in records], "lab-calibrated")
    rows = []
    for op in ops:
        rows += rows_of(lab, profile, op, *HOME, seen[op], "calibrated on")
        rows += rows_of(lab, profile, op, *HOME, sweep(lab, op, *HOME, "4K", "2M" if quick else "16M"))
        for ranks, rate in OTHERS[:1] if quick else OTHERS:
            largest = "1M" if quick or rate == "200mbit" else "8M"
            rows += rows_of(lab, profile, op, ranks, rate, sweep(lab, op, ranks, rate, "2K", largest))
    return rows, profile
