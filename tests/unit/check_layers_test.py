"""cmake/check_layers.py keeps the layers: each test plants files in a small tree and reads what the checker says."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "check_layers.py"
LAYERS = "sim/base:\nsim/program: sim/base  # and nothing else\nreports: sim/base sim/program/kinds.hpp\napp: *\n"


def check(files, layers=LAYERS):
    """(exit code, lines) for a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {"cmake/layers.txt": layers, **files}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


class Layers(unittest.TestCase):
    def test_a_lower_layer_that_uses_a_higher_one_is_named_with_its_line(self):
        code, lines = check({"sim/base/oops.hpp": '#include "sim/program/grid.hpp"\n'})
        self.assertEqual(code, 1)
        self.assertEqual(lines, ["sim/base/oops.hpp:1: sim/base may not use sim/program"])

    def test_allowed_own_and_system_includes_pass(self):
        text = '#include <vector>\n#include "sim/base/ids.hpp"\n#include "sim/program/grid.hpp"\n'
        self.assertEqual(check({"sim/program/a.cpp": text, "app/main.cpp": text})[0], 0)

    def test_one_header_of_a_folder_can_be_allowed_alone(self):
        code, lines = check({"reports/a.cpp": '#include "sim/program/kinds.hpp"\n#include "sim/program/grid.hpp"\n'})
        self.assertEqual((code, lines), (1, ["reports/a.cpp:2: reports may not use sim/program"]))

    def test_an_include_that_is_not_a_path_from_the_root_is_refused(self):
        code, lines = check({"sim/base/a.cpp": '\n#include "ids.hpp"\n'})
        self.assertEqual((code, lines), (1, ['sim/base/a.cpp:2: "ids.hpp" does not start with one of our folders']))

    def test_a_folder_that_no_line_lists_is_refused(self):
        code, lines = check({"sim/new/a.cpp": ""})
        self.assertEqual((code, lines), (1, ["sim/new/a.cpp:1: its folder is not in cmake/layers.txt"]))

    def test_an_entry_names_its_room_and_not_the_rooms_in_it(self):
        layers = "reports:\nreports/pages: reports\nexplore: reports\n"
        code, lines = check({"explore/a.cpp": '#include "reports/page.hpp"\n#include "reports/pages/a.hpp"\n'}, layers)
        self.assertEqual((code, lines), (1, ["explore/a.cpp:2: explore may not use reports/pages"]))

    def test_a_list_stands_for_what_it_names_also_on_several_lines(self):
        layers = "@low = sim/base\nsim/base:\nexplore:\nreports: @low\n    explore\n"
        text = '#include "sim/base/ids.hpp"\n#include "explore/a.hpp"\n'
        self.assertEqual(check({"reports/a.cpp": text}, layers)[0], 0)

    def test_rooms_that_use_each_other_in_a_circle_are_refused(self):
        layers = "a: b/one.hpp\nb: c\nc: a\napp: *\n"
        self.assertEqual(check({}, layers), (1, ["cmake/layers.txt: rooms in a circle: a -> b -> c -> a"]))


if __name__ == "__main__":
    unittest.main()
