# SPDX-License-Identifier: Apache-2.0
"""Labels that cannot be read as they stand: the refusal names what was most likely meant, and doing it works."""

import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter
from epimeter.errors import EpimeterError

FROM_ONE = "p_0,p_1,p_2,y\n" + "\n".join(["0.7,0.2,0.1,1", "0.2,0.7,0.1,2", "0.1,0.2,0.7,3", "0.6,0.3,0.1,2"] * 10)
SALARIES = "label,proba\n" + "\n".join(["<=50K,0.2", ">50K,0.7", "<=50K,0.4"] * 10)
GIVEN = "income,predicted,confidence\n" + "\n".join(["a,a,0.9", "b,a,0.6", "b,b,0.8"] * 10)


@pytest.mark.parametrize(
    ("text", "words", "remedy"),
    [
        (FROM_ONE, "Labels 1 to 3? Say --classes 1,2,…,3", ["--classes", "1,2,3"]),
        (SALARIES, "Say --positive '<=50K' or --positive '>50K'", ["--positive", ">50K"]),
        (GIVEN, "has no column for label; ", ["--column", "label=income"]),
    ],
)
def test_a_refusal_names_its_remedy_and_the_remedy_works(tmp_path, text, words, remedy):
    file = tmp_path / "rows.csv"
    file.write_text(text)
    refused = CliRunner().invoke(epimeter, ["evaluate", str(file), "-o", str(tmp_path / "report.html")])
    assert isinstance(refused.exception, EpimeterError) and words in str(refused.exception)
    assert not (tmp_path / "report.html").exists()
    assert CliRunner().invoke(epimeter, ["evaluate", str(file), *remedy]).exit_code == 0
