# An agent in code mode without a library, as "Porting without the SDK" describes it. FAULT names what is wrong with it, in
# the words of the table of ports.
import json
import os
import sys
import time
import urllib.error
import urllib.request

FAULT = os.environ.get("FAULT", "")
TRANSIENT = {"lock_contention", "context_store_unavailable", "trace_sequence_contended"}
ORIGINAL = {"status": "shipped"}


def post(name, arguments):
    base = os.environ["PIPELINES_ODYSSEY_PROXY_URL"].rstrip("/")
    scheme = "bearer" if FAULT == "the scheme in lower case" else "Bearer"
    request = urllib.request.Request(
        base + ("/" if FAULT == "forgets /tools" else "/tools/") + name,
        json.dumps({"arguments": arguments} if FAULT == "wraps the arguments" else arguments).encode(),
        {"Content-Type": "application/json", "Authorization": scheme + " " + os.environ["PIPELINES_RUN_TOKEN"]},
    )
    if FAULT == "sends a doubtful label":
        request.add_header("X-Pipelines-Actor-Id", "a b")
    if FAULT == "sends a malformed label":
        request.add_header("X-Pipelines-Actor-Id", "caf\u00e9")
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


def refused(body):
    try:
        return json.loads(body)["detail"]["error_class"]
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")


def tool(name, arguments):
    attempt = 1
    while True:
        status, body = post(name, arguments)
        if status != 200 and FAULT == "fails when a call is refused":
            raise RuntimeError("refused")
        again = status == 503 and (refused(body) in TRANSIENT or FAULT == "repeats every 503")
        again = again or status == 429 and FAULT != "does not repeat a 429" or status != 200 and FAULT == "repeats every error"
        if not again or attempt == 4:
            break
        time.sleep(0.15)
        attempt += 1
    if status != 200:
        return ORIGINAL if FAULT == "keeps the tool's body as a fallback" else {"error": refused(body)}
    envelope = json.loads(body)
    result = envelope["response"]
    if FAULT == "hands the envelope on":
        return envelope
    if FAULT == "keeps the tool's body":
        return ORIGINAL
    if FAULT == "falls back on the envelope" and result in (None, 0, False, "", []):
        return envelope
    if FAULT == "decodes twice" and isinstance(result, str):
        return json.loads(result)
    if FAULT == "cuts results" and isinstance(result, str):
        return result[:2000]
    return result


def run(task):
    instruction = task.get("user_instruction") or ""
    if FAULT == "reads the wrong member":
        instruction = json.loads(os.environ["_PIPELINES_TASK_INPUT_JSON"]).get("input", {}).get("user_instruction")
    if not instruction:
        raise ValueError("no proxy URL, run token or instruction")
    if FAULT == "fails in a session" and task.get("turn_id", "1") > "1":
        raise ValueError("an unknown member")
    result = tool("get_order", {"order_id": "4521"})
    row = {"role": "tool", "tool_call_id": "c1", "content": json.dumps(result)}
    if FAULT == "has objects in its messages":
        row["content"] = {"result": result}
    if FAULT == "has malformed messages":
        del row["tool_call_id"]
    final = "" if FAULT == "has no final response" else "The proxy answered."
    return {"final_response": final, "messages": [
        {"role": "user", "content": instruction},
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "get_order", "arguments": '{"order_id":"4521"}'}]},
        row,
        {"role": "assistant", "content": final},
    ]}


try:
    answer = run(json.loads(os.environ["_PIPELINES_TASK_INPUT_JSON"]))
except Exception as problem:
    sys.exit(f"{type(problem).__name__}: {problem}")
with open(os.environ["PIPELINES_RESULT_PATH"], "w") as out:
    json.dump(answer, out)
