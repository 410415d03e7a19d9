"""Training steps of an MLP in the laboratory: measured and predicted."""
import json

from collectives import PORTS, cluster_at
from measuring import CLUSTER

# 8 bias-free layers of 1024 x 1024 with GELU, batch 512, AdamW: 33.5 MB of gradients.
MLP = {"family": "mlp", "widths": [1024] * 9}
SMALL_MLP = {"family": "mlp", "widths": [512] * 9}
LAYER = "1 B"  # a bucket that any layer fills
STRATEGIES = (
    ("ddp, 25 MB buckets", {"name": "ddp", "bucket": "25 MiB"}),
    ("ddp, a bucket a layer", {"name": "ddp", "bucket": LAYER, "first_bucket": LAYER}),
    ("naive, no overlap", {"name": "naive"}),
    ("zero-1, 8 MiB buckets", {"name": "zero-1", "bucket": "8 MiB"}),
    ("zero-2, 8 MiB buckets", {"name": "zero-2", "bucket": "8 MiB"}),
    ("zero-3", {"name": "zero-3"}),
)
# PyTorch 1.13 DDP over Gloo, 2 ranks, the same model over the same kind of link.
PYTORCH = {("ddp, 25 MB buckets", "1gbit"): 0.76, ("ddp, 25 MB buckets", "200mbit"): 1.73,
           ("naive, no overlap", "200mbit"): 1.98}


def scenario(cluster, model, strategy, batch):
    return {"cluster": cluster, "model": model, "training": {"micro_batch": batch, "precision": "fp32"},
            "strategy": strategy}


def rate_of(cluster):
    return next(rate for rate, port in PORTS.items() if port == cluster["fabric"]["port"])


def measure(lab, question, compute):
    """The record of one step."""
    cluster = question["cluster"]
    return lab.measure(cluster["nodes"], rate_of(cluster), "step", str(lab.write(question)), "--compute", compute,
                       "--steps", "3")[0]


def row(lab, cluster, model, named_strategy, compute="delays", batch=512):
    """One strategy, measured beside predicted."""
    name, strategy = named_strategy
    question = scenario(cluster, model, strategy, batch)
    kernels = "real GEMMs" if compute == "real" else "delays"
    result = {"what": f"{name}, {'8 x 1024²' if model is MLP else '8 x 512²'}, {kernels}", "ranks": cluster["nodes"],
              "rate": rate_of(cluster), "measured_s": measure(lab, question, compute)["step_time_s"],
              "predicted_s": lab.step(question)["step_time_s"], "group": "steps"}
    is_theirs = model is MLP and compute == "delays" and cluster["nodes"] == 2
    pytorch = PYTORCH.get((name, result["rate"])) if is_theirs else None
    return result | ({"pytorch_s": pytorch, "note": f"PyTorch {pytorch} s"} if pytorch else {})


def with_real_kernels(lab, cluster):
    """The cluster with a rank's rates as one rank has them alone: what its kernels take beside their emulated time."""
    alone = scenario({**cluster, "nodes": 1}, MLP, {"name": "ddp"}, 512)
    real, emulated = measure(lab, alone, "real"), measure(lab, alone, "delays")
    base = json.loads(CLUSTER.read_text(encoding="utf8"))["node"]["gpu"]["efficiency"]
    gemm = (emulated["forward_s"] + emulated["backward_s"]) / (real["forward_s"] + real["backward_s"])
    memory = emulated["optimizer_s"] / real["optimizer_s"]
    return {**cluster, "node": {"gpu": {"efficiency": {"gemm": min(1.0, base["gemm"]["value"] * gemm),
                                                       "memory": min(1.0, base["memory"]["value"] * memory)}}}}


def compare_steps(lab, profile, quick):
    """The rows of all steps."""
    rates = ("200mbit",) if quick else ("1gbit", "200mbit")
    rows = [row(lab, cluster_at(lab, profile, 2, rate), MLP, strategy) for rate in rates
            for strategy in (STRATEGIES[:1] if quick else STRATEGIES)]
    if quick:
        return rows
    rows += [row(lab, cluster_at(lab, profile, ranks, "1gbit"), SMALL_MLP, strategy, batch=240) for ranks in (3, 4)
             for strategy in (STRATEGIES[0], STRATEGIES[3], STRATEGIES[5])]
    real = with_real_kernels(lab, cluster_at(lab, profile, 2, "1gbit"))
    return rows + [row(lab, {**real, "fabric": cluster_at(lab, profile, 2, rate)["fabric"]}, MLP, strategy, "real")
                   for rate in rates for strategy in (STRATEGIES[0], STRATEGIES[2])]
