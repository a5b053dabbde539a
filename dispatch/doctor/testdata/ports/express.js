// A port on Express. The fault "reject" does not handle a refused call, which ends the process; "includes" takes any
// bearer in which the token occurs.
const express = require('express')
const { agent, bearer, port, fault } = require('./shim.js')
const app = express()

app.use((request, response, next) => {
  const given = request.get('authorization') ?? ''
  const ok = fault === 'includes' ? given.includes(bearer.slice(7)) : given === bearer
  if (!ok) return response.status(401).json({ error: 'unauthorized' })
  next()
})
app.use(express.json({ limit: '4mb' }))
app.post('/dispatch', (request, response) => {
  const body = request.body
  if (body.ping === true) return response.json({ ok: true })
  const run = { url: body.odyssey_proxy_url ?? request.get('x-pipelines-odyssey-proxy-url'), token: request.get('x-pipelines-run-token') }
  if (!run.url || !run.token) return response.status(400).json({ error: 'no run' })
  agent(run, body.input.user_instruction, fault === 'reject' ? { throws: true } : {}).then(answer => response.json(answer))
})
app.all('/dispatch', (request, response) => response.status(405).json({ error: 'POST' }))
app.use((e, request, response, next) => response.status(e.status ?? 500).json({ error: e.message }))
app.listen(port, '127.0.0.1')
