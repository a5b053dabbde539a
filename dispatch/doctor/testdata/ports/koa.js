// A port on Koa, in a style of its own: context by AsyncLocalStorage, a body parser by hand, one message of a model with all
// calls. The fault "stubborn" repeats whatever is refused.
const { AsyncLocalStorage } = require('node:async_hooks')
const { createHash, timingSafeEqual } = require('node:crypto')
const Koa = require('koa')
const { call, Over, bearer, port, fault } = require('./shim.js')
const current = new AsyncLocalStorage(), app = new Koa(), sessions = new Map()
const digest = text => createHash('sha256').update(text).digest()
const tool = name => call(current.getStore(), name, { order_id: '4521' }, fault === 'stubborn' ? { stubborn: true } : {})

app.use(async (ctx, next) => {
  ctx.body = { error: 'no' }
  if (!timingSafeEqual(digest(ctx.get('authorization')), digest(bearer))) { ctx.status = 401; return }
  if (ctx.method !== 'POST') { ctx.status = 405; return }
  let text = ''
  if (+ctx.get('content-length') > 4 << 20) { ctx.status = 413; ctx.set('connection', 'close'); return }
  for await (const part of ctx.req.setEncoding('utf8')) text += part
  try { ctx.state.body = JSON.parse(text) } catch { ctx.status = 422; return }
  await next()
})
app.use(async ctx => {
  const { ping, input, odyssey_proxy_url: url } = ctx.state.body ?? {}
  if (ping === true) { ctx.body = { pong: new Date().toISOString() }; return }
  const run = { url: url ?? ctx.get('x-pipelines-odyssey-proxy-url'), token: ctx.get('x-pipelines-run-token') }
  if (!run.url || !run.token || !input) { ctx.status = 400; return }
  const known = [...(sessions.get(input.session_id) ?? []), ...(input.messages ?? []).map(m => m.content)]
  if (input.session_id) sessions.set(input.session_id, [...(sessions.get(input.session_id) ?? []), input.user_instruction])
  ctx.body = await current.run(run, async () => {
    const rows = []
    try {
      for (const name of ['get_order', 'refund_order']) rows.push([name, await tool(name)])
    } catch (e) {
      if (!(e instanceof Over)) throw e
      return { final_response: 'Stopped. ' + e.message }
    }
    const final = rows.map(([name, result]) => `${name}: ${JSON.stringify(result)}`).join('; ') + '\n' + known.join('\n')
    return {
      metadata: { model: 'rules', total_input_tokens: 1, total_output_tokens: 1 }, final_response: final,
      messages: [
        { role: 'user', content: [{ type: 'text', text: input.user_instruction }] },
        { role: 'assistant', content: null, tool_calls: rows.map(([name]) => ({ id: name, type: 'function', function: { name, arguments: '{"order_id":"4521"}' } })) },
        ...rows.map(([name, result]) => ({ role: 'tool', tool_call_id: name, content: typeof result === 'string' ? result : JSON.stringify(result ?? null) })),
        { role: 'assistant', content: final }
      ]
    }
  })
})
app.listen(port, '127.0.0.1')
