# A careful asynchronous wrapper: the agent is awaited, one client keeps its connections for all runs,
# and uvloop and httptools serve if they are installed. It prints its port.
import asyncio
import os
import resource
import secrets
import socket
from contextlib import suppress

import httpx
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

app = FastAPI()
EXPECTED = "Bearer " + os.environ["AGENT_TOKEN"]
client = httpx.AsyncClient(
    timeout=120.0, limits=httpx.Limits(max_connections=None, max_keepalive_connections=4096)
)
waiting = 0


async def run_my_agent(user_instruction, task_input, proxy_call):
    global waiting
    if user_instruction == "five calls":
        for _ in range(5):
            await proxy_call("get_order", {"order_id": "4521"})
    if user_instruction == "wait":
        waiting += 1
        await asyncio.Event().wait()
    return "The refund of $79.50 has been issued for order #4521."


@app.post("/dispatch")
async def dispatch(request: Request):
    if not secrets.compare_digest(request.headers.get("authorization", ""), EXPECTED):
        return JSONResponse(None, status_code=401)
    body = await request.json()
    if body == {"ping": True}:
        return JSONResponse({"ok": True})
    proxy_url = body.get("odyssey_proxy_url") or request.headers.get("x-pipelines-odyssey-proxy-url")
    run_token = request.headers.get("x-pipelines-run-token")
    if not proxy_url or not run_token:
        return JSONResponse({"error": "missing proxy URL or run token"}, status_code=400)

    async def proxy_call(name, args):
        r = await client.post(
            f"{proxy_url.rstrip('/')}/tools/{name}", json=args, headers={"Authorization": f"Bearer {run_token}"}
        )
        r.raise_for_status()
        return r.json()["response"]

    inner = body.get("input") or {}
    final = await run_my_agent(inner.get("user_instruction") or "", inner.get("input") or {}, proxy_call)
    return JSONResponse({"final_response": final or "(no final response)"})


@app.get("/waiting")
async def count():
    return JSONResponse(waiting)


with suppress(ValueError, OSError):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(4096)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", backlog=4096)).run(sockets=[listener])
