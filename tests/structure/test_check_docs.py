"""The check of the site against headers that break each of its rules once, and against one that breaks none."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_docs  # noqa: E402

DOXYFILE = "OUTPUT_DIRECTORY = $(APSIS_DOCS_OUT)\nINPUT = include\nRECURSIVE = YES\nQUIET = YES\nGENERATE_LATEX = NO\n"


class CheckDocs(unittest.TestCase):
    def check(self, header):
        """The breaches of a tree with this one header, as one text."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "docs").mkdir()
            (root / "docs" / "Doxyfile").write_text(DOXYFILE)
            (root / "include").mkdir()
            (root / "include" / "a.hpp").write_text(header)
            return "\n".join(check_docs.breaches_of(root, expected={"apsis::f"}))

    def test_documented_names_have_no_breach(self):
        self.assertEqual("", self.check("/// All.\nnamespace apsis {\n/// One.\nint f();\nint f(int);\n"
                                        "namespace detail {\nint hidden();\n}\n}\n"))

    def test_names_without_a_comment(self):
        text = self.check("/// All.\nnamespace apsis {\n/// One.\nint f();\nint g();\nstruct S {};\n"
                          "template <class T>\nconcept C = true;\n}\n")
        self.assertIn("include/a.hpp:5: apsis::g has no comment", text)
        self.assertIn("include/a.hpp:6: apsis::S has no comment", text)
        self.assertIn("apsis::C has no comment", text)

    def test_a_namespace_without_a_comment(self):
        self.assertIn("apsis has no comment", self.check("namespace apsis {\n/// One.\nint f();\n}\n"))

    def test_names_that_must_be_there(self):
        self.assertIn("apsis::f is not on the site", self.check("/// All.\nnamespace apsis {}\n"))

    def test_warnings_of_doxygen(self):
        self.assertIn("a.hpp:3: warning", self.check("/// All.\nnamespace apsis {\n/// \\nosuch One.\nint f();\n}\n"))


if __name__ == "__main__":
    unittest.main()
