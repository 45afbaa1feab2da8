"""What msgspec knows of a record is settled before the first request: two threads that begin that at once end the process."""

import subprocess
import sys

# A module that is imported later, on a request, would bring records that nobody settled.
LATE = """
import importlib, pkgutil, msgspec
import epimeter.service.server, epimeter.web
from epimeter.service import record_types
settled = set()
plain = msgspec.json.Decoder
msgspec.json.Decoder = lambda kind, *more: settled.add(kind) or plain(kind, *more)
assert record_types.settle() > 60
for room in (epimeter.service, epimeter.web):
    for one in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
        importlib.import_module(one.name)
late = {kind.__name__ for kind in set(record_types.records(msgspec.Struct)) - settled}
assert not late, late
"""


def test_every_record_of_the_service_and_its_pages_is_settled_at_the_start():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-800:]
