#!/usr/bin/env -S python3 -B
"""Runs a command on ranks that are joined by links of a known rate, all of it on one Linux host.

    tests/lab/namespaces.py --ranks 2 --rate 200mbit -- build/release/app/twinstep measure …

Every rank has a network namespace of its own. A veth pair joins it to a bridge, which has a namespace of its own too,
so that nothing touches the host's network and no packet leaves it. Both ends of each pair are shaped by a token bucket
(tc tbf): a rank sends and receives at the link's rate at most. The bucket counts frames with their Ethernet header,
but neither preamble, checksum nor gap, and lets `burst` pass at once after a silence: 128 KiB, for a smaller one costs
throughput (64 KiB: 1.5 %), and a larger one lets more messages pass unshaped.

Ranks find each other as torchrun's do (RANK, WORLD_SIZE, MASTER_ADDR, …, GLOO_SOCKET_IFNAME), and run with real-time
priority where that is allowed, so that what else the host does disturbs them little. When one of them fails, the
others have GRACE_S to say so and are then killed. All is removed at the end, also after a failure or a signal; what a
killed run left behind goes at the start of the next.

Needs root, ip, tc and the kernel's tbf; without them the exit code is 77 and the reason follows "SKIPPED:".
"""
import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

PREFIX = "twinstep-lab"
INTERFACE = "eth0"
PORT = 29500
SKIPPED = 77
GRACE_S = 20


class Skipped(Exception):
    """The laboratory cannot be built here; the message says why."""


class Laboratory:
    """`ranks` namespaces on one bridge, while the `with` block lasts.

    rate, burst, limit: as tc spells them, such as "200mbit", "128kb", "4mb"; kb is 1024 bytes.
    Raises Skipped where the host cannot have it.
    """

    def __init__(self, ranks, rate, burst="128kb", limit="4mb"):
        self.ranks = ranks
        self.shape = ["tbf", "rate", rate, "burst", burst, "limit", limit]
        self.switch = f"{PREFIX}-{os.getpid()}-switch"

    def namespace(self, rank):
        return f"{PREFIX}-{os.getpid()}-rank{rank}"

    def __enter__(self):
        require_tools()
        remove_leftovers()
        try:
            self._build()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        for name in existing_namespaces():
            if name.startswith(f"{PREFIX}-{os.getpid()}-"):
                remove_namespace(name)

    def _build(self):
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge0", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge0", "up")
        for rank in range(self.ranks):
            self._join(rank)

    def _join(self, rank):
        name, port = self.namespace(rank), f"port{rank}"
        ip("netns", "add", name)
        ip("link", "add", INTERFACE, "netns", name, "type", "veth", "peer", "name", port, "netns", self.switch)
        ip("-n", self.switch, "link", "set", port, "master", "bridge0", "up")
        ip("-n", name, "address", "add", f"{address(rank)}/24", "dev", INTERFACE)
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", INTERFACE, "up")
        for where, device in ((name, INTERFACE), (self.switch, port)):
            shaped = subprocess.run(["tc", "-n", where, "qdisc", "add", "dev", device, "root", *self.shape],
                                    capture_output=True, text=True)
            if shaped.returncode != 0:
                raise Skipped(f"no token bucket: {shaped.stderr.strip()}")

    def run(self, command, timeout_s=None, environment=None, stdout=None, stderr=None):
        """Runs the command on all ranks; rank 0 has `stdout`, the others none. Returns their exit codes by rank."""
        processes = []
        try:
            for rank in range(self.ranks):
                processes.append(self.start(rank, command, environment, stdout if rank == 0 else subprocess.DEVNULL,
                                            stderr))
            wait_for_all(processes, timeout_s)
        finally:
            end_all(processes)
        return [process.returncode for process in processes]

    def start(self, rank, command, environment=None, stdout=None, stderr=None):
        """Starts the command as one rank, in a process group of its own."""
        where = {"RANK": rank, "WORLD_SIZE": self.ranks, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "GROUP_RANK": rank,
                 "MASTER_ADDR": address(0), "MASTER_PORT": PORT, "GLOO_SOCKET_IFNAME": INTERFACE,
                 "OPENBLAS_NUM_THREADS": 1}
        where = {name: str(value) for name, value in where.items()}
        return subprocess.Popen(["ip", "netns", "exec", self.namespace(rank), *command],
                                env={**os.environ, **where, **(environment or {})}, start_new_session=True,
                                preexec_fn=run_ahead, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)


def address(rank):
    return f"10.77.0.{rank + 1}"


def run_ahead():
    """Puts this process ahead of what else the host does."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        os.nice(-10)


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skipped(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def require_tools():
    if os.geteuid() != 0:
        raise Skipped("only root may make network namespaces")
    for tool in ("ip", "tc"):
        if not shutil.which(tool):
            raise Skipped(f"{tool} not found: install iproute2")


def existing_namespaces():
    return [line.split()[0] for line in ip("netns", "list").splitlines() if line.strip()]


def remove_namespace(name):
    """Ends what still runs in it and removes it, with the ends of links that it holds."""
    for process in ip("netns", "pids", name).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def remove_leftovers():
    """Namespaces whose run was killed before it could remove them."""
    for name in existing_namespaces():
        owner = re.fullmatch(rf"{PREFIX}-(\d+)-.*", name)
        if owner and not os.path.exists(f"/proc/{owner[1]}"):
            remove_namespace(name)


def wait_for_all(processes, timeout_s):
    """Until all have ended, or GRACE_S after one failed, or `timeout_s` after now."""
    deadline = time.monotonic() + (timeout_s or float("inf"))
    while any(process.poll() is None for process in processes) and time.monotonic() < deadline:
        if any(process.returncode for process in processes):
            deadline = min(deadline, time.monotonic() + GRACE_S)
        time.sleep(0.01)


def end_all(processes):
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def raise_on_signals():
    """A request to end runs the `finally`s on its way out."""
    def stop(number, _):
        raise SystemExit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rate", default="1gbit", help="of every link, each way, as tc spells it")
    parser.add_argument("--burst", default="128kb")
    parser.add_argument("--limit", default="4mb")
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("nothing to run: write -- and a command at the end")
    raise_on_signals()
    with Laboratory(options.ranks, options.rate, options.burst, options.limit) as laboratory:
        codes = laboratory.run(command, options.timeout)
    for rank, code in enumerate(codes):
        if code:
            print(f"rank {rank} ended with {code}", file=sys.stderr)
    return next((code if code > 0 else 128 - code for code in codes if code), 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skipped as reason:
        print(f"SKIPPED: {reason}", file=sys.stderr)
        sys.exit(SKIPPED)
