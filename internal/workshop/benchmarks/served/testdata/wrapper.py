# The reference wrapper of "Porting without the SDK", with the agent of these benchmarks. It prints
# its port.
import os
import secrets
import socket
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Header, HTTPException, Request

app = FastAPI()
AGENT_TOKEN = os.environ["AGENT_TOKEN"]


def run_my_agent(user_instruction, task_input, proxy_call):
    if user_instruction == "five calls":
        for _ in range(5):
            proxy_call("get_order", {"order_id": "4521"})
    return "The refund of $79.50 has been issued for order #4521."


def _proxy_call(proxy_url: str, run_token: str, name: str, args: dict) -> Any:
    r = httpx.post(
        f"{proxy_url.rstrip('/')}/tools/{name}",
        json=args,
        headers={"Authorization": f"Bearer {run_token}"},
        timeout=120.0,
    )
    try:
        r.raise_for_status()
    except httpx.HTTPStatusError:
        return {"error": r.text}
    return r.json()["response"]


def _require_inbound_auth(authorization: str | None) -> None:
    expected = f"Bearer {AGENT_TOKEN}"
    if not authorization or not secrets.compare_digest(authorization, expected):
        raise HTTPException(status_code=401, detail="missing or invalid bearer token")


@app.post("/dispatch")
async def dispatch(
    request: Request,
    authorization: str | None = Header(default=None),
    x_pipelines_run_token: str | None = Header(default=None),
    x_pipelines_odyssey_proxy_url: str | None = Header(default=None),
):
    _require_inbound_auth(authorization)
    body = await request.json()
    if body == {"ping": True}:
        return {"ok": True}
    proxy_url = body.get("odyssey_proxy_url") or x_pipelines_odyssey_proxy_url
    run_token = x_pipelines_run_token
    if not proxy_url or not run_token:
        raise HTTPException(400, "missing proxy URL or run token")
    inner = body.get("input") or {}
    user_instruction = inner.get("user_instruction") or ""
    task_input = inner.get("input") or {}
    final_response = run_my_agent(
        user_instruction=user_instruction,
        task_input=task_input,
        proxy_call=lambda name, args: _proxy_call(proxy_url, run_token, name, args),
    )
    return {"final_response": final_response or "(no final response)"}


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(4096)
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(app, log_level="error", loop="asyncio", http="h11")
uvicorn.Server(config).run(sockets=[listener])
