"""What validate/device_check says and writes, with programs that are not there."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "validate" / "device_check" / "device_check"

GPUS = """cluster  dgx-h100-ndr   DGX H100 on NDR InfiniBand
gpu      h100-pcie-80   NVIDIA H100 PCIe 80 GB (HBM2e), NVLink bridges between pairs
gpu      h100-sxm5-80   NVIDIA H100 SXM5 80 GB (HBM3)
gpu      a100-sxm4-80   NVIDIA A100 SXM4 80 GB (HBM2e)
"""

# Stands in for twinstep: every measurement is one record, predictions are twice what was measured.
TWINSTEP = """#!/usr/bin/env python3
import json, sys
a = sys.argv[1:]
if a[0] == "measure":
    if a[1] == "collective":
        sys.exit("twinstep: NCCL is in a bad mood")
    with open(a[a.index("--out") + 1], "w") as out:
        json.dump([{"device": "NVIDIA H100 80GB HBM3", "step_time_s": 0.5}], out)
elif a[0] == "profiles":
    print(%r)
elif a[0] == "calibrate":
    open(a[a.index("--out") + 1], "w").write("{}")
    print(json.dumps({"kernels": [{"kind": "gemm", "before": 0.07}]}))
elif a[0] == "simulate":
    print(json.dumps({"step_time_s": 1.0}))
""" % GPUS
NO_GPU = "#!/bin/sh\necho 'twinstep: found no GPU (none is visible); run it on a machine with one' >&2\nexit 3\n"
CONFORMS = "#!/bin/sh\necho 'All tests passed (7 assertions in 2 test cases)'\n"


def load_script():
    loader = importlib.machinery.SourceFileLoader("device_check", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("device_check", loader))
    loader.exec_module(module)
    return module


class DeviceCheck(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def run_check(self, twinstep, *options):
        for name, text in (("twinstep", twinstep), ("device_conformance", CONFORMS), ("libtwinstep_cuda.so", "")):
            (self.folder / name).write_text(text, encoding="utf8")
            (self.folder / name).chmod(0o755)
        return subprocess.run([sys.executable, "-B", SCRIPT, self.folder / "out", "--build", self.folder, *options],
                              capture_output=True, text=True, check=False)

    def parts(self):
        report = json.loads((self.folder / "out" / "device_check.json").read_text(encoding="utf8"))
        return {part["part"]: part for part in report["parts"]}

    def test_without_a_gpu_it_says_so_in_one_line_and_exits_with_3(self):
        result = self.run_check(NO_GPU)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr,
                         "device_check: found no GPU (none is visible); run it on a machine with one\n")
        self.assertFalse((self.folder / "out" / "device_check.json").exists())

    def test_without_a_build_it_says_what_to_do(self):
        result = subprocess.run([sys.executable, "-B", SCRIPT, self.folder / "out", "--build", self.folder],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 3)
        self.assertIn("found no twinstep, device_conformance, libtwinstep_cuda.so", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_a_part_that_fails_is_said_and_the_others_still_run(self):
        self.assertEqual(self.run_check(TWINSTEP).returncode, 1)
        parts = self.parts()
        self.assertEqual(parts.pop("one-rank NCCL")["why"],
                         "twinstep ended with 1: twinstep: NCCL is in a bad mood")
        self.assertEqual({part["status"] for part in parts.values()}, {"done"})
        self.assertEqual(parts["held-out GEMMs, predicted"]["mean_error"], 0.07)
        self.assertEqual(parts["steps, predicted"]["error"], 1.0)  # 1 s where 0.5 s were measured

    def test_what_the_time_does_not_reach_is_skipped_with_the_reason(self):
        self.assertEqual(self.run_check(TWINSTEP, "--budget", "0").returncode, 0)
        self.assertEqual({(part["status"], part["why"]) for part in self.parts().values()},
                         {("skipped", "the 0 s were over")})

    def test_the_driver_s_name_finds_the_profile(self):
        profile_of = load_script().profile_of
        self.assertEqual(profile_of("NVIDIA H100 80GB HBM3", GPUS), "h100-sxm5-80")
        self.assertEqual(profile_of("NVIDIA H100 PCIe", GPUS), "h100-pcie-80")
        self.assertEqual(profile_of("NVIDIA A100-SXM4-80GB", GPUS), "a100-sxm4-80")
        self.assertIsNone(profile_of("NVIDIA XYZ9 80GB HBM3", GPUS))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
