"""What tools/build_site.py changes in the files that Doxygen writes."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import build_site  # noqa: E402

MENU = """/* licence */
var menudata={children:[
{text:"Main Page",url:"index.html"},
{text:"Related Pages",url:"pages.html"},
{text:"Namespaces",url:"namespaces.html",children:[
{text:"Namespace List",url:"namespaces.html"}]},
{text:"Files",url:"files.html"}]}
"""


class BuildSite(unittest.TestCase):
    def test_pages_come_before_lists(self):
        menu = build_site.with_pages(MENU)
        self.assertTrue(menu.startswith('/* licence */\nvar menudata={children:[\n{text:"Apsis",url:"index.html"},\n'))
        self.assertTrue(menu.endswith('{text:"Reference",url:"namespaces.html",children:[\n{text:"Namespaces",url:"namespaces.html",'
                                      'children:[\n{text:"Namespace List",url:"namespaces.html"}]},\n'
                                      '{text:"Files",url:"files.html"}]}]}\n'))
        self.assertNotIn("Related Pages", menu)

    def test_names_are_looked_for_without_namespaces(self):
        self.assertEqual('var searchValue = this.DOMSearchField().value.replace(/^.*::/, "").replace(/ +/g, "");',
                         build_site.without_namespaces('var searchValue = this.DOMSearchField().value.replace(/ +/g, "");'))

    def test_another_search_is_an_error(self):
        with self.assertRaises(SystemExit):
            build_site.without_namespaces("nothing")

    def test_pages_of_the_menu_are_there(self):
        docs = pathlib.Path(build_site.__file__).resolve().parents[1] / "docs"
        text = "".join(path.read_text() for pattern in ("*.md", "*.dox") for path in docs.rglob(pattern))
        for _, page in build_site.MENU[1:]:
            self.assertTrue(f"{{#{page}}}" in text or f"\\page {page} " in text, page)


if __name__ == "__main__":
    unittest.main()
