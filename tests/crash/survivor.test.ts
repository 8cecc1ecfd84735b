import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readLines, writeLine } from '../../server/agents/scripted/detached/frames'
import type { Report } from '../../server/agents/scripted/detached/frames'
import type { Row } from '../../server/contract/rows'
import type { Changes } from '../../server/contract/wire'
import { productFolder, removeFolder, startProduct } from '../support/product'
import type { Product } from '../support/product'
import { call, eventually, newChat, say } from '../wire/api'
import { alive, readOr } from './alive'
import { Witness } from './witness'

/** Where a turn stands when the server is killed. A word of the person makes those go on that ask nothing. */
const STANDS = {
  'before its first token': { script: '[[hear]][[say:The end.]]', text: '(heard: go) The end.', kept: '' },
  'in text': { script: '[[say:Half an answer ]][[hear]][[say:and the rest.]]', text: 'Half an answer (heard: go) and the rest.', kept: 'Half an answer ' },
  'in a tool': { script: '[[say:First. ]][[tool:build {"call":"b","verb":"run","open":true}]][[hear]][[end:b {"result":"built"}]][[say:Built.]]', text: 'First. (heard: go) Built.', kept: 'First. ' },
  'in an approval': { script: '[[ask:make]][[say:Made.]]', text: 'Made.', kept: '' },
  'in a clarifying question': { script: '[[say:Well. ]][[clarify:Which? | red | blue]]', text: 'Well. (answer: blue) ', kept: 'Well. ' },
  'in a secret': { script: '[[sudo:To install]][[say:Over.]]', text: '(secret not given) Over.', kept: '' },
} as const
type Stand = keyof typeof STANDS
const stands = Object.keys(STANDS) as Stand[]

interface Told { session: string; run: string; witness: Witness }
/** A server with one chat at each stand, killed and started again; `agent`: whether the scripted agent's own process is killed with it. */
async function killed(agent: 'survives' | 'dies') {
  const folder = productFolder()
  const env = { TALARIA_SCRIPTED_AGENT: 'detached' }
  const started = (): Promise<Product> => startProduct({ folder, args: ['--demo'], env })
  const pid = (): number => Number((JSON.parse(readOr(join(folder, 'state/talaria/scripted/agent.json')) || '{}') as { pid?: number }).pid ?? 0)
  const first = await started()
  const chats = {} as Record<Stand, Told>
  for (const stand of stands) {
    const session = await newChat(first)
    const witness = new Witness(session)
    await witness.watch(first.url)
    chats[stand] = { session, run: await say(first, session, STANDS[stand].script), witness }
  }
  const changes = async (server: Product, session: string): Promise<Changes> => (await call(server, 'GET /api/session/changes', { session_id: session })).body
  for (const stand of stands) await eventually(`the turn stands ${stand}`, async () => standsThere(stand, await changes(first, chats[stand].session)))
  const before = Object.fromEntries(await Promise.all(stands.map(async (stand) => [stand, await changes(first, chats[stand].session)]))) as Record<Stand, Changes>
  const was = pid()
  await first.kill()
  if (agent === 'dies') {
    process.kill(was, 'SIGKILL')
    await eventually('the agent is dead', () => !alive(was))
  }
  const server = await started()
  return { folder, server, chats, before, was, pid, changes: (session: string) => changes(server, session) }
}

function standsThere(stand: Stand, { rows, turns }: Changes): boolean {
  if (!turns[0]?.runs[0]?.bound) return false
  const open = rows.find((row) => openQuestion(row))
  if (stand === 'before its first token') return true
  if (stand === 'in text') return rows.some((row) => row.text === 'Half an answer ')
  return stand === 'in a tool' ? rows.some((row) => row.kind === 'tool' && row.state === 'live') : open !== undefined
}

function openQuestion(row: Row): { id: string } | undefined {
  const asked = row.kind === 'question' ? (row.approval ?? row.clarify ?? row.secret) : row.kind === 'tool' ? row.approval : undefined
  return asked?.state === 'open' ? asked : undefined
}

/** Words into the turn, and what became of them. */
const wordsIn = ({ rows }: Changes) => rows.flatMap((row) => (row.kind === 'steer' ? [[row.text, row.state, row.steer.state]] : []))
const answerOf = ({ rows }: Changes): string => rows.filter((row) => row.kind === 'answer').map((row) => row.text).join('')

describe.each(['survives', 'dies'] as const)('a server that is killed while its agent %s', (agent) => {
  let rig: Awaited<ReturnType<typeof killed>>
  beforeAll(async () => {
    rig = await killed(agent)
  })
  afterAll(async () => {
    await rig?.server.kill()
    if (rig) removeFolder(rig.folder)
  })

  it.each(stands)('with a turn %s', async (stand) => {
    const { session, run, witness } = rig.chats[stand]
    const { text, kept } = STANDS[stand]
    const now = (): Promise<Changes> => rig.changes(session)
    // The run of the killed server is settled before anything else, with all that it had shown.
    const back = await eventually('the run is settled', async () => ((await now()).turns[0]!.runs[0]!.state === 'settled' ? await now() : null))
    expect(back.turns[0]!.runs[0]).toMatchObject({ id: run, outcome: 'interrupted', problem: { code: 'server_restarted' } })
    expect(answerOf(back).startsWith(kept)).toBe(true)
    expect(back.rows.filter((row) => row.kind === 'user')).toHaveLength(1)

    if (agent === 'survives') {
      const next = await eventually('the turn goes on', async () => (await now()).turns[0]!.runs[1])
      expect(next).toMatchObject({ cause: 'reattached', attempt: 2 })
      await goOn(stand, session, next.id)
      const whole = await eventually('it ends', async () => ((await now()).turns[0]!.runs[1]!.state === 'settled' ? await now() : null))
      expect(whole.turns).toHaveLength(1)
      expect(whole.turns[0]!.runs).toMatchObject([{ outcome: 'interrupted' }, { outcome: 'completed' }])
      expect(answerOf(whole)).toBe(text)
      expect(whole.rows.filter((row) => row.kind === 'tool').map((row) => row.state)).toEqual(stand === 'in a tool' || stand === 'in an approval' ? ['done'] : [])
    } else {
      await eventually('the chat is free', async () => (await call(rig.server, 'GET /health', {})).body.active_runs === 0)
      const over = await now()
      expect(over.turns[0]!.runs).toHaveLength(1)
      expect(over.rows.filter((row) => row.state === 'live' || openQuestion(row))).toEqual([])
      expect(answerOf(over)).toBe(kept)
      expect(over.rows.filter((row) => row.kind === 'tool').map((row) => row.state)).toEqual(stand === 'in a tool' || stand === 'in an approval' ? ['unknown'] : [])
    }

    const again = await say(rig.server, session, '[[say:The next turn works.]]')
    await eventually('the next turn ends', async () => (await now()).turns.at(-1)!.runs.some((each) => each.id === again && each.outcome === 'completed'))
    expect(answerOf(await now())).toMatch(/The next turn works\.$/)
    await witness.verify(rig.server.url)
    witness.close()
  })

  it('leaves no process behind when the next server ends', async () => {
    const pid = rig.pid()
    expect(agent === 'survives' ? pid === rig.was : pid !== rig.was && !alive(rig.was)).toBe(true)
    expect(alive(pid)).toBe(true)
    expect(await rig.server.end()).toBe(0)
    await eventually('the agent has ended', () => !alive(pid))
  })

  /** The question that was open is there again under a new id, and takes an answer; a secret is not asked again. */
  async function goOn(stand: Stand, session: string, run: string): Promise<void> {
    const asked = openQuestion(rig.before[stand].rows.find((row) => openQuestion(row)) ?? ({} as Row))
    const again = async (): Promise<string> =>
      eventually('it is asked again', async () => (await rig.changes(session)).rows.map(openQuestion).find((question) => question !== undefined)?.id)
    switch (stand) {
      case 'before its first token':
      case 'in text':
      case 'in a tool': {
        const { body } = await call(rig.server, 'POST /api/chat/steer', { session_id: session, text: 'go' })
        expect(body).toMatchObject({ accepted: true, stream_id: run })
        return
      }
      case 'in an approval': {
        const id = await again()
        expect(id).not.toBe(asked!.id)
        expect((await call(rig.server, 'POST /api/approval/respond', { session_id: session, approval_id: asked!.id, choice: 'deny' })).body).not.toMatchObject({ ok: true, choice: 'deny' })
        expect((await call(rig.server, 'POST /api/approval/respond', { session_id: session, approval_id: id, choice: 'once' })).status).toBe(200)
        return
      }
      case 'in a clarifying question': {
        const id = await again()
        expect(id).not.toBe(asked!.id)
        expect((await call(rig.server, 'POST /api/clarify/respond', { session_id: session, clarify_id: asked!.id, response: 'red' })).status).toBe(409)
        expect((await call(rig.server, 'POST /api/clarify/respond', { session_id: session, clarify_id: id, response: 'blue' })).status).toBe(200)
        return
      }
      case 'in a secret':
        expect((await call(rig.server, 'POST /api/secret/respond', { session_id: session, secret_id: asked!.id, value: 'hunter2' })).status).toBe(409)
    }
  }
})

describe('a turn that outlives the server', () => {
  const folder = productFolder()
  const started = (): Promise<Product> => startProduct({ folder, args: ['--demo'], env: { TALARIA_SCRIPTED_AGENT: 'detached' } })
  let server: Product
  const changes = async (session: string): Promise<Changes> => (await call(server, 'GET /api/session/changes', { session_id: session })).body
  const shows = (session: string, text: string) => eventually(`it says ${text}`, async () => answerOf(await changes(session)).includes(text))
  const steer = (session: string, text: string) => eventually('the word is taken', async () => (await call(server, 'POST /api/chat/steer', { session_id: session, text })).body.accepted)
  const restart = async (): Promise<void> => {
    await server.kill()
    server = await started()
  }
  /** The question that the run with that number asks. */
  const asks = (session: string, run: number) => eventually('it asks', async () => {
    const now = await changes(session)
    return now.turns[0]!.runs.length === run ? now.rows.map(openQuestion).find((question) => question !== undefined)?.id : undefined
  })
  /** Answers the agent's question in the place of a server, and waits until it has used its word, or has ended. */
  const withoutServer = async (session: string, { turns, rows }: Changes, ends: boolean): Promise<void> => {
    const { port, token } = JSON.parse(readOr(join(folder, 'state/talaria/scripted/agent.json'))) as { port: number; token: string }
    const socket = connect(port, '127.0.0.1')
    const reports: Report[] = []
    readLines(socket, (value) => reports.push(value as Report))
    const steers = rows.flatMap((row) => (row.kind === 'steer' ? [row.steer.id] : []))
    // What was shown is nothing: it holds its turn for the one that comes after this.
    void writeLine(socket, { do: 'reattach', token, session, foreign: turns[0]!.runs[0]!.bound!.foreign, shown: [], steers })
    const asked = await eventually('it asks', () => reports.flatMap((report) => ('event' in report && report.event.type === 'clarify.raised' ? [report.event.question] : []))[0])
    void writeLine(socket, { do: 'answer', id: 1, question: asked, text: 'yes' })
    await eventually('it has used its word', () => reports.some((report) => (ends ? 'end' in report : 'event' in report && report.event.type === 'steer.delivered')))
    socket.destroy()
  }
  const runsOf = async (session: string) => (await changes(session)).turns[0]!.runs.map(({ cause, outcome, state }) => [cause, state === 'settled' ? outcome : state])
  beforeAll(async () => {
    server = await started()
  })
  afterAll(async () => {
    await server.kill()
    removeFolder(folder)
  })

  it('outlives the next one, too, and is one text in the end', async () => {
    const session = await newChat(server)
    await say(server, session, '[[say:One ]][[hear]][[say:two ]][[hear]][[say:three.]]')
    await shows(session, 'One ')
    await restart()
    await steer(session, 'a')
    await shows(session, 'two ')
    await restart()
    await steer(session, 'b')
    await shows(session, 'three.')
    await eventually('it has ended', async () => (await runsOf(session)).at(-1)![1] === 'completed')
    expect(await runsOf(session)).toEqual([['sent', 'interrupted'], ['reattached', 'interrupted'], ['reattached', 'completed']])
    expect(answerOf(await changes(session))).toBe('One (heard: a) two (heard: b) three.')
    expect((await changes(session)).rows.filter((row) => row.kind === 'steer').map((row) => row.state)).toEqual(['done', 'done'])
  })

  it('has a word again that it had not used, and uses it once; nothing is left in the draft or the queue', async () => {
    const session = await newChat(server)
    await say(server, session, '[[steers:tool]][[say:One ]][[clarify:Go on? | yes]][[tool:look {"call":"l","result":"Seen"}]][[say:two.]]')
    await asks(session, 1)
    await steer(session, 'a word')
    await restart()
    const question = await asks(session, 2)
    // It is with the agent again, as the run before had given it back.
    expect(wordsIn(await changes(session))).toEqual([['a word', 'live', 'accepted']])
    await call(server, 'POST /api/clarify/respond', { session_id: session, clarify_id: question, response: 'yes' })
    await eventually('it has ended', async () => (await runsOf(session)).at(-1)![1] === 'completed')
    const whole = await changes(session)
    expect(wordsIn(whole)).toEqual([['a word', 'done', 'delivered']])
    expect(answerOf(whole).split('(heard: a word)')).toHaveLength(2)
    expect(whole.turns).toHaveLength(1)
    expect((await call(server, 'GET /api/chat/queue', { session_id: session })).body.items).toEqual([])
  })

  it.each(['goes on', 'ends'] as const)('has used a word while no server was there, and %s: it was delivered, and nothing is given back', async (then) => {
    const session = await newChat(server)
    await say(server, session, `[[steers:tool]][[say:One ]][[clarify:Go on? | yes]][[tool:look {"call":"l","result":"Seen"}]][[say:two.]]${then === 'goes on' ? '[[hear]]' : ''}`)
    await asks(session, 1)
    await steer(session, 'a word')
    const before = await changes(session)
    expect(wordsIn(before)).toEqual([['a word', 'live', 'accepted']])
    await server.kill()
    await withoutServer(session, before, then === 'ends')
    server = await started()
    await eventually('it was delivered', async () => wordsIn(await changes(session))[0]![2] === 'delivered')
    if (then === 'goes on') await steer(session, 'go')
    await eventually('it has ended', async () => (await runsOf(session)).at(-1)![1] === 'completed')
    const whole = await changes(session)
    expect(wordsIn(whole)[0]).toEqual(['a word', 'done', 'delivered'])
    expect(answerOf(whole).split('(heard: a word)')).toHaveLength(2)
    expect(whole.turns).toHaveLength(1)
    expect((await call(server, 'GET /api/chat/queue', { session_id: session })).body.items).toEqual([])
  })

  it('and ends meanwhile has its whole answer and its outcome', async () => {
    const session = await newChat(server)
    await say(server, session, '[[say:Half ]][[delay:300]][[tool:read {"call":"r","result":"Alpha"}]][[say:and the rest.]]')
    await shows(session, 'Half ')
    await restart()
    await eventually('it has ended', async () => (await runsOf(session)).at(-1)![1] === 'completed')
    expect(await runsOf(session)).toEqual([['sent', 'interrupted'], ['reattached', 'completed']])
    const { rows } = await changes(session)
    expect(rows.filter((row) => row.kind !== 'user').map((row) => [row.kind, row.state, row.text])).toEqual([['answer', 'done', 'Half '], ['tool', 'done', ''], ['answer', 'done', 'and the rest.']])
  })

  it('also outlives servers that are killed as soon as they are up, and the message that waits is sent after it', async () => {
    const session = await newChat(server)
    await say(server, session, '[[say:One ]][[hear]][[say:two.]]')
    await shows(session, 'One ')
    await call(server, 'POST /api/chat/queue', { session_id: session, message: '[[say:Three.]]' })
    for (let i = 0; i < 3; i++) await restart()
    await steer(session, 'go')
    await shows(session, 'Three.')
    expect(answerOf(await changes(session))).toBe('One (heard: go) two.Three.')
    expect((await changes(session)).turns.map(({ runs }) => runs.at(-1)!.cause)).toEqual(['reattached', 'sent'])
  })

  it('is stopped while its agent is asked about it, and that holds over the next kill', async () => {
    const session = await newChat(server)
    const run = await say(server, session, '[[say:One ]][[hear]][[say:two.]]')
    await shows(session, 'One ')
    const { pid } = JSON.parse(readOr(join(folder, 'state/talaria/scripted/agent.json'))) as { pid: number }
    await server.kill()
    // It says nothing until it may go on.
    process.kill(pid, 'SIGSTOP')
    try {
      server = await started()
      const stopped = call(server, 'GET /api/chat/cancel', { stream_id: run })
      expect((await call(server, 'POST /api/chat/start', { session_id: session, message: 'x' })).status).toBe(409)
      expect(await runsOf(session)).toEqual([['sent', 'interrupted']])
      process.kill(pid, 'SIGCONT')
      expect((await stopped).body.cancelled).toBe(true)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await restart()
    await eventually('it is cancelled', async () => (await runsOf(session)).at(-1)![1] === 'cancelled')
    await eventually('the chat is free', async () => (await call(server, 'POST /api/chat/start', { session_id: session, message: '[[say:Free.]]' })).status === 200, 25_000)
    await shows(session, 'Free.')
    expect(await runsOf(session)).toEqual([['sent', 'interrupted'], ['reattached', 'cancelled']])
    expect(answerOf(await changes(session))).toBe('One Free.')
  })

  it('but was being stopped is cancelled, never taken up, and ended', async () => {
    const session = await newChat(server)
    const run = await say(server, session, '[[say:I do not stop. ]][[deaf]]')
    await shows(session, 'I do not stop. ')
    expect((await call(server, 'GET /api/chat/cancel', { stream_id: run })).body.cancelled).toBe(true)
    await restart()
    await eventually('it is settled', async () => (await runsOf(session))[0]![1] === 'cancelled')
    const next = await eventually('the chat is free again', async () => {
      const { status, body } = await call(server, 'POST /api/chat/start', { session_id: session, message: '[[say:Free.]]' })
      return status === 200 && body.stream_id
    }, 25_000)
    await eventually('the next turn ends', async () => (await changes(session)).turns[1]!.runs.some((each) => each.id === next && each.outcome === 'completed'))
    expect(await runsOf(session)).toEqual([['sent', 'cancelled']])
    expect(await server.end()).toBe(0)
    const { pid } = JSON.parse(readOr(join(folder, 'state/talaria/scripted/agent.json'))) as { pid: number }
    await eventually('the agent has ended', () => !alive(pid))
  })
})
