#!/usr/bin/env python3
"""Checks the layout of the project: who may include whom, what public headers may pull in, how long a file may be.

usage: tools/check_structure.py [ROOT]

Prints one line for each breach, `file:line: what is wrong and what to do`, and exits with 1 when there is any.
"""

import pathlib
import re
import sys

# Each room may include itself and the rooms before it.
ROOMS = ["base", "tree", "core", "ir", "ops", "passes", "codegen", "runtime", "transform", "control",
         "array", "stats", "solve", "nn", "optim", "diffeq", "debug", "io", "train"]
# Folders of a room in src: each may include itself and those before it. "." is what stands beside them.
FOLDERS = {
    "ops": ["math", "."],
    "passes": ["analysis", "."],
    "codegen": ["builder", "plan", "support", "emit", "lanes", "compile", "llvm"],
    "transform": ["stage", "checks", "batch", "derivatives", "jit", "api"],
    "control": ["common", "effects", "tape", "calls", "collectives", "flow", "api"],
    "diffeq": [".", "controllers", "solvers"],
}
# Rooms written on the public API only, as a user's own code would be.
OUTER = {"array", "stats", "solve", "nn", "optim", "diffeq", "debug", "io", "train"}
# Rooms without public headers.
PRIVATE = {"ir", "passes", "codegen", "runtime"}
# Headers above the rooms: the umbrella, which only users include, and forward declarations, which anyone may.
UMBRELLA, FORWARD = "apsis.hpp", "fwd.hpp"
# A header that says so in one of its first lines is left to those who include it themselves.
APART = "not part of apsis.hpp"

LENGTH_LIMIT = 800
PUBLIC_LENGTH_LIMIT = 400
README_LINES = range(4, 25)

# What a public header must not make its users pay for. Support for std::map and the like is a header of its own,
# so the second set holds for the core alone.
HEAVY = {"iostream", "regex", "functional"}
HEAVY_IN_CORE = HEAVY | {"map", "complex", "memory"}

CODE_FOLDERS = ["include", "src", "tests", "bench", "examples", "tools", "cmake", "docs"]
CODE_SUFFIXES = {".hpp", ".cpp", ".inc", ".py", ".sh", ".cmake", ".md"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# State that outlives a call: thread-local or atomic variables, statics of functions that are not constant.
GLOBAL = re.compile(r"^(?:constinit |inline )*(?:thread_local|std::atomic<)"
                    r"|^\s+(?:static thread_local|thread_local|static)\s+(?!const\b|constexpr\b|inline\b)[\w:<>, *]+"
                    r"[\s*]\w+(?:;|\{| = )")
# Spelt with a class of one letter, so that this file does not report itself.
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X)\b")


def room_of(path):
    """The room a path below include/apsis or src belongs to; None for the headers above the rooms."""
    return path.parts[0] if len(path.parts) > 1 else None


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.breaches = []

    def report(self, path, line, text):
        self.breaches.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def check(self):
        public, private = self.root / "include" / "apsis", self.root / "src"
        for base in (public, private):
            for path in sorted(base.rglob("*")):
                if path.suffix in {".hpp", ".cpp", ".inc"}:
                    self.check_source(path, path.relative_to(base), base == public)
        self.check_rooms(public, private)
        self.check_umbrella(public)
        self.check_globals(private)
        self.check_types(public, private)
        for folder in CODE_FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                if path.suffix in CODE_SUFFIXES and path.is_file():
                    self.check_text(path)
        return self.breaches

    def check_rooms(self, public, private):
        for base in (public, private):
            for folder in sorted(p for p in base.glob("*") if p.is_dir()):
                if folder.name not in ROOMS:
                    self.report(folder, 1, f"'{folder.name}' is no room: the rooms are {' '.join(ROOMS)}")
                elif base == public and folder.name in PRIVATE:
                    self.report(folder, 1, f"'{folder.name}' is a private room: its headers belong in src")
        for room in ROOMS:
            folders = [base / room for base in (private, public) if (base / room).is_dir()]
            if not folders:
                continue
            readmes = [folder / "README.md" for folder in folders if (folder / "README.md").is_file()]
            if not readmes:
                self.report(folders[0], 1, "the room has no README.md saying what lives here and where to start reading")
            for readme in readmes:
                lines = len(readme.read_text().splitlines())
                if lines not in README_LINES:
                    self.report(readme, 1, f"{lines} lines: a room's README has about ten")

        for room in sorted(p for p in private.glob("*") if p.name in ROOMS):
            folders = {path.parent.name if path.parent != room else "." for path in room.glob("**/*.?pp")}
            for folder in sorted(folders - set(FOLDERS.get(room.name, ["."]))):
                self.report(room / folder, 1, f"'{folder}' is no folder of '{room.name}': FOLDERS in "
                                              "tools/check_structure.py has them in their order")

    def check_types(self, public, private):
        """A type has one definition: of two with one name the linker takes the functions of either."""
        places = {}
        for base in (public, private):
            for path in sorted(base.rglob("*.?pp")):
                for name, number in self.types_of(path):
                    places.setdefault(name, []).append((path, number))
        for name, where in places.items():
            for path, number in where[1:]:
                if path != where[0][0]:
                    self.report(path, number, f"'{name}' is also defined in {where[0][0].relative_to(self.root)}: "
                                              "give one of them another name, or a namespace without a name")

    @staticmethod
    def types_of(path):
        """Types defined in namespaces that have names, with their lines."""
        scopes = []
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            code = line.split("//")[0]
            if namespace := re.match(r"\s*(?:inline )?namespace ([\w:]*)\s*\{", code):
                if "}" not in code:
                    scopes.append(namespace[1] or None)
                continue
            found = re.match(r"\s*(?:template\s*<.*>\s*)?(?:struct|class|enum class|union)\s+(\w+)\s*(?:final\s*)?(?::[^:].*)?\{", code)
            if found and all(scopes):
                yield "::".join([*scopes, found[1]]), number
            opened = code.count("{") - code.count("}")
            scopes += [None] * opened
            del scopes[len(scopes) + min(opened, 0):]

    def check_globals(self, private):
        """HACKING.md lists every source with state that outlives a call."""
        hacking = self.root / "HACKING.md"
        listed = set(re.findall(r"`([\w/]+\.cpp)`", hacking.read_text())) if hacking.is_file() else set()
        for path in sorted(private.rglob("*.cpp")):
            name = path.relative_to(private).as_posix()
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if GLOBAL.match(line) and name not in listed:
                    self.report(path, number, f"global state that HACKING.md does not list: `{line.strip()}`")

    def check_umbrella(self, public):
        """Every public header is reached from the umbrella, unless it says that it stands apart."""
        if not (public / UMBRELLA).is_file():
            return
        reached, waiting = set(), [pathlib.PurePath(UMBRELLA)]
        while waiting:
            relative = waiting.pop()
            if relative in reached or not (public / relative).is_file():
                continue
            reached.add(relative)
            for line in (public / relative).read_text().splitlines():
                match = INCLUDE.match(line)
                target = match and self.resolve(public / relative, match.group(2))
                if target and target[0]:
                    waiting.append(target[1])
        for path in sorted(public.rglob("*.hpp")):
            if path.relative_to(public) in reached or path.name == FORWARD:
                continue
            if not any(APART in line for line in path.read_text().splitlines()[:8]):
                self.report(path, 1, f"{UMBRELLA} does not reach this header, which does not say '{APART}'")

    def check_source(self, path, relative, public):
        lines = path.read_text().splitlines()
        room = room_of(relative)
        if path.suffix == ".hpp" and "#pragma once" not in lines:
            self.report(path, 1, "the header lacks '#pragma once'")
        if public and path.suffix == ".cpp":
            self.report(path, 1, "sources belong in src")
        if public and len(lines) > PUBLIC_LENGTH_LIMIT:
            self.report(path, len(lines), f"a public header of {len(lines)} lines (limit {PUBLIC_LENGTH_LIMIT}): "
                                          "split it by idea")
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if match:
                self.check_include(path, number, relative, room, public, match.group(1), match.group(2))

    def check_include(self, path, number, relative, room, public, bracket, name):
        if name.startswith(("llvm/", "llvm-c/")) and (public or relative.parts[:2] != ("codegen", "llvm")):
            self.report(path, number, f"<{name}>: LLVM is seen in src/codegen/llvm only")
            return
        heavy = HEAVY_IN_CORE if room == "core" else HEAVY
        if public and bracket == "<" and name in heavy:
            self.report(path, number, f"<{name}> is too heavy for a public header of this room")
        target = self.resolve(path, name)
        if target is None:
            return
        target_public, target_path = target
        target_room = room_of(target_path)
        if public and not target_public:
            self.report(path, number, f"'{name}': a public header includes a private one")
        if target_room is None:
            if target_path.name == UMBRELLA and room is not None:
                self.report(path, number, f"<{name}> is for users: include the headers that are needed")
            return
        if room is None:
            if relative.name == FORWARD:
                self.report(path, number, f"'{name}': {FORWARD} only declares, and includes no room")
            return
        if target_room not in ROOMS or room not in ROOMS:
            return  # reported by check_rooms
        if ROOMS.index(target_room) > ROOMS.index(room):
            self.report(path, number, f"'{name}': room '{room}' comes before room '{target_room}' and may not include it")
        if not public and not target_public and target_room == room:
            self.check_folders(path, number, relative, target_path)
        if room in OUTER and target_room != room and not target_public:
            self.report(path, number, f"'{name}': room '{room}' is written on the public API only")

    def check_folders(self, path, number, relative, target):
        """Both are files in src, of one room."""
        folders = FOLDERS.get(relative.parts[0], ["."])
        own, other = (f.parts[1] if len(f.parts) > 2 else "." for f in (relative, target))
        if own not in folders or other not in folders:
            return  # reported by check_rooms
        if folders.index(other) > folders.index(own):
            self.report(path, number, f"'{target}': folder '{own}' comes before folder '{other}' and may not include it")

    def resolve(self, path, name):
        """(is public, path within include/apsis or src) of an included file of ours, else None."""
        if name.startswith("apsis/"):
            return True, pathlib.PurePath(name[len("apsis/"):])
        if (self.root / "src" / name).is_file():
            return False, pathlib.PurePath(name)
        for base, public in ((self.root / "src", False), (self.root / "include" / "apsis", True)):
            beside = (path.parent / name).resolve()
            if beside.is_file() and beside.is_relative_to(base.resolve()):
                return public, beside.relative_to(base.resolve())
        return None

    def check_text(self, path):
        lines = path.read_text(errors="replace").splitlines()
        if path.suffix in {".hpp", ".cpp", ".inc"} and len(lines) > LENGTH_LIMIT:
            self.report(path, len(lines), f"{len(lines)} lines (limit {LENGTH_LIMIT}): split it by idea")
        for number, line in enumerate(lines, 1):
            if UNFINISHED.search(line):
                self.report(path, number, "unfinished work belongs in an issue, not in the text")


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    breaches = Checker(root.resolve()).check()
    for breach in breaches:
        print(breach)
    if breaches:
        print(f"{len(breaches)} breaches of the structure")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
