# SPDX-License-Identifier: Apache-2.0
"""Write docs/experiments/ecd.md from a finished study: `python experiments/ecd/page.py FOLDER`.

The findings are written by hand in findings.md; tables, counts and figures come from the study.
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    images = DOCS / "images" / "ecd"
    images.mkdir(parents=True, exist_ok=True)
    for figure in sorted(folder.glob("*.svg")):
        shutil.copy(figure, images / figure.name)
    shutil.copy(folder / "results.csv", DOCS / "experiments" / "ecd_results.csv")
    shown = [f"![{path.stem.replace('_', ' ')}](../images/ecd/{path.name})" for path in sorted(images.glob("*.svg"))]
    page = [(HERE / "findings.md").read_text("utf-8"), "## Figures\n", "\n\n".join(shown), "\n## Tables\n"]
    page.append((folder / "tables.md").read_text("utf-8"))
    page.append("Every number as data: [ecd_results.csv](ecd_results.csv). Again: `make experiments`.\n")
    (DOCS / "experiments" / "ecd.md").write_text("\n".join(page), "utf-8")


if __name__ == "__main__":
    main()
