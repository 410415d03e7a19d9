#!/usr/bin/env python3
"""Compares every #include "..." of our sources with cmake/layers.txt.

Usage: check_layers.py [ROOT]. Prints one line for each violation; exits with 1 if there is any.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}
EVERYTHING = "*"


def read_layers(path):
    """{room: [rooms and headers that it may include]}, with the "@names" of lists put in place."""
    text = "\n".join(line.split("#")[0].rstrip() for line in path.read_text(encoding="utf-8").splitlines())
    lists, rooms = {}, {}
    for line in re.sub(r"\n[ \t]+", " ", text).splitlines():
        name, mark, rest = re.match(r"([^:=\s]*)\s*([:=]?)(.*)", line).groups()
        allowed = [each for word in rest.split() for each in (lists[word] if word.startswith("@") else [word])]
        if mark:
            (lists if mark == "=" else rooms)[name] = allowed
    return rooms


def room_of(path, rooms):
    """The longest listed folder that holds `path`, or None."""
    holding = (room for room in rooms if path == room or path.startswith(room + "/"))
    return max(holding, key=len, default=None)


def find_violations(root, rooms):
    tops = sorted({room.split("/")[0] for room in rooms})
    sources = sorted(p for top in tops for p in (root / top).rglob("*") if p.suffix in SUFFIXES)
    for source in sources:
        path = source.relative_to(root).as_posix()
        own = room_of(path, rooms)
        if own is None:
            yield f"{path}:1: its folder is not in cmake/layers.txt"
            continue
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
            found = INCLUDE.match(line)
            if not found:
                continue
            used = room_of(found[1], rooms)
            if used is None:
                yield f'{path}:{number}: "{found[1]}" does not start with one of our folders'
            elif used != own and not {used, found[1], EVERYTHING} & set(rooms[own]):
                yield f"{path}:{number}: {own} may not use {used}"


def find_circles(rooms):
    """One line for each circle of rooms that may use each other; rooms that may use everything stand above all."""
    used = {room: [room_of(each, rooms) for each in allowed if each != EVERYTHING] for room, allowed in rooms.items()}
    done = set()

    def walk(room, way):
        if room in way:
            yield "cmake/layers.txt: rooms in a circle: " + " -> ".join(way[way.index(room):] + [room])
        elif room not in done:
            for each in used.get(room, []):
                yield from walk(each, way + [room])
            done.add(room)

    for room in rooms:
        yield from walk(room, [])


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    rooms = read_layers(root / "cmake" / "layers.txt")
    violations = [*find_circles(rooms), *find_violations(root, rooms)]
    print("\n".join(violations) or "every include follows cmake/layers.txt")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
