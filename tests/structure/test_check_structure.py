"""The structure check against a tree made to break each of its rules once, and against one that breaks none."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_structure  # noqa: E402

README = "What lives here.\n" * 10


class CheckStructure(unittest.TestCase):
    def check(self, files):
        """The breaches of a tree holding `files` (path: text), as one text."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return "\n".join(check_structure.Checker(root).check())

    def header(self, *includes):
        return "".join(["#pragma once\n"] + [f"#include {name}\n" for name in includes])

    def test_a_sound_tree_has_no_breach(self):
        self.assertEqual("", self.check({
            "include/apsis/apsis.hpp": self.header("<apsis/diffeq/solve.hpp>"),
            "include/apsis/fwd.hpp": self.header("<cstdint>"),
            "include/apsis/base/error.hpp": self.header("<string>"),
            "include/apsis/core/array.hpp": self.header("<apsis/base/error.hpp>", "<apsis/fwd.hpp>", "<vector>"),
            "include/apsis/diffeq/solve.hpp": self.header("<apsis/core/array.hpp>"),
            "src/base/README.md": README,
            "src/core/README.md": README,
            "src/diffeq/README.md": README,
            "src/codegen/README.md": README,
            "src/diffeq/solve.cpp": '#include "diffeq/step.hpp"\n#include <apsis/diffeq/solve.hpp>\n',
            "src/diffeq/step.hpp": self.header(),
            "src/codegen/llvm/emit.cpp": "#include <llvm-c/Core.h>\n",
        }))

    def test_a_room_may_not_include_a_later_one(self):
        found = self.check({
            "include/apsis/core/array.hpp": self.header("<apsis/diffeq/solve.hpp>"),
            "src/core/README.md": README,
            "src/core/trace.cpp": '#include "runtime/call.hpp"\n',
            "src/runtime/call.hpp": self.header(),
            "src/runtime/README.md": README,
        })
        self.assertIn("include/apsis/core/array.hpp:2: 'apsis/diffeq/solve.hpp': room 'core' comes before room 'diffeq'",
                      found)
        self.assertIn("src/core/trace.cpp:1: 'runtime/call.hpp': room 'core' comes before room 'runtime'", found)

    def test_outer_rooms_use_the_public_api_only(self):
        found = self.check({
            "src/diffeq/solve.cpp": '#include "core/node.hpp"\n#include "../core/node.hpp"\n',
            "src/diffeq/README.md": README,
            "src/core/node.hpp": self.header(),
            "src/core/README.md": README,
        })
        self.assertIn("src/diffeq/solve.cpp:1: 'core/node.hpp': room 'diffeq' is written on the public API only", found)
        self.assertIn("src/diffeq/solve.cpp:2: '../core/node.hpp': room 'diffeq' is written", found)

    def test_public_headers_stay_public_and_light(self):
        found = self.check({
            "include/apsis/core/array.hpp": self.header("<memory>", '"core/node.hpp"'),
            "include/apsis/tree/tree.hpp": self.header("<functional>", "<memory>"),
            "include/apsis/ops/sin.hpp": self.header("<apsis/apsis.hpp>"),
            "include/apsis/fwd.hpp": self.header("<apsis/core/array.hpp>"),
            "include/apsis/ir/graph.hpp": self.header(),
            "src/core/node.hpp": self.header(),
            **{f"src/{room}/README.md": README for room in ("core", "tree", "ops", "ir")},
        })
        self.assertIn("core/array.hpp:2: <memory> is too heavy", found)
        self.assertIn("core/array.hpp:3: 'core/node.hpp': a public header includes a private one", found)
        self.assertIn("tree/tree.hpp:2: <functional> is too heavy", found)
        self.assertNotIn("tree/tree.hpp:3", found)
        self.assertIn("ops/sin.hpp:2: <apsis/apsis.hpp> is for users", found)
        self.assertIn("fwd.hpp:2: 'apsis/core/array.hpp': fwd.hpp only declares", found)
        self.assertIn("include/apsis/ir:1: 'ir' is a private room", found)

    def test_the_umbrella_reaches_all(self):
        found = self.check({
            "include/apsis/apsis.hpp": self.header('"apsis/core/array.hpp"'),
            "include/apsis/core/array.hpp": self.header('"apsis/core/dtype.hpp"'),
            "include/apsis/core/dtype.hpp": self.header(),
            "include/apsis/core/forgotten.hpp": self.header(),
            "include/apsis/core/extend.hpp": "#pragma once\n// For authors of ops; not part of apsis.hpp.\n",
            "src/core/README.md": README,
        })
        self.assertEqual("include/apsis/core/forgotten.hpp:1: apsis.hpp does not reach this header, "
                         "which does not say 'not part of apsis.hpp'", found)

    def test_llvm_is_seen_in_its_room_only(self):
        found = self.check({"src/codegen/plan.cpp": "#include <llvm-c/Core.h>\n", "src/codegen/README.md": README})
        self.assertIn("src/codegen/plan.cpp:1: <llvm-c/Core.h>: LLVM is seen in src/codegen/llvm only", found)

    def test_folders_of_a_room_have_an_order(self):
        found = self.check({
            "src/codegen/builder/builder.hpp": self.header('"codegen/emit/region.hpp"'),
            "src/codegen/emit/region.hpp": self.header('"codegen/builder/builder.hpp"'),
            "src/codegen/other/thing.cpp": "",
            "src/passes/analysis/cost.cpp": '#include "passes/pipeline.hpp"\n',
            "src/passes/pipeline.hpp": self.header('"passes/analysis/cost.hpp"'),
            "src/passes/analysis/cost.hpp": self.header(),
            "src/codegen/README.md": README, "src/passes/README.md": README,
        })
        self.assertIn("src/codegen/other:1: 'other' is no folder of 'codegen': FOLDERS in tools/check_structure.py", found)
        self.assertIn("src/codegen/builder/builder.hpp:2: 'codegen/emit/region.hpp': folder 'builder' comes before folder 'emit'", found)
        self.assertIn("src/passes/analysis/cost.cpp:1: 'passes/pipeline.hpp': folder 'analysis' comes before folder '.'", found)
        self.assertEqual(3, len(found.splitlines()))

    def test_a_type_has_one_definition(self):
        text = "namespace apsis::detail {\nstruct Layout {\n  int size;\n};\nnamespace {\nstruct Own {};\n}\n}\n"
        found = self.check({"src/core/a.cpp": text, "src/ops/b.cpp": text, "src/core/README.md": README, "src/ops/README.md": README})
        self.assertIn("src/ops/b.cpp:2: 'apsis::detail::Layout' is also defined in src/core/a.cpp", found)
        self.assertNotIn("Own", found)

    def test_lengths_guards_and_unfinished_work(self):
        found = self.check({
            "include/apsis/core/long.hpp": self.header() + "// text\n" * 400,
            "src/core/longer.cpp": "// text\n" * 801,
            "src/core/bare.hpp": "struct Bare {};\n",
            "src/core/README.md": README,
            "tests/core/test_it.cpp": "// TO" + "DO: finish\n",
        })
        self.assertIn("include/apsis/core/long.hpp:401: a public header of 401 lines (limit 400)", found)
        self.assertIn("src/core/longer.cpp:801: 801 lines (limit 800)", found)
        self.assertIn("src/core/bare.hpp:1: the header lacks '#pragma once'", found)
        self.assertIn("tests/core/test_it.cpp:1: unfinished work", found)

    def test_global_state_is_listed(self):
        lines = ["thread_local int depth = 0;", "constinit thread_local Pool pool{};", "std::atomic<int> next{1};",
                 "  static auto* table = new Table;", "  static std::atomic<int> number{0};"]
        files = {f"src/core/a{i}.cpp": line + "\n" for i, line in enumerate(lines)}
        files["src/core/README.md"] = README
        self.assertEqual(len(lines), self.check(files).count("global state that HACKING.md does not list"))
        files["HACKING.md"] = "".join(f"| x | `core/a{i}.cpp` | y |\n" for i in range(len(lines)))
        self.assertNotIn("global state", self.check(files))
        files["src/core/b.cpp"] = ("static int f();\n  static const int table[] = {1};\n  static constexpr int n = 1;\n"
                                   "  static std::string text(int n) {\n")
        self.assertNotIn("global state", self.check(files))

    def test_rooms_are_known_and_described(self):
        found = self.check({
            "src/kitchen/sink.cpp": "",
            "src/core/array.cpp": "",
            "src/tree/README.md": "short\n",
        })
        self.assertIn("src/kitchen:1: 'kitchen' is no room", found)
        self.assertIn("src/core:1: the room has no README.md", found)
        self.assertIn("src/tree/README.md:1: 1 lines: a room's README has about ten", found)


if __name__ == "__main__":
    unittest.main()
