# The calls of the proxy for the ports on Flask and Django.
import json
import random
import time
import urllib.error
import urllib.request

TRANSIENT = ("lock_contention", "context_store_unavailable", "trace_sequence_contended")


class Over(Exception):
    """The run is over: its token has expired."""


def call(base, token, name, arguments, header="Authorization"):
    for wait in (0.2, 0.4, 0.8, None):
        value = token if header != "Authorization" else "Bearer " + token
        request = urllib.request.Request(
            base.rstrip("/") + "/tools/" + name, json.dumps(arguments).encode(), {"Content-Type": "application/json", header: value}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["response"]
        except urllib.error.HTTPError as refusal:
            status, text = refusal.code, refusal.read().decode()
        detail = {}
        try:
            detail = json.loads(text)["detail"]
        except (ValueError, KeyError, TypeError):
            pass
        if status == 401:
            raise Over(text)
        again = status == 429 or status == 503 and detail.get("error_class") in TRANSIENT
        if not again or wait is None:
            return {"problem": text}
        time.sleep(wait * random.uniform(1, 1.25))
