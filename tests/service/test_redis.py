"""Limits a minute on a real Redis: shared by processes, kept when Redis goes away, taken up again when it is back."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from servers import NO_TLS, Redis, Service, redis_binary, running

from epimeter.service.rates import REDIS_PAUSE, window
from epimeter.service.settings import SettingsError
from epimeter.store import Store

HERE = [redis_binary()] if redis_binary() else []


@pytest.mark.parametrize("binary", HERE, ids=["redis"] * len(HERE))
def test_two_processes_share_one_window_and_go_on_without_redis(binary, tmp_path, postgres):
    redis = Redis()
    try:
        with running(tmp_path, postgres.database(), redis=redis.url) as first:
            second = Service(first.folder, first.environment, first.postgres)
            second.start()
            try:
                with first.tenant("Shared", "OPEN") as client, ThreadPoolExecutor(8) as pool:
                    key = {"x-api-key": client.key["key"]}
                    urls = [f"{one.url}/v1/usage" for one in (first, second)] * 15
                    answers = list(pool.map(lambda url: httpx.get(url, headers=key, timeout=30, verify=NO_TLS), urls))
                    codes = [answer.status_code for answer in answers]
                    assert codes.count(200) == 10 and codes.count(429) == 20
                    waits = [int(one.headers["retry-after"]) for one in answers if one.status_code == 429]
                    assert all(1 <= wait <= 60 for wait in waits)
                with first.tenant("Alone", "OPEN") as client:
                    redis.stop()
                    codes = [client.get("/v1/usage").status_code for _ in range(12)]
                    assert codes == [200] * 10 + [429] * 2  # by the memory of the process
                    redis.start()
                    time.sleep(REDIS_PAUSE + 0.5)
                    codes = [client.get("/v1/usage").status_code for _ in range(12)]
                    assert codes == [200] * 10 + [429] * 2  # by Redis again, which is new and knows nothing
            finally:
                second.stop()
    finally:
        redis.stop()


def test_a_redis_that_says_nothing_holds_nobody_up(tmp_path):
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        with running(tmp_path, redis=url) as made, made.tenant("Silent", "OPEN") as client:
            begun = time.monotonic()
            assert client.get("/v1/usage").status_code == 200
            assert time.monotonic() - begun < 4
            begun = time.monotonic()
            codes = [client.get("/v1/usage").status_code for _ in range(11)]
            assert codes == [200] * 9 + [429] * 2
            assert time.monotonic() - begun < 4


@pytest.mark.parametrize("url", ["nonsense", "memory://", "http://127.0.0.1:1", "redis:/x"])
def test_other_addresses_are_refused(url, tmp_path):
    store = Store(f"sqlite:///{tmp_path}/a.db")
    with pytest.raises(SettingsError, match="redis"):
        window(store, url)
    store.close()
