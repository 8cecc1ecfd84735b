#!/usr/bin/env node
// A program in the place of Hermes that plays recordings of the real one: a message `play 02 1` plays the second turn of recording 02. Where the recorded client
// called something in mid-turn, the play waits until it is called here. What it sends is cut at odd bytes, late, and answers come before or after the events
// around them, by the seed in `replay.json` of its home. It ends by itself after five minutes, whatever a test forgot.
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { WebSocketServer } from 'ws'

const args = process.argv.slice(2)
if (args[0] === '--version') {
  console.log('Hermes Agent v0.19.0 (2026.7.20)')
  process.exit(0)
}
setTimeout(() => process.exit(9), 300_000).unref()

const home = process.env.HERMES_HOME
const { recordings, seed } = JSON.parse(readFileSync(join(home, 'replay.json'), 'utf8'))
const token = process.env.HERMES_DASHBOARD_SESSION_TOKEN

let state = seed >>> 0
/** A whole number below `most`, the same for the same seed. */
const random = (most) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * most)
}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Everything from a submit to the next one, of its session: what was said and what was called. */
function turnsIn(number) {
  const file = readdirSync(recordings).find((name) => name.startsWith(`${number}-`))
  const turns = []
  for (const line of readFileSync(join(recordings, file), 'utf8').split('\n')) {
    const [, mark, body] = /^([<>]) (?:[A-Z] )?(\{.*)$/.exec(line) ?? []
    if (mark === undefined) continue
    const { method, params, id, result, error } = JSON.parse(body)
    if (mark === '>' && method === 'prompt.submit') turns.push({ session: params.session_id, submit: id, steps: [] })
    const turn = turns.at(-1)
    if (!turn) continue
    if (mark === '>' && method !== 'prompt.submit') turn.steps.push({ wait: method, id })
    else if (mark === '<' && method === 'event' && params.session_id === turn.session) turn.steps.push({ event: params })
    else if (mark === '<' && id !== undefined && id !== turn.submit) {
      const asked = turn.steps.find((step) => step.id === id)
      if (asked) Object.assign(asked, error ? { error } : { result })
    }
  }
  return turns
}

/** Bytes reach the other side in pieces of any length, in order. */
function chop(socket) {
  const write = socket.write.bind(socket)
  let queue = Promise.resolve()
  socket.write = (data, encoding, done) => {
    const bytes = typeof data === 'string' ? Buffer.from(data, typeof encoding === 'string' ? encoding : 'utf8') : Buffer.from(data)
    const said = typeof encoding === 'function' ? encoding : done
    queue = queue.then(async () => {
      for (let at = 0; at < bytes.length; ) {
        const end = Math.min(bytes.length, at + 1 + random(bytes.length > 2_000 ? 1_500 : 60))
        write(bytes.subarray(at, end))
        at = end
        if (random(3) === 0) await sleep(random(3))
      }
      said?.()
    })
    return true
  }
}

const sessions = new Map()
let count = 0
const waiting = []
let owner = null

async function play(live, number, index) {
  const session = sessions.get(live)
  const turn = turnsIn(number)[index]
  for (const step of turn.steps) {
    if (step.event) {
      if (random(4) === 0) await sleep(random(12))
      const params = JSON.parse(JSON.stringify(step.event))
      params.session_id = live
      if (params.payload?.stored_session_id !== undefined) params.payload.stored_session_id = session.stored
      if (params.type === 'session.title') params.payload.session_id = session.stored
      if (params.payload?.cwd === 'WORK') params.payload.cwd = session.cwd
      owner.send(JSON.stringify({ jsonrpc: '2.0', method: 'event', params }))
    } else if (['approval.respond', 'clarify.respond', 'sudo.respond', 'session.interrupt', 'session.steer'].includes(step.wait) && step.result) {
      await new Promise((resolve) => waiting.push({ method: step.wait, live, result: step.result, resolve }))
    }
  }
  session.running = false
}

const http = createServer((request, response) => {
  const answer = (status, body) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  if (request.url === '/api/status') return answer(200, { version: '0.19.0', hermes_home: home })
  if (request.headers['x-hermes-session-token'] !== token) return answer(401, {})
  const [, id, what] = /^\/api\/sessions\/([^/]+)(\/messages)?$/.exec(request.url) ?? []
  const session = [...sessions.values()].find(({ stored }) => stored === id)
  if (!session) return answer(404, {})
  return what ? answer(200, { session_id: id, messages: [] }) : answer(200, { id, message_count: session.turns * 2, input_tokens: session.turns * 100, output_tokens: session.turns * 10 })
})
const sockets = new WebSocketServer({ noServer: true })
http.on('upgrade', (request, socket, head) => {
  if (new URL(request.url, 'http://x').searchParams.get('token') !== token) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  chop(socket)
  sockets.handleUpgrade(request, socket, head, (open) => serve(open))
})

function serve(socket) {
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'event', params: { type: 'gateway.ready', payload: {} } }))
  socket.on('message', async (data) => {
    const { id, method, params } = JSON.parse(data.toString())
    const result = (value) => socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: value }))
    if (method === 'session.create') {
      const live = `live${++count}`
      sessions.set(live, { stored: `stored${count}`, cwd: params.cwd, running: false, turns: 0 })
      owner = socket
      return result({ session_id: live, stored_session_id: `stored${count}`, info: { cwd: params.cwd, profile_name: 'default', model: 'fake-model', lazy: true } })
    }
    if (method === 'prompt.submit') {
      const session = sessions.get(params.session_id)
      const [, number, index] = /play (\d\d) (\d+)/.exec(params.text)
      Object.assign(session, { running: true, turns: session.turns + 1 })
      owner = socket
      const begun = play(params.session_id, number, Number(index))
      // The answer and the beginning are not ordered (spec/hermes-rpc.md §2).
      if (random(2) === 0) await Promise.race([sleep(random(30)), begun])
      return result({ status: 'streaming' })
    }
    if (method === 'session.active_list') return result({ sessions: [...sessions].map(([live, { stored, running }]) => ({ id: live, session_key: stored, status: running ? 'working' : 'idle' })) })
    if (method === 'session.close') return result({ closed: sessions.delete(params.session_id) })
    if (method === 'config.get') return result({ value: 1 })
    const at = waiting.findIndex((each) => each.method === method && (params.session_id === undefined || each.live === params.session_id))
    if (at < 0) return method === 'session.interrupt' ? result({ status: 'interrupted' }) : socket.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: 4009, message: 'nothing waits for this' } }))
    const [waits] = waiting.splice(at, 1)
    if (random(2) === 0) {
      waits.resolve()
      await sleep(random(20))
    } else setTimeout(() => waits.resolve(), random(20))
    result(waits.result)
  })
}
http.listen(0, '127.0.0.1', () => console.log(`HERMES_BACKEND_READY port=${http.address().port}`))
