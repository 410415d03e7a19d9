#!/usr/bin/env python3
"""Compares every #include "..." of our sources with cmake/layers.txt.

Usage: check_layers.py [ROOT]. Prints one line for each violation; exits with 1 if there is any.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}


def read_layers(path):
    """{folder: [what it may include]}"""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return {folder.strip(): allowed.split() for folder, allowed in (line.split(":") for line in lines if line)}


def is_under(path, prefix):
    return prefix == "*" or path == prefix or path.startswith(prefix + "/")


def folder_of(path, layers):
    """The longest listed folder that holds `path`, or None."""
    return max((folder for folder in layers if is_under(path, folder)), key=len, default=None)


def find_violations(root):
    layers = read_layers(root / "cmake" / "layers.txt")
    tops = sorted({folder.split("/")[0] for folder in layers})
    sources = sorted(p for top in tops for p in (root / top).rglob("*") if p.suffix in SUFFIXES)
    for source in sources:
        path = source.relative_to(root).as_posix()
        own = folder_of(path, layers)
        if own is None:
            yield f"{path}:1: its folder is not in cmake/layers.txt"
            continue
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
            found = INCLUDE.match(line)
            if not found:
                continue
            used = folder_of(found[1], layers)
            if used is None:
                yield f'{path}:{number}: "{found[1]}" does not start with one of our folders'
            elif used != own and not any(is_under(found[1], allowed) for allowed in layers[own]):
                yield f"{path}:{number}: {own} may not use {used}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    violations = list(find_violations(root))
    print("\n".join(violations) or "every include follows cmake/layers.txt")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
