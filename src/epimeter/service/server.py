# SPDX-License-Identifier: Apache-2.0
"""The process: secrets, database, keys, the administrator's first key, two ports, and the end of it all."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import hashlib
import hmac
import signal
import socket
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import uvicorn
from fastapi import FastAPI

from epimeter.service import errands, log_lines, published_tiles, record_types
from epimeter.service.app import create_admin, create_app
from epimeter.service.children import Children
from epimeter.service.issuer_folder import IssuerFolder, alone
from epimeter.service.published import Memory, now_shown, place
from epimeter.service.secrets import digest, new_key
from epimeter.service.settings import MIB, Secrets, Settings, SettingsError, prepare
from epimeter.service.wire import HEADERS_SIZE, Wire
from epimeter.store import Store, facts, journal, leases, organizations
from epimeter.store.migrations import migrate
from epimeter.store.moments import new_id, now

Say = Callable[[str], None]
Pages = Callable[[FastAPI], None]
OPERATOR = "Operator"
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Numbers of two limits in mallopt(3)."""


def run(settings: Settings, *, new_admin_key: bool = False, say: Say = print, pages: Pages | None = None) -> None:
    """Serve until told to stop; `pages` puts further routes into the app."""
    log_lines.begin(settings.log_level)
    # Threads that measure let go of the interpreter sooner, so that small calls do not wait for large ones.
    sys.setswitchinterval(0.001)
    give_memory_back()
    secrets = prepare(settings)
    with (settings.folder / "serve.lock").open("a") as lock:
        _refuse_second(lock, settings)
        store = Store(settings.database)
        ledger = None
        children = Children(str(settings.folder), settings.child_memory)
        try:
            store.wait(30)
            migrate(store)
            if not store.postgres:
                with store.writing() as db:
                    leases.lapse(db)
            first = not (settings.folder / "registry").exists()
            ledger = IssuerFolder(
                settings.folder / "registry",
                settings.address,
                secrets.passphrase,
                ahead=timedelta(days=settings.rotate_keys_days),
                root_folder=settings.root_folder,
            )
            if settings.issuer not in (None, ledger.registry.issuer):
                raise SettingsError(
                    f"issuer stands in certificates and cannot be changed; {settings.folder} is of {ledger.registry.issuer}"
                )
            if first:
                say(
                    f"the root key, which appoints all others, lies in {settings.root_folder}, and the passphrase that opens it "
                    f"{_passphrase_place(settings)}: move the folder of the root key to a medium in a drawer, and say where it is "
                    "with root_keys when keys are due; while it lies there keys rotate by themselves"
                )
            # Before anything is signed: keys that rotate in an older state would make a second trust root of one version.
            memory = Memory(place(settings))
            memory.refuse_another(ledger.registry)  # and before tiles are asked, which may show the other log
            if settings.tiles is not None and not first:
                published_tiles.ask(settings.tiles, memory, ledger.registry, say)
            memory.refuse_older(now_shown(ledger, store), ledger.registry)
            for sentence in ledger.rotate_due():
                say(sentence)
            ledger.check()
            _refuse_strangers(store, ledger, secrets)
            errands.warm()
            children.wait()
            with alone(settings.folder / "first.lock"):
                key = admin_key(store, secrets, anew=new_admin_key)
            if key is not None:
                say(f"administrator key, shown this once: {key}")
            asyncio.run(_serve(settings, secrets, store, ledger, children, memory, say, pages))
        finally:
            children.close()
            if ledger is not None:
                ledger.close()
            store.close()


def _passphrase_place(settings: Settings) -> str:
    return f"in {settings.folder / 'passphrase'}" if (settings.folder / "passphrase").exists() else "in the settings"


def give_memory_back() -> None:
    """Have the memory of large arrays go back to the system when they are freed.

    glibc comes to keep up to 64 MiB a thread by itself, unless these limits are set; other C libraries have no such call. What
    a request of 100,000 rows takes stays below them: asking the system each time would cost it a tenth of its time.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, 4 * MIB)
        mallopt(M_TRIM_THRESHOLD, 8 * MIB)


def _refuse_second(lock: Any, settings: Settings) -> None:
    """Refuse a second process on one SQLite file: its limits a minute would be counted apart."""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH if settings.postgres else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SettingsError(f"another process serves {settings.folder}; several processes need --postgres") from None


def _refuse_strangers(store: Store, ledger: IssuerFolder, secrets: Secrets) -> None:
    """Refuse a database that belongs to another registry, or whose keys were stored under another pepper."""
    registry = ledger.mark()
    pepper = hmac.new(secrets.pepper, b"fingerprint", hashlib.sha256)
    with store.writing() as db:
        if facts.settle(db, "registry", registry) != registry:
            raise SettingsError(
                f"the database belongs to another registry than {ledger.folder}; servers on one database must share one folder"
            )
        if facts.settle(db, "pepper", pepper.hexdigest()) != pepper.hexdigest():
            raise SettingsError(
                "the API keys in this database were stored under another pepper; servers on one database must share it"
            )


def admin_key(store: Store, secrets: Secrets, *, anew: bool = False) -> str | None:
    """An administrator's key: made on the first start, and where it was lost; else None."""
    with store.writing() as db:
        operator = organizations.oldest(db)
        if operator is not None and not anew:
            return None
        at, key = now(), new_key()
        id = new_id("org_") if operator is None else operator["id"]
        if operator is None:
            organizations.add(db, id=id, name=OPERATOR, tier="CRITICAL", at=at)
        organizations.add_key(
            db,
            id=key.id,
            organization=id,
            name="first administrator key" if operator is None else "another administrator key",
            digest=digest(secrets.pepper, key.text),
            scopes=frozenset({"admin"}),
            at=at,
            expires_at=None,
        )
        journal.note(db, organization=id, actor="serve", action="key.made", subject=key.id, scopes=["admin"])
    return key.text


async def _serve(
    settings: Settings,
    secrets: Secrets,
    store: Store,
    ledger: IssuerFolder,
    children: Children,
    memory: Memory,
    say: Say,
    pages: Pages | None,
) -> None:
    app = create_app(settings, secrets, store, ledger, children, memory)
    if pages is not None:
        pages(app)
    record_types.settle()
    common: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "lifespan": "on"}
    front = uvicorn.Server(
        uvicorn.Config(
            app,
            http=Wire.of(settings),
            h11_max_incomplete_event_size=HEADERS_SIZE,
            timeout_keep_alive=20,
            timeout_graceful_shutdown=5,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies) or None,
            backlog=1024,
            **common,
        )
    )
    back = uvicorn.Server(uvicorn.Config(create_admin(app.state.gauges), **common))
    ports = [_port(settings.host, settings.port), _port(settings.admin_host, settings.admin_port)]
    for server in (front, back):
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    loop = asyncio.get_running_loop()

    def stop() -> None:
        app.state.stopping.set()
        front.should_exit = back.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    names = [f"{host}:{port}" for host, port in (one.getsockname()[:2] for one in ports)]
    say(f"epimeter serves http://{names[0]}  metrics http://{names[1]}/metrics  data {settings.folder}")
    sys.stdout.flush()
    await asyncio.gather(_run(front, ports[0]), _run(back, ports[1]))


async def _run(server: uvicorn.Server, port: socket.socket) -> None:
    # `serve` would take the signals for itself; ours stop both servers.
    await server._serve([port])


def _port(host: str, port: int) -> socket.socket:
    # Said to be TCP: only then does asyncio send small packets at once, and an answer does not wait 40 ms for an ACK.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as fault:
        raise SettingsError(f"{host}:{port} cannot be listened on: {fault.strerror}") from None
    made.listen(1024)
    made.setblocking(False)
    return made
