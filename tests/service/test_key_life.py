"""The keys of a running service over months and years, as its clients and its operator see them."""

import hashlib
import json

from installation import until

from epimeter.trust.envelope import Envelope
from epimeter.trust.root import follow, pin


def test_keys_rotate_under_a_running_service_and_after_a_year_of_sleep(installation):
    service = installation.service
    client = service.tenant("Rotation", "CRITICAL")
    first = client.get("/trust-root.json").content
    schedule = client.get("/.well-known/epimeter.json").json()["key_schedule"]
    assert schedule["issuer"]["rotated_from"] < schedule["issuer"]["valid_until"]
    old = installation.certificate(client, "a", 1)
    for number, day in enumerate((61, 130, 200), 2):  # past two lives of a key, without a restart
        installation.day(day)
        until(lambda number=number: client.get(f"/trust-root-{number}.json").status_code == 200)
        # A busy machine may take its seconds to open the new keys; then all is well.
        until(lambda: client.get("/readyz").json()["status"] == "ok", 60)
        fresh = installation.certificate(client, f"m{day}", day)
        assert installation.verdict(client, fresh) == "VALID"
        assert installation.metric("issuer_key_days_left") > 80
    assert installation.verdict(client, old) != "STATUS_UNKNOWN"

    service.stop()
    installation.day(600)
    service.start()
    said = " ".join(service.said)
    assert "the issuer key" in said and "the status key" in said and "its successor" in said
    with service.client(client.key["key"]) as again:
        until(lambda: again.get("/readyz").json()["status"] == "ok", 60)
        assert installation.verdict(again, installation.certificate(again, "b", 5)) == "VALID"
        # A stranger who pinned the first root comes to the newest, version by version.
        pinned = pin(Envelope.from_json(first), hashlib.sha256(Envelope.from_json(first).payload).hexdigest())
        later = [Envelope.from_json(again.get(f"/trust-root-{number}.json").content) for number in range(2, 6)]
        newest = again.get("/trust-root.json").content
        assert follow(pinned, later).to_document() == json.loads(Envelope.from_json(newest).payload)
        assert again.get("/trust-root-6.json").status_code == 404
    client.close()


def test_a_service_without_its_root_key_warns_ahead_and_takes_up_what_the_operator_rotates(installation, tmp_path):
    service = installation.service
    drawer = tmp_path / "drawer"
    (tmp_path / "data.root").rename(drawer)
    secret = tmp_path / "data" / "passphrase"
    with service.tenant("Drawer", "CRITICAL") as client:
        installation.day(80)
        until(lambda: client.get("/readyz").json()["status"] == "warning", 60)
        until(lambda: "keys" in client.get("/readyz").json()["checks"], 60)
        ready = client.get("/readyz")
        assert "the issuer key" in ready.json()["checks"]["keys"] and "in 9 days" in ready.json()["checks"]["keys"]
        assert 9 < installation.metric("status_key_days_left") < 11
        installation.day(95)
        until(lambda: client.get("/readyz").json()["checks"].get("keys", "").startswith("fault: the issuer key"), 60)
        until(lambda: client.get("/readyz").status_code == 503, 60)
        # An ended ring is rotated under the root key, and the running service goes on with the new keys.
        words = ("keys", "rotate", installation.registry, "--root-keys", drawer, "--passphrase-file", secret)
        code, out, err = installation.command(*words)
        assert code == 0 and out.count("its successor") == 2, err
        until(lambda: client.get("/readyz").json()["status"] == "ok", 60)
        assert installation.verdict(client, installation.certificate(client, "m", 3)) == "VALID"
