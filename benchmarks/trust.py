# SPDX-License-Identifier: Apache-2.0
"""How fast the log grows, how fast certificates are verified and issued, how long a proof is.

python -m benchmarks.trust
"""

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "trust"))

from certificates import CERTIFICATE, FOUND, GOOD, ISSUER, LATER, LIST, SUBJECT, TRUST, body, data_of, logged, signed
from trust_ground import AT, LOG_KEY, ORIGIN, POLICY

from benchmarks.sections import machine, write
from epimeter.trust.log import Log
from epimeter.trust.registry import Registry
from epimeter.trust.tlog_proof import verify_proof
from epimeter.trust.verify import open_status, verify

LEAVES, BATCH = 1_000_000, 10_000


def rate(call, count, rounds=7):
    """Calls a second, the best of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, time.perf_counter() - start)
    return count / best


def grown(folder):
    """A log of a million entries of 300 bytes; entries a second, the log, and what the disk alone takes."""
    log = Log.create(Path(folder) / "log.db", ORIGIN, LOG_KEY, AT)
    best, start = 0.0, time.perf_counter()
    for first in range(0, LEAVES, BATCH):
        entries = [b"%0300d" % number for number in range(first, first + BATCH)]
        begun = time.perf_counter()
        log.append(entries, LOG_KEY, AT)
        best = max(best, BATCH / (time.perf_counter() - begun))
    return log, LEAVES / (time.perf_counter() - start), best


def flushed(folder):
    """Waits for the disk a second: what bounds single entries."""
    with (Path(folder) / "probe").open("wb") as file:

        def once():
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())

        return rate(once, 50, rounds=3)


def main():
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        log, whole, best = grown(folder)
        with log:
            middle = log.proof(LEAVES // 2 + 1)
            size = len(middle.to_text().encode())
            verify_proof(middle, log.entry(LEAVES // 2 + 1), POLICY)
            proofs = rate(lambda: log.proof(LEAVES // 2 + 1), 100)
            single = rate(lambda: log.append([b"x" * 300], LOG_KEY, AT), 30, rounds=3)
        disk = flushed(folder)
        registry = Registry.create(Path(folder) / "issuer", issuer="i", origin="i/log", passphrase="x", at=AT)
        signers = registry.signers("x", AT)
        issued = rate(lambda: registry.certify(FOUND, SUBJECT, signers, AT), 20, rounds=3)
        registry.close()
    opened = open_status(GOOD, TRUST, list_id=LIST, at=LATER)
    assert verify(CERTIFICATE, TRUST, at=LATER, status=opened).word == "VALID"
    plain = data_of(logged(signed(body())))
    checked = rate(lambda: verify(plain, TRUST, at=LATER, status=opened), 10, rounds=1500)
    promised = rate(lambda: verify(CERTIFICATE, TRUST, at=LATER, status=opened), 10, rounds=1500)
    message, value = b"x" * 2500, ISSUER.sign(b"x" * 2500)
    bare = rate(lambda: ISSUER.public.verify(message, value), 50, rounds=300)
    write(
        "Trust",
        f"""
`benchmarks/trust.py`, {machine()}, one core; other work ran on the machine, so rates are the best of several rounds.

| what | measured | aim |
| --- | ---: | ---: |
| entries appended a second, batches of {BATCH:,}, `synchronous=FULL`, mean over {LEAVES:,} | {whole:,.0f} | 20,000 |
| the same, best batch | {best:,.0f} | |
| single entries appended a second (each waits for the disk; the disk alone: {disk:,.0f}) | {single:,.0f} | |
| certificates verified a second, all eleven steps | {checked:,.0f} | 2,000 |
| the same with a pre-registration to be proven | {promised:,.0f} | |
| Ed25519 signatures verified a second by the library alone (a certificate needs two) | {bare:,.0f} | |
| certificates issued a second, one at a time, in the folder of an issuer (two transactions, three files each) | {issued:,.0f} | |
| proof of an entry of a log of {LEAVES:,}, bytes | {size:,} | 1,500 |
| proofs made a second from that log | {proofs:,.0f} | |
| certificate, bytes | {len(CERTIFICATE):,} | |
""",
    )


if __name__ == "__main__":
    main()
