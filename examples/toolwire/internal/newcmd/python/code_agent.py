"""The support agent of a shop, in code mode. A model can take the place of the rules in run."""

import json
import random
import re
import time
import urllib.error
import urllib.request

TRANSIENT = ("lock_contention", "context_store_unavailable")  # after these a call may be repeated


def run(task_input, *, proxy_url, run_token):
    """Work on one task: the platform calls this function for each run, or for each turn of a session."""

    def call(tool, **arguments):
        return call_tool(proxy_url, run_token, tool, arguments)

    return {"final_response": answer(task_input, call)}


def answer(task_input, call):
    instruction = task_input["user_instruction"]
    said = [m["content"] for m in task_input.get("messages", []) if m["role"] == "user"] + [instruction]
    numbers = re.findall(r"#(\d+)", "\n".join(text for text in said if isinstance(text, str)))
    if not numbers:
        return "Which order is it? Please give me its number."
    number = numbers[-1]
    order = call("get_order", order_id=number)
    if "error" in order:
        return f"I could not look up order #{number}."
    if "refund" not in instruction.lower():
        return f"Order #{number} is {order['status']}."
    if order["status"] != "shipped":
        return f"Order #{number} is {order['status']}, so I did not refund it."
    refund = call("refund_order", order_id=number, amount=order["amount"])
    if "error" in refund:
        return f"I could not refund order #{number}."
    return f"I refunded ${order['amount']:.2f} for order #{number} ({refund['refund_id']})."


def call_tool(proxy_url, run_token, tool, arguments):
    """Call a tool through the proxy of the run, and return its result, or {"error": …} for a model to read."""
    request = urllib.request.Request(
        f"{proxy_url.rstrip('/')}/tools/{tool}",
        json.dumps(arguments).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {run_token}"},
    )
    for attempts_left in (3, 2, 1, 0):
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)["response"]
        except urllib.error.HTTPError as refused:
            if refused.code == 401:  # the run is over
                raise
            text = refused.read().decode(errors="replace")
            transient = refused.code == 429 or refused.code == 503 and any(name in text for name in TRANSIENT)
            if not transient or attempts_left == 0:
                return {"error": text}
            wait = refused.headers.get("Retry-After", "")
            time.sleep(float(wait) if wait.isdigit() else random.uniform(0.5, 2.5))
