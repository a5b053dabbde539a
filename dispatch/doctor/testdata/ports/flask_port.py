# A port on Flask, in a style of its own: 403, the run token in the other header, numbered content parts. The fault
# "memory" keeps what users say by the task.
import hmac
import json
import os
import sys

import flask
from shim import Over, call
from werkzeug.serving import make_server

FAULT = sys.argv[2]
BEARER = ("Bearer " + os.environ["AGENT_TOKEN"]).encode()
app = flask.Flask("agent")
memory = {}


@app.errorhandler(405)
def no_method(_):
    return {"error": "POST"}, 405


@app.post("/dispatch")
def dispatch():
    if not hmac.compare_digest(flask.request.headers.get("Authorization", "").encode(), BEARER):
        return {"error": "forbidden"}, 403
    if (flask.request.content_length or 0) > 4 << 20:  # MAX_CONTENT_LENGTH of this version is for forms
        return {"error": "too large"}, 413
    body = flask.request.get_json(force=True, silent=True)
    if not isinstance(body, dict):
        return {"error": "not a JSON object"}, 400
    if body == {"ping": True}:
        return "", 204
    base = body.get("odyssey_proxy_url") or flask.request.headers.get("X-Pipelines-Odyssey-Proxy-Url")
    token = flask.request.headers.get("X-Pipelines-Run-Token")
    if not base or not token:
        return {"error": "no run"}, 400
    task = body["input"]
    earlier = [m["content"] for m in task.get("messages", [])]
    key = task["task_id"] if FAULT == "memory" else task.get("session_id")
    if key is not None:
        earlier = memory.get(key, []) + earlier
        memory.setdefault(key, []).append(task["user_instruction"])
    messages = [{"role": "user", "content": [{"type": "text", "text": task["user_instruction"]}]}]
    try:
        for n, name in enumerate(("get_order", "refund_order")):
            arguments = {"order_id": "4521"}
            messages.append({"role": "assistant", "tool_calls": [{"id": f"call-{n}", "name": name, "arguments": arguments}]})
            result = call(base, token, name, arguments, "X-Pipelines-Run-Token")
            messages.append({"role": "tool", "tool_call_id": f"call-{n}", "content": [{"type": "text", "text": json.dumps(result, indent=2)}]})
        final = "Both calls were made. You said before: " + " / ".join(str(text) for text in earlier)
    except Over as over:
        final = f"I had to stop: {over}"
    messages.append({"role": "assistant", "content": final})
    return {"messages": messages, "final_response": final, "metadata": {"model": "rules-1"}}


make_server("127.0.0.1", int(sys.argv[1]), app, threaded=True).serve_forever()
