#!/usr/bin/env -S python3 -B
"""The network laboratory works, and leaves nothing behind.

    tests/lab/namespaces_test.py TWINSTEP

Times are printed, never asserted. Skips, saying why, where the laboratory cannot be built or the program has no Gloo.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import namespaces

TWINSTEP = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "twinstep"
RATE = "1gbit"


def measure_collective(*arguments, largest="64K", seconds=0.05):
    return [TWINSTEP, "measure", "collective", "--backend", "gloo", "-e", largest, "-f", "8", "--max-time", str(seconds),
            *arguments]


def own_namespaces(pid):
    return [name for name in namespaces.existing_namespaces() if name.startswith(f"{namespaces.PREFIX}-{pid}-")]


class Namespaces(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(own_namespaces(os.getpid()), [], "nothing may be left")

    def test_collectives_between_two_ranks_have_the_right_results(self):
        with namespaces.Laboratory(2, RATE) as laboratory, tempfile.TemporaryDirectory() as folder:
            for op in ("all_reduce", "all_to_all"):
                out = os.path.join(folder, op)
                codes = laboratory.run(measure_collective("--op", op, "-b", "1K", "--out", out), timeout_s=60)
                self.assertEqual(codes, [0, 0])
                with open(out, encoding="utf8") as file:
                    record = json.load(file)[0]
                self.assertEqual((record["ranks"], record["nodes"]), (2, 2))
                self.assertEqual([row[0] for row in record["rows"]], [1024, 8192, 65536])
                print(f"{op}: {', '.join(f'{row[0]} B in {row[1]:.0f} us' for row in record['rows'])}")

    def test_a_killed_rank_is_named_by_the_other(self):
        with namespaces.Laboratory(2, RATE) as laboratory, tempfile.TemporaryFile("w+") as said:
            # 64 MiB over 1 Gbit/s take half a second at least, and are sent many times.
            command = measure_collective("-b", "64M", largest="64M", seconds=30)
            survivor = laboratory.start(0, command, stdout=subprocess.DEVNULL, stderr=said)
            victim = laboratory.start(1, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1.5)
            self.assertIsNone(survivor.poll(), "the sweep goes on")
            os.killpg(victim.pid, signal.SIGKILL)
            began = time.monotonic()
            namespaces.wait_for_all([survivor, victim], 15)
            print(f"named after {time.monotonic() - began:.2f} s")
            namespaces.end_all([survivor, victim])
            said.seek(0)
            text = said.read()
            self.assertEqual(survivor.returncode, 2, text)
            self.assertRegex(text, r"(rank|process) 1\b")

    def test_a_failing_command_ends_all_ranks_and_gives_its_exit_code(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "namespaces.py")
        command = [sys.executable, script, "--ranks", "2", "--", "sh", "-c", "exit $((RANK * 5))"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 5)
        self.assertIn("rank 1 ended with 5", run.stderr)

    def test_an_interrupted_run_removes_what_it_made(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "namespaces.py")
        run = subprocess.Popen([sys.executable, script, "--ranks", "2", "--", "sleep", "60"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while len(own_namespaces(run.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(len(own_namespaces(run.pid)), 3, "two ranks and the switch")
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(20), 128 + signal.SIGINT)
        self.assertEqual(own_namespaces(run.pid), [])


def reason_to_skip():
    try:
        with namespaces.Laboratory(1, RATE):
            pass
    except namespaces.Skipped as reason:
        return str(reason)
    alone = subprocess.run(measure_collective("-b", "64K", "--ranks", "1"), capture_output=True, text=True, timeout=60)
    return alone.stderr.strip() if alone.returncode == 3 else None


if __name__ == "__main__":
    why = reason_to_skip()
    if why:
        print(f"SKIPPED: {why}")
    else:
        unittest.main()
