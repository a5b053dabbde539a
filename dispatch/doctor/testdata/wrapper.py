# An endpoint on FastAPI and httpx that behaves as the reference wrapper of "Porting without the SDK":
# the same steps in the same order, and nothing more. Its agent calls one tool. It prints its port.
import hmac
import json
import os
import socket
import sys

import fastapi
import httpx
import uvicorn

AUTHORIZATION = "Bearer " + os.environ["AGENT_TOKEN"]

app = fastapi.FastAPI()


class Tools:
    """The tools of one run."""

    def __init__(self, base, token):
        self.base, self.token = base.rstrip("/"), token

    def call(self, name, arguments):
        answer = httpx.post(
            self.base + "/tools/" + name,
            headers={"Authorization": "Bearer " + self.token},
            json=arguments,
            timeout=120,
        )
        if answer.is_error:  # the agent reads the refusal as a result, and no call is repeated
            return {"error": answer.text}
        return answer.json()["response"]


def agent(instruction, state, tools):
    order = tools.call("get_order", {"order_id": "4521"})
    if "status" in sys.argv and "error" not in order:
        return "The order: " + order["status"]
    return "The order: " + json.dumps(order)


@app.post("/dispatch")
async def receive(request: fastapi.Request):
    given = request.headers.get("authorization", "")
    if not hmac.compare_digest(given.encode(), AUTHORIZATION.encode()):
        raise fastapi.HTTPException(401, "the bearer token is missing or wrong")
    envelope = await request.json()  # of any size; a body that is not JSON is a 500
    if envelope == {"ping": True}:
        return {"ok": True}
    base = envelope.get("odyssey_proxy_url") or request.headers.get("x-pipelines-odyssey-proxy-url")
    token = request.headers.get("x-pipelines-run-token")
    if not (base and token):
        raise fastapi.HTTPException(400, "there is no proxy URL or no run token")
    task = envelope.get("input") or {}
    # The agent keeps the event loop busy, so the endpoint serves one run at a time.
    text = agent(task.get("user_instruction") or "", task.get("input") or {}, Tools(base, token))
    return {"final_response": text or "(no final response)"}


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
