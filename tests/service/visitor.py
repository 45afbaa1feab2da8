"""Somebody with a browser, over plain HTTP: opens pages, fills in forms, has a cookie."""

import re
from html import unescape

import httpx
from servers import NO_TLS

HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "sec-fetch-site": "same-origin"}


class Visitor(httpx.Client):
    """A browser without a screen."""

    def __init__(self, service):
        super().__init__(
            base_url=getattr(service, "url", None) or service.base_url,
            headers=HTML,
            timeout=60,
            verify=NO_TLS,
            event_hooks={"response": [self._keep]},
        )

    def __enter__(self):  # of a visitor who was somewhere already, too
        return self

    def __exit__(self, *_):
        self.close()

    def _keep(self, answer):
        # The cookie is Secure, the test speaks plain HTTP: a browser does so with this machine, httpx does not.
        if found := re.match("__Host-epimeter=([^;]*)", answer.headers.get("set-cookie", "")):
            self.cookie = found[1].strip('"')

    @property
    def cookie(self):
        return self.headers.get("cookie", "=").split("=", 1)[1]

    @cookie.setter
    def cookie(self, value):
        self.headers["cookie"] = f"__Host-epimeter={value}"

    def sign_in(self, key=None, name=None, password=None, place=""):
        fields = {"key": key} if key else {"name": name, "password": password}
        return self.post("/sign-in", data=fields | {"next": place})

    def token(self, path="/account"):
        """What the forms of this session carry."""
        found = re.search(r'name="token" value="([0-9a-f]{64})"', self.get(path).text)
        return found[1] if found else ""

    def submit(self, path, data=None, **fields):
        """Send a form with the token of the session."""
        return self.post(path, data=(data or {}) | fields | {"token": self.token()})


def secret(answer):
    """What a page shows this once."""
    assert answer.status_code == 200, answer.text
    return unescape(re.search(r'<code class="secret">([^<]+)</code>', answer.text)[1])


def member(service, admin, name, role, password="correct horse battery", place="/account/members"):
    """Have somebody invited, accept, and sign in; `admin` is a visitor who may invite."""
    address = secret(admin.submit(place, name=name, role=role))
    made = Visitor(service)
    path = "/invitation/" + address.rsplit("/", 1)[1]
    assert made.get(path).status_code == 200
    answer = made.post(path, data={"password": password, "again": password})
    assert answer.status_code == 303, answer.text
    return made
