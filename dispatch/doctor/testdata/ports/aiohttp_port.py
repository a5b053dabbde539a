# A port on aiohttp. The fault "late" makes a call that nothing waits for, and "join" resolves the path of a call against
# the proxy URL.
import asyncio
import hmac
import json
import os
import sys

import aiohttp
from aiohttp import web
from yarl import URL

FAULT = sys.argv[2]
BEARER = ("Bearer " + os.environ["AGENT_TOKEN"]).encode()
TRANSIENT = {"lock_contention", "context_store_unavailable", "trace_sequence_contended"}
background = set()


async def call(session, base, token, name, arguments):
    url = URL(base).join(URL("/tools/" + name)) if FAULT == "join" else URL(base.rstrip("/") + "/tools/" + name)
    for attempt in range(4):
        async with session.post(url, json=arguments, headers={"Authorization": "Bearer " + token}) as answer:
            text = await answer.text()
            if answer.status == 200:
                return json.loads(text)["response"], False
            kind = json.loads(text).get("detail", {}).get("error_class")
            if not (answer.status == 429 or answer.status == 503 and kind in TRANSIENT):
                return {"error": text}, answer.status == 401
        await asyncio.sleep(0.2 * 2**attempt)
    return {"error": text}, False


async def audit(base, token):
    async with aiohttp.ClientSession() as session:
        await asyncio.sleep(0.8)
        await call(session, base, token, "get_order", {"order_id": "4521"})


async def dispatch(request):
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), BEARER):
        return web.json_response({"error": "no"}, status=401)
    try:
        body = await request.json()
    except ValueError:
        return web.json_response({"error": "not JSON"}, status=400)
    if body == {"ping": True}:
        return web.json_response({"ok": True})
    base = body.get("odyssey_proxy_url") or request.headers.get("X-Pipelines-Odyssey-Proxy-Url")
    token = request.headers.get("X-Pipelines-Run-Token")
    rows = [{"role": "user", "content": body["input"]["user_instruction"]}]
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as session:
        for id, name in (("a", "get_order"), ("b", "refund_order")):
            rows.append({"role": "assistant", "tool_calls": [{"id": id, "name": name, "arguments": {"order_id": "4521"}}]})
            result, over = await call(session, base, token, name, {"order_id": "4521"})
            rows.append({"role": "tool", "tool_call_id": id, "content": json.dumps(result)})
            if over:
                break
    if FAULT == "late":
        task = asyncio.get_running_loop().create_task(audit(base, token))
        background.add(task)
        task.add_done_callback(background.discard)
    rows.append({"role": "assistant", "content": "Done."})
    return web.json_response({"final_response": "Done.", "messages": rows})


app = web.Application(client_max_size=4 << 20)
app.router.add_post("/dispatch", dispatch)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
