"""The program with a calendar that can be set: as `clockwork`, and the dates of keys, logs and certificates move too."""

import clockwork

import epimeter.cli.certify
import epimeter.cli.keys
import epimeter.cli.trusted
import epimeter.service.server  # noqa: F401  loaded here, so that the clock can be put into them

if __name__ == "__main__":
    clockwork.main()
