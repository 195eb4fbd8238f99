#!/usr/bin/env python3
"""Builds the site: Doxygen, and what its settings have no word for.

usage: tools/build_site.py OUT

Doxygen's menu names its own lists first ("Related Pages", "Namespaces"); here it names the pages in the order in which they are
read, and its lists are below "Reference". Its search box looks for names without their namespace: `optim::adam` is made `adam`.
"""

import os
import pathlib
import re
import subprocess
import sys

MENU = (("Apsis", "index"), ("Tutorial", "tutorial"), ("Guide", "guide"), ("How to", "howto"), ("Coming from …", "coming_from"),
        ("Gallery", "gallery"), ("How it works", "design"), ("Figures", "figures"))


def with_pages(menu):
    """The text of menudata.js, with the site's pages before Doxygen's lists."""
    head, lists = re.fullmatch(r"(.*var menudata=\{children:\[\n)\{text:\"Main Page\".*?\},\n\{text:\"Related Pages\".*?\},\n(.*)\]\}\s*",
                               menu, re.DOTALL).groups()
    pages = "".join(f'{{text:"{text}",url:"{page}.html"}},\n' for text, page in MENU)
    return f'{head}{pages}{{text:"Reference",url:"namespaces.html",children:[\n{lists}]}}]}}\n'


def without_namespaces(search):
    """The text of search.js, where what stands before the last `::` of a query is left out."""
    changed, count = re.subn(r"(searchValue = this\.DOMSearchField\(\)\.value)", r'\1.replace(/^.*::/, "")', search)
    if count == 0:
        raise SystemExit("tools/build_site.py: the search of this Doxygen reads its query in another way")
    return changed


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    out = pathlib.Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    root = pathlib.Path(__file__).resolve().parent.parent
    subprocess.run(["doxygen", "docs/Doxyfile"], cwd=root, check=True, env={**os.environ, "APSIS_DOCS_OUT": str(out)})
    for name, change in (("menudata.js", with_pages), ("search/search.js", without_namespaces)):
        path = out / name
        path.write_text(change(path.read_text()))


if __name__ == "__main__":
    main()
