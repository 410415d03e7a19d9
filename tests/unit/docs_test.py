"""Documents name only what is there: every path, link, anchor and function of README.md, CONTRIBUTING.md and docs."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")])
OURS = "sim|strategies|hw_profiles|explore|validate|reports|app|bindings|tests|docs|examples|cmake|scripts"

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(rf"(?:{OURS})(?:/[\w.*+-]+)*/?")
FUNCTION = re.compile(rf"`((?:{OURS})/[\w./-]+)`: ((?:`[\w:~]+`(?:, )?)+)")
COMMAND = re.compile(r"^ {4}.*twinstep .*$", re.MULTILINE)


def text_of(page):
    return page.read_text(encoding="utf-8")


def without_blocks(text):
    """The text without its fenced blocks, whose lines are what a program printed or reads."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    """The names that GitHub gives to the page's headings."""
    headings = re.findall(r"^#+ +(.+)$", without_blocks(text_of(page)), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each) for each in headings)
    return {re.sub(r"[^\w\- ]", "", each.strip().lower()).replace(" ", "-") for each in plain}


def is_there(path):
    return any(ROOT.glob(path.rstrip("/"))) if "*" in path else (ROOT / path).exists()


def holds(path, function):
    """Whether the file has the name, of a member its last part."""
    word = re.escape(function.split("::")[-1])
    return is_there(path) and re.search(rf"(?<!\w){word}(?!\w)", text_of(ROOT / path)) is not None


def texts():
    """(page, its name, its text without fenced blocks) of every page."""
    return [(page, page.relative_to(ROOT).as_posix(), without_blocks(text_of(page))) for page in PAGES]


def links_of(text):
    """(path, anchor) of links that stay inside the tree."""
    return [link.partition("#")[::2] for link in LINK.findall(text) if not re.match(r"\w+:", link)]


class Documents(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self):
        wrong = []
        for page, name, text in texts():
            for path, anchor in links_of(text):
                target = (page.parent / path).resolve() if path else page
                if not target.exists():
                    wrong.append(f"{name}: no file {path}")
                elif anchor and anchor not in anchors(target):
                    wrong.append(f"{name}: no heading #{anchor} in {target.name}")
        self.assertEqual([], wrong)

    def test_paths_in_code_marks_exist(self):
        quoted = [(name, each) for _, name, text in texts() for each in QUOTED.findall(text)]
        self.assertEqual([], [f"{name}: no {each}" for name, each in quoted if PATH.fullmatch(each) and not is_there(each)])

    def test_files_that_commands_read_exist(self):
        commands = [(name, each) for _, name, text in texts() for each in COMMAND.findall(text)]
        read = [(name, path) for name, each in commands for path in re.findall(r"(?<!\S)(?:examples|tests)/\S+", each)]
        self.assertGreater(len(read), 0)
        self.assertEqual([], [f"{name}: no {path}" for name, path in read if not is_there(path)])

    def test_functions_stand_in_the_files_that_are_named_for_them(self):
        named = [(name, path, each) for _, name, text in texts() for path, list_ in FUNCTION.findall(text)
                 for each in QUOTED.findall(list_)]
        self.assertGreater(len(named), 10)
        self.assertEqual([], [f"{name}: no {each} in {path}" for name, path, each in named if not holds(path, each)])

    def test_the_map_shows_every_room_of_the_layers(self):
        layers = (ROOT / "cmake" / "layers.txt").read_text(encoding="utf-8")
        rooms = re.findall(r"^([\w/]+):", layers, re.MULTILINE)
        shown = QUOTED.findall(text_of(ROOT / "docs" / "map.md"))
        self.assertGreater(len(rooms), 20)
        self.assertEqual([], [room for room in rooms if room not in shown])

    def test_every_page_is_reached_from_the_readme(self):
        reached, waiting = set(), [ROOT / "README.md"]
        while waiting:
            page = waiting.pop()
            if page in reached or page.suffix != ".md" or not page.exists():
                continue
            reached.add(page)
            waiting += [(page.parent / path).resolve() for path, _ in links_of(text_of(page)) if path]
        self.assertEqual([], [name for page, name, _ in texts() if page not in reached])


if __name__ == "__main__":
    unittest.main()
