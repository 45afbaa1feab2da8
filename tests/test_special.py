"""The special functions are scipy's own, loaded without what the package loads beside them."""

import subprocess
import sys

ALONE = """
import sys
from epimeter.special import gammainc, ndtri, psi
assert not {"scipy.special", "scipy.optimize"} & set(sys.modules), "a package was loaded"
import scipy.special
import scipy.stats
from epimeter import special
for name in "betainc betaincinv chdtrc chndtr entr erf expit gammainc gammaincinv gammaln logit ndtr ndtri psi stdtrit".split():
    assert getattr(special, name) is getattr(scipy.special, name), name
assert (gammainc, ndtri, psi) == (scipy.special.gammainc, scipy.special.ndtri, scipy.special.psi)
assert scipy.special._ufuncs.ndtri is ndtri
assert special.logsumexp is scipy.special.logsumexp  # what is not compiled comes from the package
import math, scipy.optimize
for at in (0.1, 0.5, 0.9):
    assert special.brentq(lambda x: math.cos(x) - at, 0.0, 3.0) == scipy.optimize.brentq(lambda x: math.cos(x) - at, 0.0, 3.0)
print(scipy.stats.chi2.sf(3.0, 2), scipy.special.softmax([0.0, 1.0]))
"""

BESIDE_A_THREAD = """
import sys, threading
held = threading.Event()
threading.Thread(target=held.wait, daemon=True).start()
from epimeter.special import ndtri
assert "scipy.special" in sys.modules
print(ndtri(0.975))
held.set()
"""

COMMAND = """
import sys
from epimeter.cli import main
try:
    main(["evaluate", sys.argv[1]])
except SystemExit as done:
    assert not done.code, done.code
heavy = "scipy.special scipy.optimize scipy.stats numpy.testing matplotlib epimeter.draw epimeter.metrics.detection".split()
print([name for name in heavy if name in sys.modules])
"""


def ran(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    ).stdout


def test_the_compiled_functions_are_loaded_alone_and_the_package_still_works_afterwards():
    assert ran(ALONE).startswith("0.223")


def test_beside_another_thread_the_package_is_imported_as_always():
    assert ran(BESIDE_A_THREAD).startswith("1.959963984540")


def test_the_first_command_loads_nothing_heavy(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("y_true,y_prob\n" + "1,0.7\n0,0.2\n1,0.9\n0,0.6\n1,0.3\n" * 20)
    assert ran(COMMAND, str(file)).splitlines()[-1] == "[]"
