# SPDX-License-Identifier: Apache-2.0
"""Build the site from docs/: `make docs`, or `python docs/site/build.py OUTPUT`. Nothing is fetched, nothing asks another host.

1. Read nav.toml, and every page it names; reference and decisions are listed by their folders.
2. Write the pages that are generated: the command line from its help, the service from its OpenAPI document.
3. Turn Markdown into HTML: equations (```math) into MathML, code into coloured code, and put below ```python figure=NAME
   the figure that the code draws.
4. Hold every link against what is there; a link that leads nowhere fails the build.
5. Write the index that search.js looks through.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
import tomllib
from itertools import count
from pathlib import Path

import latex2mathml.converter
from generated import commands_page, service_page
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from snippets import Figures

HERE = Path(__file__).parent
DOCS = HERE.parent
ROOT = DOCS.parent
ELSEWHERE = re.compile(r"^(https?:|mailto:|#)")
CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; base-uri 'none'; form-action 'none'"
)


class Page:
    """A page: its path under docs/, its Markdown, and what it becomes."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.url = re.sub(r"\.md$", ".html", path.replace("README.md", "index.md"))
        self.text = re.sub(r"^<!--[^\n]*-->\n", "", text, flags=re.M)  # marks of what writes into a page
        self.title = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), Path(path).stem)
        self.headings: list[tuple[str, str]] = []

    @property
    def up(self) -> str:
        return "../" * self.url.count("/")


class Site:
    """All pages, and the way from one to another."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.sections: list[tuple[str, list[Page]]] = []
        self.pages: dict[str, Page] = {}
        self.faults: list[str] = []
        self.figures = Figures(out / "figures")
        for section in tomllib.loads((HERE / "nav.toml").read_text("utf-8"))["section"]:
            self.sections.append((section["title"], [self.page(path) for path in self._paths(section)]))
        for path in sorted(DOCS.rglob("*.md")):  # pages that others lead to
            self.page(path.relative_to(DOCS).as_posix())

    def _paths(self, section: dict[str, object]) -> list[str]:
        paths = list(section["pages"])  # type: ignore[call-overload]
        for folder in section.get("folders", []):  # type: ignore[attr-defined]
            paths += sorted(
                path.relative_to(DOCS).as_posix() for path in (DOCS / folder).glob("*.md") if path.name != "README.md"
            )
        return paths

    def page(self, path: str) -> Page:
        if path not in self.pages:
            made = {"reference/commands.md": commands_page, "reference/service.md": service_page}.get(path)
            if made is None and not (DOCS / path).exists():
                sys.exit(f"nav.toml names docs/{path}, which is not there")
            self.pages[path] = Page(path, made() if made else (DOCS / path).read_text("utf-8"))
        return self.pages[path]

    def build(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        for name in ("site.css", "search.js", "theme.js"):
            shutil.copy(HERE / name, self.out / name)
        (self.out / "code.css").write_text(coloured_code(), "utf-8")
        shutil.copytree(DOCS / "images", self.out / "images", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        index = []
        queue = list(self.pages.values())
        for page in queue:  # grows: a page outside docs/ joins when one leads to it
            before = len(self.pages)
            body = self.rendered(page)
            queue += list(self.pages.values())[before:]
            target = self.out / page.url
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.framed(page, body), "utf-8")
            words = re.sub(
                r"\s+", " ", html.unescape(re.sub(r"<(math|pre|svg).*?</\1>|<[^>]+>", " ", body, flags=re.S))
            )
            index.append({"title": page.title, "url": page.url, "text": words[:6000]})
        (self.out / "index-data.js").write_text(f"window.SEARCH = {json.dumps(index, ensure_ascii=False)};\n", "utf-8")
        if self.faults:
            sys.exit("\n".join(["links that lead nowhere:", *self.faults]))
        print(f"{len(queue)} pages in {self.out}")

    def rendered(self, page: Page) -> str:
        markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        tokens = markdown.parse(page.text)
        for place, token in enumerate(tokens):
            if token.type == "heading_open":
                words = tokens[place + 1].content
                token.attrSet("id", self._anchor(page, words))
                page.headings.append((token.tag, words))
            if token.type in ("th_open", "td_open") and "style" in token.attrs:
                # The pages' policy admits no style but the site's own: text-align:right becomes a class.
                token.attrSet("class", str(token.attrs.pop("style")).partition(":")[2])
            for child in token.children or []:
                if child.type == "link_open":
                    child.attrSet("href", self.link(page, str(child.attrGet("href"))))
                elif child.type == "image":
                    child.attrSet("src", self.link(page, str(child.attrGet("src"))))
        rules = markdown.renderer.rules
        rules["fence"] = lambda tokens, at, options, env: self.fence(page, tokens[at].info.strip(), tokens[at].content)
        rules["code_block"] = lambda tokens, at, options, env: code("text", tokens[at].content)
        numbers = count(1)
        rules["table_open"] = lambda *_: (
            f'<div class="wide" role="region" aria-label="table {next(numbers)}" tabindex="0"><table>'
        )
        rules["table_close"] = lambda *_: "</table></div>"
        body = str(markdown.renderer.render(tokens, markdown.options, {}))
        # A table whose first row is empty has no head to announce.
        body = re.sub(r"<thead>\s*<tr>(\s*<th[^>]*></th>)+\s*</tr>\s*</thead>", "", body)
        return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", body)

    def fence(self, page: Page, info: str, content: str) -> str:
        if info == "math":
            return f'<p class="equation">{equation(" ".join(content.split()))}</p>'
        language, _, rest = info.partition(" ")
        shown = code(language or "text", content)
        if not rest.startswith("figure="):
            return shown
        name = rest.removeprefix("figure=")
        file, alt = self.figures.drawn(page.path, name, page.text)
        return f'{shown}<p><img class="figure" src="{page.up}figures/{file}" alt="{html.escape(alt)}"></p>'

    def link(self, page: Page, href: str) -> str:
        if ELSEWHERE.match(href):
            return href
        path, _, anchor = href.partition("#")
        target = (DOCS / page.path).parent.joinpath(path).resolve()
        if page.path.startswith("repository/"):
            target = ROOT.joinpath(path).resolve()
        if target.is_dir():
            target = target / "README.md"
        generated = target.is_relative_to(DOCS) and target.relative_to(DOCS).as_posix() in self.pages
        if not (target.exists() or generated) or not target.is_relative_to(ROOT):
            self.faults.append(f"docs/{page.path}: {href}")
            return href
        tail = f"#{anchor}" if anchor else ""
        if target.is_relative_to(DOCS) and target.suffix == ".md":
            return page.up + self.page(target.relative_to(DOCS).as_posix()).url + tail
        if target.is_relative_to(DOCS / "images"):
            return page.up + target.relative_to(DOCS).as_posix()
        return page.up + self._outside(target) + tail

    def _outside(self, target: Path) -> str:
        """A file of the repository that is no page of the docs: Markdown becomes a page, anything else is copied."""
        named = f"repository/{target.relative_to(ROOT).as_posix()}"
        if target.suffix == ".md":
            if named not in self.pages:
                self.pages[named] = Page(named, target.read_text("utf-8"))
            return self.pages[named].url
        copy = self.out / named
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(target, copy)
        return named

    @staticmethod
    def _anchor(page: Page, words: str) -> str:
        name = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-") or "part"
        taken = sum(1 for _, other in page.headings if other == words)
        return f"{name}-{taken}" if taken else name

    def framed(self, page: Page, body: str) -> str:
        nav = []
        for title, pages in self.sections:
            links = ""
            for each in pages:
                current = " aria-current=page" if each is page else ""
                links += f'<li><a href="{page.up}{each.url}"{current}>{html.escape(each.title)}</a></li>'
            shown = " open" if page in pages or len(pages) < 20 else ""
            nav.append(f"<details{shown}><summary>{html.escape(title)}</summary><ul>{links}</ul></details>")
        return TEMPLATE.format(
            policy=CONTENT_POLICY, title=html.escape(page.title), up=page.up, nav="".join(nav), body=body
        )


def equation(latex: str) -> str:
    """An equation as MathML; what the converter cannot read stays LaTeX in a box, never an error message."""
    try:
        return str(latex2mathml.converter.convert(latex, display="block"))
    except Exception:
        return f"<code>{html.escape(latex)}</code>"


def code(language: str, content: str) -> str:
    """Code in colour."""
    try:
        lexer = get_lexer_by_name({"sh": "bash", "": "text"}.get(language, language))
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    coloured = highlight(content, lexer, HtmlFormatter(nowrap=True))
    return f'<pre tabindex="0"><code>{coloured}</code></pre>'


def coloured_code() -> str:
    """The colours of code on light and on dark paper."""
    light = HtmlFormatter(style="xcode").get_style_defs("pre")
    dark = HtmlFormatter(style="github-dark").get_style_defs("[data-theme=dark] pre")
    return (
        re.sub(r"background(-color)?: #\w+;?", "", light)
        + "\n"
        + re.sub(r"background(-color)?: #\w+;?", "", dark)
        + "\n"
    )


TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title} · epimeter</title>
<link rel="stylesheet" href="{up}site.css">
<link rel="stylesheet" href="{up}code.css">
<script src="{up}theme.js"></script>
</head>
<body data-up="{up}">
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="name" href="{up}index.html">epimeter</a>
<div class="search">
<label for="query">Search</label> <input id="query" type="search" autocomplete="off">
<ul id="found" aria-live="polite"></ul>
</div>
<button id="theme" type="button">Dark or light</button>
</header>
<div class="columns">
<nav aria-label="Pages">{nav}</nav>
<main id="content">
{body}
</main>
</div>
<script src="{up}index-data.js" defer></script>
<script src="{up}search.js" defer></script>
</body>
</html>
"""


def main() -> None:
    if len(sys.argv) > 2 or any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit(__doc__)
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    Site(out).build()


if __name__ == "__main__":
    main()
