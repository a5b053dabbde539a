// The calls of the proxy for the ports on Node.
const transient = new Set(['lock_contention', 'context_store_unavailable', 'trace_sequence_contended'])
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

class Over extends Error {}

// call returns the result of a tool, or its refusal. change is for faults.
async function call (run, name, args, change = {}) {
  for (let left = 3, wait = 200; ; left--, wait *= 2) {
    const answer = await fetch(`${run.url.replace(/\/+$/, '')}/tools/${name}`, {
      method: 'POST', body: JSON.stringify(args), headers: { 'content-type': 'application/json', authorization: `Bearer ${run.token}` },
      signal: AbortSignal.timeout(change.timeout ?? 120_000)
    })
    const value = await answer.json()
    if (answer.ok) return value.response
    if (change.throws) throw new Error(`HTTP ${answer.status}`)
    const again = answer.status === 429 || (answer.status === 503 && transient.has(value.detail?.error_class)) || change.stubborn
    if (!again || left === 0) {
      if (answer.status === 401 && !change.stubborn) throw new Over('the token has expired')
      return { error: value }
    }
    await sleep(wait)
  }
}

// agent makes two calls and answers with a transcript.
async function agent (run, instruction, change) {
  const messages = [{ role: 'user', content: instruction }]
  let final = 'The order has been refunded.'
  try {
    for (const name of ['get_order', 'refund_order']) {
      messages.push({ role: 'assistant', tool_calls: [{ id: name, name, arguments: { order_id: '4521' } }] })
      const result = await call(run, name, { order_id: '4521' }, change)
      messages.push({ role: 'tool', tool_call_id: name, content: JSON.stringify(result) })
    }
  } catch (e) {
    if (!(e instanceof Over)) throw e
    messages.pop()
    final = 'I stopped: ' + e.message
  }
  messages.push({ role: 'assistant', content: final })
  return { final_response: final, messages }
}

module.exports = { agent, call, Over, bearer: 'Bearer ' + process.env.AGENT_TOKEN, port: +process.argv[2], fault: process.argv[3] }
