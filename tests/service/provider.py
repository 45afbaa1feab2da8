"""A small OpenID provider, run as a process of its own: it signs in whoever the file beside it says.

    python provider.py FOLDER

FOLDER/who.json: the claims of the person who is at the provider's screen, and how the provider misbehaves. It prints its address.
"""

import base64
import hashlib
import json
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

folder = Path(sys.argv[1])
key, other = (RSAKey.generate_key(2048, {"kid": "a", "alg": "RS256", "use": "sig"}) for _ in range(2))
codes = {}


class Provider(BaseHTTPRequestHandler):
    def do_GET(self):
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/.well-known/openid-configuration":
            places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
            return self.answer({"issuer": issuer} | {name: f"{issuer}/{place}" for name, place in places.items()})
        if path == "/keys":
            return self.answer({"keys": [key.as_dict(private=False)]})
        assert path == "/authorize" and query["response_type"] == ["code"] and "openid" in query["scope"][0].split()
        code = secrets.token_urlsafe()
        codes[code] = query
        self.send_response(302)
        back = urlencode({"code": code, "state": query["state"][0]})
        self.send_header("Location", f"{query['redirect_uri'][0]}?{back}")
        self.end_headers()
        return None

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        asked = codes.pop(form["code"][0], None)
        basic = base64.b64decode(self.headers["authorization"].removeprefix("Basic ")).decode()
        verifier = hashlib.sha256(form["code_verifier"][0].encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if asked is None or basic != "registry:hush" or [challenge] != asked["code_challenge"]:
            return self.answer({"error": "invalid_grant"}, 400)
        if form["redirect_uri"] != asked["redirect_uri"]:
            return self.answer({"error": "invalid_grant"}, 400)
        who = json.loads((folder / "who.json").read_text())
        now = int(time.time())
        claims = {"iss": issuer, "aud": "registry", "iat": now, "exp": now + 300, "nonce": asked["nonce"][0]}
        signer = other if who.pop("forge", False) else key
        return self.answer(
            {"id_token": jwt.encode({"alg": "RS256", "kid": "a"}, claims | who, signer), "token_type": "Bearer"}
        )

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
issuer = f"http://127.0.0.1:{server.server_port}"
print(issuer, flush=True)
server.serve_forever()
