# SPDX-License-Identifier: Apache-2.0
"""Everything that can be set, from the environment and one TOML file, and which settings are refused.

Later wins: built-in, file, environment (`EPIMETER_PORT=8080`), command line. Secrets are made on the first start and kept
in files that only their owner may read; a secret that is short, well known, or readable by others is refused.
"""

from __future__ import annotations

import difflib
import os
import secrets
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from epimeter.errors import EpimeterError
from epimeter.trust.key_file import read_private, write_whole

MIB = 1 << 20
OTHERS = ("EPIMETER_CONFIG", "EPIMETER_TRACE", "EPIMETER_KEY", "EPIMETER_SERVER")
"""Variables of the environment that are no settings: the file of settings, and what other commands read."""
WELL_KNOWN = ("change", "default", "secret", "password", "pepper", "example", "test", "epimeter", "1234")
Whole = Annotated[int, msgspec.Meta(ge=1)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class SettingsError(EpimeterError):
    """Settings with which the service must not run."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set. Sizes are bytes, times are seconds."""

    data: str = "epimeter-data"
    """Folder of database, keys, logs and secrets."""
    host: str = "127.0.0.1"
    port: Port = 8600
    admin_host: str = "127.0.0.1"
    admin_port: Port = 8601
    """Prometheus metrics; 0 takes any free port."""
    issuer: str | None = None
    """Address under which others reach this registry; stands in certificates. By default that of host and port."""
    postgres: str | None = None
    redis: str | None = None
    pepper: str | None = None
    """Secret under which API keys are stored; by default the content of the file `pepper` in the data folder."""
    passphrase: str | None = None
    """Opens the private keys; by default the content of the file `passphrase` in the data folder."""
    published: str | None = None
    """File that remembers what was published; by default beside the data folder, with its name and `.published.json`."""
    tiles: str | None = None
    """Folder or address that `log publish` writes to; asked at the start what was published."""
    workers: Annotated[int, msgspec.Meta(ge=0)] = 2
    """Jobs that are done at a time, of one organisation one less; 0 leaves them to other processes."""
    job_lease: Seconds = 30.0
    """How long a job is a silent worker's before another takes it up."""
    request_lease: Seconds = 120.0
    """How long a request that its process did not end keeps its idempotency key, or the right to issue."""
    max_json: Whole = 16 * MIB
    """Largest whole JSON document, unpacked."""
    max_body: Whole = 256 * MIB
    """Largest body as it is sent."""
    max_unpacked: Whole = 1024 * MIB
    """Largest body unpacked."""
    max_rows: Whole = 10_000_000
    rows_at_once: Whole = 100_000
    """Rows up to which an evaluation is answered in the request; more become a job."""
    in_flight: Whole = 32
    """Requests of one organisation that are answered at a time."""
    connections: Whole = 1000
    """Connections at a time."""
    connections_per_address: Whole = 250
    """Connections at a time of one address that is no trusted proxy."""
    request_time: Seconds = 20.0
    """Longest processor time that measuring may take within a request, by the clock six times that; what the metrics would take is
    reckoned beforehand."""
    job_time: Seconds = 600.0
    """The same for a job, a passport and a certificate."""
    child_memory: Whole = 4096 * MIB
    """Memory that reading and measuring one body may take."""
    headers_time: Seconds = 15.0
    """Longest time for the headers of a request."""
    body_pause: Seconds = 10.0
    """Longest pause within a body."""
    body_time: Seconds = 300.0
    """Longest time for a whole body."""
    rotate_keys_days: Annotated[int, msgspec.Meta(ge=0, le=60)] = 30
    """Days before the end of an issuer, status or log key at which it gets a successor; 0 leaves it to the operator. Issuer and
    status keys live 90 days, so by default they are rotated every 60; the old one holds for another week."""
    root_keys: str | None = None
    """Folder of the root key, which signs every rotation; by default `<data>.root`, beside the data folder: apart from the
    passphrase."""
    keep_rows_days: Whole = 30
    """How long the rows of an evaluation that may become a certificate are kept."""
    silence_pause: Annotated[float, msgspec.Meta(ge=0, le=21600)] = 60.0
    """How long nothing newer may come to a system whose last rows are old before silence is an alarm."""
    signal_period: Seconds = 60.0
    signal_organizations: Whole = 5
    signal_records: Whole = 1000
    """Fewest organisations and labelled records in the window of a signal that shows numbers; below, they are null."""
    open_delay: Annotated[float, msgspec.Meta(ge=0)] = 3600.0
    """How much later OPEN gets a signal (ERS 8.1)."""
    public_per_minute: Whole = 300
    """Requests a minute that one address may send without a key."""
    failures_per_minute: Whole = 30
    """Wrong keys a minute that one address may try."""
    webhook_networks: tuple[str, ...] = ()
    """Private networks that webhooks may reach, as 10.1.0.0/16; by default none."""
    webhook_ports: tuple[str, ...] = ("443", "80")
    """Ports that webhooks may go to, each a number or a range as 8000-8999."""
    webhook_http: bool = False
    """Whether webhooks may go over plain HTTP."""
    smtp: str | None = None
    """Server that takes mail: smtp+starttls://user:password@host:587, smtps://… or, without encryption, smtp://host:25."""
    mail_from: str = "epimeter@localhost"
    """Who mail is from."""
    otlp: str | None = None
    """Address that takes OpenTelemetry metrics as JSON, such as http://collector:4318/v1/metrics: gauges, each minute."""
    oidc: str | None = None
    """Address of an OpenID provider through which invited people sign in to the pages; with `oidc_client` and `oidc_secret`."""
    oidc_client: str | None = None
    oidc_secret: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    """Addresses of proxies whose X-Forwarded-For is believed; by default none."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def folder(self) -> Path:
        return Path(self.data)

    @property
    def root_folder(self) -> Path:
        """Where the root key lies; a registry from before it lay apart from the passphrase keeps it where it is."""
        if self.root_keys is not None:
            return Path(self.root_keys)
        within, folder = self.folder / "registry" / "root", self.folder.absolute()
        return within if within.exists() else folder.with_name(f"{folder.name}.root")

    @property
    def address(self) -> str:
        """The issuer of a registry that is made now."""
        return self.issuer or f"http://{self.host}:{self.port or 8600}"

    @property
    def database(self) -> str:
        return self.postgres or f"sqlite:///{self.folder.absolute() / 'epimeter.db'}"


def load(
    file: str | None = None, environment: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None
) -> Settings:
    """Settings from a TOML file, the environment and the command line, each above the one before."""
    environment = os.environ if environment is None else environment
    file = file or environment.get("EPIMETER_CONFIG")
    found: dict[str, Any] = {}
    if file is not None:
        try:
            found |= tomllib.loads(Path(file).read_text(encoding="utf-8"))
        except OSError as fault:
            raise SettingsError(f"the settings {file} cannot be read: {fault.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
            raise SettingsError(f"the settings {file} are not TOML: {fault}") from None
    known = {field.name: field for field in msgspec.structs.fields(Settings)}
    for name, text in environment.items():
        setting = name.removeprefix("EPIMETER_").lower()
        if not name.startswith("EPIMETER_") or name in OTHERS:
            continue
        if setting not in known:
            near = difflib.get_close_matches(setting, known, n=1)
            hint = f"; did you mean EPIMETER_{near[0].upper()}?" if near else "; unset it"
            raise SettingsError(f"the environment has {name}, which is no setting{hint}")
        found[setting] = text.split(",") if known[setting].type == tuple[str, ...] else text
    found |= {name: value for name, value in (options or {}).items() if value is not None}
    try:
        return msgspec.convert(found, Settings, strict=False)
    except msgspec.ValidationError as fault:
        raise SettingsError(f"the settings are refused: {fault}".replace(" - at `$.", "; see `")) from None


class Secrets(msgspec.Struct, frozen=True):
    """What must not be in a database."""

    pepper: bytes
    passphrase: str

    def __repr__(self) -> str:
        return "Secrets(…)"


def prepare(settings: Settings) -> Secrets:
    """The data folder made and the secrets read, or made on the first start; unsafe ones are refused."""
    folder = settings.folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        raise SettingsError(f"the data folder must be open to its owner only; run: chmod 700 {folder}")
    pepper = settings.pepper or _stored_secret(folder / "pepper")
    passphrase = settings.passphrase or _stored_secret(folder / "passphrase")
    for name, secret in (("pepper", pepper), ("passphrase", passphrase)):
        refuse_weak(name, secret)
    return Secrets(pepper.encode("utf-8"), passphrase)


def refuse_weak(name: str, secret: str) -> None:
    """Refuse a secret that a stranger could guess."""
    low = secret.lower()
    weak = len(secret) < 32 or len(set(secret)) < 10 or any(low.startswith(word) for word in WELL_KNOWN)
    if weak:
        raise SettingsError(
            f"{name} must be at least 32 random characters; this one is short or well known. "
            "Leave it out and one is made, or use: openssl rand -hex 32"
        )


def _stored_secret(path: Path) -> str:
    """A secret from its file; made when there is none."""
    if not path.exists():
        write_whole(path, secrets.token_hex(32).encode("ascii"))
    return read_private(path).decode("utf-8", "replace").strip()
