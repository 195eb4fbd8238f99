#!/usr/bin/env python3
"""Checks the site that `make docs` builds: Doxygen has nothing to warn of, and every public name is on it.

usage: tools/check_docs.py [ROOT]

A public name is a function, type, concept or constant of `namespace apsis`, or of a namespace in it other than
`detail`. It needs a comment of its own, since Doxygen leaves out functions without one. Prints one line for each
breach, `file:line: what is wrong`, and exits with 1 when there is any.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

# The names that must be there whatever the settings of Doxygen hide: one of each kind.
EXPECTED = {"apsis::jit", "apsis::vmap", "apsis::sin", "apsis::Array", "apsis::diffeqsolve", "apsis::nn::Linear",
            "apsis::random::normal", "apsis::StepController"}


def run_doxygen(root, out):
    """The warnings of a run with the project's settings; leaves what it found, as XML, in `out`/xml."""
    settings = (root / "docs" / "Doxyfile").read_text()
    # Undocumented names are let in, to be reported.
    settings += "\nEXTRACT_ALL = YES\nGENERATE_HTML = NO\nGENERATE_XML = YES\nXML_PROGRAMLISTING = NO\n"
    done = subprocess.run(["doxygen", "-"], input=settings, text=True, capture_output=True, cwd=root, check=True,
                          env={**os.environ, "APSIS_DOCS_OUT": str(out)})
    return [line for line in done.stderr.splitlines() if "warning" in line or "error" in line]


def is_documented(entry):
    return any("".join(part.itertext()).strip() for kind in ("briefdescription", "detaileddescription")
               for part in entry.findall(kind))


def is_public(name):
    return name.startswith("apsis") and "detail" not in name.split("::") and "<" not in name.split("operator")[0]


def public_names(xml):
    """(name, file:line, whether it has a comment) of everything at the level of a public namespace."""
    for path in sorted(xml.glob("*.xml")):
        for page in ElementTree.parse(path).getroot().iter("compounddef"):
            kind, name = page.get("kind"), page.findtext("compoundname")
            if kind not in {"namespace", "class", "struct", "union", "concept"} or not is_public(name):
                continue
            if kind == "namespace":
                for member in page.iter("memberdef"):
                    place = member.find("location")
                    yield (f"{name}::{member.findtext('name')}", f"{place.get('file')}:{place.get('line')}",
                           is_documented(member))
            place = page.find("location")
            # Members of classes are on the page of their class with or without a comment.
            if kind == "namespace" or "::" not in name or is_namespace(name.rpartition("::")[0], xml):
                yield name, f"{place.get('file')}:{place.get('line')}", is_documented(page)


def is_namespace(name, xml):
    return (xml / f"namespace{name.replace('_', '__').replace('::', '_1_1')}.xml").exists()


def breaches_of(root, expected):
    with tempfile.TemporaryDirectory() as out:
        breaches = run_doxygen(root, pathlib.Path(out))
        entries = list(public_names(pathlib.Path(out) / "xml"))
    # Of the overloads of a function one comment is enough: they stand on one page.
    documented = {name for name, _, has_comment in entries if has_comment}
    missing = {name: place for name, place, _ in reversed(entries) if name not in documented}
    breaches += [f"{place}: {name} has no comment; the site leaves it out" for name, place in missing.items()]
    breaches += [f"docs/Doxyfile:1: {name} is not on the site" for name in expected - documented]
    return sorted(breaches)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    breaches = breaches_of(root, EXPECTED)
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
