// An endpoint without a library, as "Porting without the SDK" describes it. It prints its port.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const transient = ["lock_contention", "context_store_unavailable", "trace_sequence_contended"];

async function proxyCall(proxyURL, runToken, name, args) {
  for (let attempt = 0; ; attempt++) {
    const reply = await fetch(`${proxyURL.replace(/\/+$/, "")}/tools/${name}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${runToken}`, "Content-Type": "application/json" },
      body: JSON.stringify(args),
    });
    const body = await reply.json();
    if (reply.ok) return body.response;
    const code = body.detail?.error_class;
    const again = reply.status === 429 || (reply.status === 503 && transient.includes(code));
    if (!again || attempt === 3) return { error: code };
    await sleep(150 * 2 ** attempt);
  }
}

async function handle(request, body) {
  if (request.method !== "POST") return [405, { error: "use POST" }];
  if (request.headers.authorization !== `Bearer ${process.env.AGENT_TOKEN}`) return [401, { error: "no" }];
  if (body === null) return [413, { error: "too large" }];
  let dispatch;
  try {
    dispatch = JSON.parse(body);
  } catch {
    return [400, { error: "not JSON" }];
  }
  if (dispatch.ping === true && Object.keys(dispatch).length === 1) return [200, { ok: true }];
  const proxyURL = dispatch.odyssey_proxy_url ?? request.headers["x-pipelines-odyssey-proxy-url"];
  const runToken = request.headers["x-pipelines-run-token"];
  if (!proxyURL || !runToken) return [400, { error: "missing proxy URL or run token" }];
  const result = await proxyCall(proxyURL, runToken, "get_order", { order_id: "4521" });
  const text = JSON.stringify(result);
  return [200, {
    final_response: `The order: ${text}`,
    messages: [
      { role: "user", content: dispatch.input.user_instruction },
      { role: "assistant", tool_calls: [{ id: "c1", name: "get_order", arguments: { order_id: "4521" } }] },
      { role: "tool", tool_call_id: "c1", content: text },
      { role: "assistant", content: `The order: ${text}` },
    ],
  }];
}

const server = createServer((request, response) => {
  let chunks = [], size = 0;
  request.on("data", (chunk) => (size += chunk.length) <= 1 << 20 && chunks.push(chunk));
  request.on("end", async () => {
    const [status, answer] = await handle(request, size > 1 << 20 ? null : Buffer.concat(chunks).toString());
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
