"""The program with a clock that can be set: seconds in the file named first are added to what the clock of the system says."""

import datetime
import sys
import time
from pathlib import Path

FILE = Path(sys.argv.pop(1))
_time, _time_ns, _datetime = time.time, time.time_ns, datetime.datetime


def offset():
    return float(FILE.read_text() or 0)


class Kind(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _datetime)


class Shifted(_datetime, metaclass=Kind):
    @classmethod
    def now(cls, tz=None):
        return _datetime.now(tz) + datetime.timedelta(seconds=offset())


def main():
    from epimeter.cli import main as program
    from epimeter.trust import key_file

    key_file._N = 16  # as in `quick_secrets`
    time.time = lambda: _time() + offset()
    time.time_ns = lambda: _time_ns() + int(offset() * 1e9)
    for name, module in list(sys.modules.items()):
        if name.startswith("epimeter.") and getattr(module, "datetime", None) is _datetime:
            module.datetime = Shifted
    program()


if __name__ == "__main__":
    main()
