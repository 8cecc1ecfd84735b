#!/usr/bin/env node
// A program in the place of Hermes: its version, its ready line, its two doors. What it does stands in the file beside the link that it was started by
// (`hermes.json`), and in the texts that it is sent; what was called lies in `calls` in its home. It ends by itself after two minutes, whatever a test forgot.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { WebSocketServer } from 'ws'

const beside = `${process.argv[1]}.json`
const does = existsSync(beside) ? JSON.parse(readFileSync(beside, 'utf8')) : {}
const args = process.argv.slice(2)
setTimeout(() => process.exit(9), 120_000).unref()

if (args[0] === '--version') {
  if (does.quiet) setTimeout(() => undefined, 60_000)
  else console.log(does.version ?? 'Hermes Agent v0.19.0 (2026.7.20)\nPython: 3.11.7')
} else if (does.bare) {
  console.log('Web UI dependencies not installed (need fastapi + uvicorn).')
  process.exit(1)
} else {
  const root = process.env.HERMES_HOME
  const profile = args[1]
  const home = does.home ?? (profile === 'default' ? root : join(root, 'profiles', profile))
  const token = process.env.HERMES_DASHBOARD_SESSION_TOKEN
  const note = (what) => appendFileSync(join(root, 'calls'), `${JSON.stringify(what)}\n`)
  note({ start: process.pid, args })
  if (does.background) spawn(process.execPath, ['-e', 'setTimeout(() => 0, 120_000)'], { stdio: 'ignore', detached: true })
  if (does.helper) spawn(process.execPath, ['-e', 'setTimeout(() => 0, 120_000)', 'tui_gateway.slash_worker'], { stdio: 'ignore', detached: true })

  const sessions = { kept: { id: 'kept', title: 'Kept', cwd: '/w', model: 'm', message_count: 2, input_tokens: 5, output_tokens: 6, cache_read_tokens: 0, estimated_cost_usd: 0, cost_status: 'unknown' } }
  const rows = { kept: [{ id: 1, role: 'user', content: 'hello', timestamp: 1 }, { strange: true }, { id: 2, role: 'assistant', content: 'hi', tool_calls: null }] }
  const http = createServer((request, response) => {
    const answer = (status, body, headers = {}) => response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body))
    if (request.url === '/api/status') {
      note({ status: request.headers['x-hermes-session-token'] ?? null })
      return does.deaf ? undefined : answer(200, { version: does.says ?? '0.19.0', ...(does.homeless ? {} : { hermes_home: home }) })
    }
    if (request.headers['x-hermes-session-token'] !== token) return answer(401, {})
    note({ http: `${request.method} ${request.url}` })
    let text = ''
    request.on('data', (piece) => (text += piece))
    request.on('end', () => {
      if (request.url === '/api/sessions/import') {
        const [session] = JSON.parse(text).sessions
        if (session.title === 'Taken') return answer(500, 'Internal Server Error')
        if (session.messages.length === 0) return answer(400, { detail: { ok: false, errors: [{ error: 'nothing in it' }] } })
        sessions[session.id] = session
        rows[session.id] = session.messages.map((message, index) => ({ id: index + 10, ...message }))
        return answer(200, { ok: true, imported: 1, skipped: 0 })
      }
      const [, id, what] = /^\/api\/sessions\/([^/]+)(\/messages)?$/.exec(request.url) ?? []
      const name = decodeURIComponent(id ?? '')
      if (name === 'elsewhere') return answer(302, '', { Location: 'http://127.0.0.1:1/' })
      if (name === 'broken') return answer(200, '{"id": "bro')
      if (name === 'never') return undefined
      // As Hermes does it: the beginning of one id is taken for the id.
      const found = Object.keys(sessions).find((known) => known === name) ?? Object.keys(sessions).find((known) => name !== '' && known.startsWith(name))
      if (!found) return answer(404, { detail: 'Session not found' })
      return what ? answer(200, { session_id: found, messages: rows[found] }) : answer(200, sessions[found])
    })
  })
  const sockets = new WebSocketServer({ noServer: true })
  http.on('upgrade', (request, socket, head) => {
    if (new URL(request.url, 'http://x').searchParams.get('token') !== token || request.headers.origin !== undefined) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    sockets.handleUpgrade(request, socket, head, (open) => serve(open))
  })

  let count = 0
  let hung = false
  let busy = does.busy ?? []
  const serve = (socket) => {
    const number = ++count
    note({ open: number })
    const event = (type, session_id, payload) => socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'event', params: { type, session_id, payload } }))
    socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'event', params: { type: 'gateway.ready', payload: {} } }))
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse(data.toString())
      note({ socket: number, method, params })
      if (hung) return
      const result = (value) => socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: value }))
      const live = params.session_id
      switch (method) {
        case 'config.get': return result({ value: 1 })
        case 'session.create': return result({ session_id: `live-${number}`, stored_session_id: 'stored', info: { profile_name: profile } })
        case 'session.active_list': return result({ sessions: busy.map((id) => ({ id, session_key: id, status: 'working' })) })
        case 'session.interrupt':
          if (!does.stubborn) busy = []
          return result({ status: 'interrupted' })
        case 'session.resume':
          event('message.delta', live, { text: 'before ' })
          result({ session_id: live, session_key: live, running: true, inflight: { assistant: 'so far' } })
          return event('message.delta', live, { text: 'after ' })
        case 'session.title': return result('no object')
        case 'session.close': return socket.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: 4001, message: 'session not found' } }))
        case 'session.steer': return undefined
        case 'prompt.submit': {
          const [what, much] = params.text.split(' ')
          if (what === 'hang') hung = true
          if (what === 'die') process.exit(5)
          if (what === 'drop') return socket.terminate()
          if (what === 'leak') process.stdout.write(`${JSON.stringify({ system_prompt: 'You are secret' })}\n`)
          if (what === 'garbage') {
            for (const text of ['', 'no json', '[]', '"text"', '{"id": 99999, "result": {}}', '{"method": "event"}', '{"method": "event", "params": {"type": 5}}', '{"jsonrpc": "2.0", "method": "event", "params": {"type": "message.delta", "session_id": "x", "payload": {"text": 7}}}']) socket.send(text)
            socket.send(Buffer.from([1, 2, 3]), { binary: true })
            event('of.tomorrow', live, { text: 'unknown' })
          }
          if (what === 'huge') return socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: { status: 'x'.repeat(17 * 1024 * 1024) } }))
          if (!hung) result({ status: 'streaming' })
          if (what === 'count') for (let i = 0; i < Number(much); i++) event('message.delta', live, { text: `${i} ` })
          return undefined
        }
        default: return socket.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown method' } }))
      }
    })
  }
  http.listen(0, '127.0.0.1', () => console.log(`HERMES_BACKEND_READY port=${http.address().port}`))
}
