#!/usr/bin/env python3
"""Prints the user and system time of a command, the median of 50 warm runs, beside a goal and beside /bin/true.

Usage: start_time.py GOAL_MS COMMAND ARGUMENT…
"""
import resource
import statistics
import subprocess
import sys


def milliseconds(command):
    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (spent() - before) * 1e3


def median(command):
    return statistics.median([milliseconds(command) for _ in range(55)][5:])


if __name__ == "__main__":
    took, nothing = median(sys.argv[2:]), median(["/bin/true"])
    print(f"{took:.1f} ms (goal: {sys.argv[1]}; /bin/true: {nothing:.1f})")
