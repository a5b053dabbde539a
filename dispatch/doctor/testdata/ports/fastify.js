// A port on Fastify. The fault "timeout" gives a call up after 15 s.
const { agent, bearer, port, fault } = require('./shim.js')
const app = require('fastify')({ bodyLimit: 4 << 20 })

app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== bearer) return reply.code(401).send({ error: 'unauthorized' })
})
app.all('/dispatch', async (request, reply) => {
  if (request.method !== 'POST') return reply.code(405).send({ error: 'POST' })
  const body = request.body
  if (body?.ping === true) return { ok: true }
  const run = { url: body?.odyssey_proxy_url ?? request.headers['x-pipelines-odyssey-proxy-url'], token: request.headers['x-pipelines-run-token'] }
  if (!run.url || !run.token) return reply.code(400).send({ error: 'no run' })
  return agent(run, body.input.user_instruction, fault === 'timeout' ? { timeout: 15_000 } : {})
})
app.listen({ host: '127.0.0.1', port })
