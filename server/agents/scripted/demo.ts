import type { Echo } from './echo'
import type { Folder } from './folder'
import type { Pace } from './pace'
import { isYes } from './asking'
import type { Player } from './play'
import { choicesOf } from './step'

/** What the demo's command prints. */
const ECHO_WORDS = 'Talaria: permission works'
/** How long it waits for words to print, ms; then it prints the first that it offered. */
const WORDS_WAIT = 120_000
const MOST_WORDS = 80
const PLAN = ['Look into the working folder', 'Ask what to print', 'Run one command, if you allow it']
const TEXT_FILE = /\.(md|txt|json|ya?ml|toml|ts|js|py|rs|go|c|h|html|css|csv|sh)$/i

/**
 * The turn of *Try it*: it plans, looks at the real working folder, asks what to print and whether it may run one harmless command, and says plainly that it is a
 * script without a model. Everything that it shows as done was done.
 */
export async function demo(player: Player, pace: Pace, turn: { text: string; cwd: string; folder: Folder; echo: Echo }): Promise<void> {
  const { cwd, folder } = turn
  await player.say('reasoning', 'No model is connected, so I will show what a turn looks like. First I look into the working folder, then I ask you two things.')
  const planned = (active: number): Promise<void> => player.plan(PLAN.map((text, i) => ({ text, state: i < active ? 'done' : i === active ? 'active' : 'pending' })))
  await planned(0)

  const listing = await player.open('list', { verb: 'list', target: '.', args: { path: '.' } })
  const names = await folder.list(cwd).catch((error: unknown) => error)
  await pace.wait(350)
  const listed = Array.isArray(names)
  await player.close(listing, listed ? { output: names.join('\n'), result: names.join('\n') } : { state: 'failed', result: String(names) })

  const files = listed ? (names as string[]).filter((name) => !name.endsWith('/')) : []
  const chosen = files.find((name) => /^readme/i.test(name)) ?? files.find((name) => TEXT_FILE.test(name))
  const read = chosen === undefined ? null : await readOne(player, pace, folder, cwd, chosen)

  await planned(1)
  await player.say('text', 'Now a question that only you can answer, and then something that needs your permission.')
  const answered = await player.asking.clarify({ question: 'Which words shall the command print?', choices: [ECHO_WORDS, 'Hello from the other side'], free: true }, { ms: WORDS_WAIT })
  await planned(2)
  const ran = await askAndRun(player, pace, cwd, turn.echo, printable(answered))
  await planned(3)
  await player.say('text', answer({ text: turn.text, cwd, names: listed ? (names as string[]) : null, read, ran }))
}

interface ReadFile { name: string; lines: number; units: number; first: string }

async function readOne(player: Player, pace: Pace, folder: Folder, cwd: string, name: string): Promise<ReadFile | null> {
  const call = await player.open('read', { verb: 'read', target: name, args: { path: name } })
  try {
    const text = await folder.read(cwd, name)
    await pace.wait(350)
    await player.close(call, { result: text })
    const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
    return { name, lines: lines.length, units: text.length, first: lines.find((line) => line.trim() !== '')?.trim().slice(0, 80) ?? '' }
  } catch (error) {
    if (pace.stopped) throw error
    await player.close(call, { state: 'failed', result: error instanceof Error ? error.message : String(error) })
    return null
  }
}

type Ran = { allowed: false } | { allowed: true; output: string; exit: number | null }

/** One line of what was answered, or the first offer. */
function printable(answer: string | null): string {
  return answer?.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim().slice(0, MOST_WORDS).trim() || ECHO_WORDS
}

async function askAndRun(player: Player, pace: Pace, cwd: string, echo: Echo, words: string): Promise<Ran> {
  const command = `echo '${words.replaceAll("'", "'\\''")}'`
  const call = await player.open('shell', { verb: 'run', target: command, args: { command } })
  const choice = await player.asking.permit(
    { action: 'Run a command that prints one line', command, tool: 'shell', reason: 'Every command asks first', risk: 'low', cwd, choices: choicesOf('once', 'session', 'always', 'deny') }, { call },
  )
  if (!isYes(choice)) {
    await player.close(call, { state: 'denied', result: 'The person refused.' })
    return { allowed: false }
  }
  let ran = { output: '', exit: null as number | null }
  await pace.until((done) => {
    let end = (): void => undefined
    void echo(words, cwd, (stop) => {
      end = stop
      return () => (end = () => undefined)
    }).then((result) => {
      ran = result
      end = () => undefined
      done()
    })
    return () => end()
  })
  await player.close(call, { state: ran.exit === 0 ? 'done' : 'failed', output: ran.output, result: ran.output, ...(ran.exit === null ? {} : { exit: ran.exit }) })
  return { allowed: true, ...ran }
}

function answer(seen: { text: string; cwd: string; names: string[] | null; read: ReadFile | null; ran: Ran }): string {
  const folders = seen.names?.filter((name) => name.endsWith('/')).length ?? 0
  const files = (seen.names?.length ?? 0) - folders
  const looked = seen.names === null ? 'could not be read' : `${files} ${files === 1 ? 'file' : 'files'}, ${folders} ${folders === 1 ? 'folder' : 'folders'}`
  const rows = [`| Looked into the working folder | ${looked} |`]
  if (seen.read) rows.push(`| Read \`${cell(seen.read.name)}\` | ${seen.read.lines} ${seen.read.lines === 1 ? 'line' : 'lines'} |`)
  rows.push(`| Asked to run a command | ${seen.ran.allowed ? (seen.ran.exit === 0 ? 'you allowed it, and it ran' : 'you allowed it, but it failed') : 'you refused, so it did not run'} |`)
  const output = seen.ran.allowed ? `\n\nThe command printed:\n\n\`\`\`text\n${seen.ran.output.trimEnd() || '(nothing)'}\n\`\`\`` : ''
  const quote = seen.read?.first ? `\n\n\`${cell(seen.read.name)}\` begins with:\n\n\`\`\`text\n${seen.read.first.replaceAll('```', '')}\n\`\`\`` : ''
  return `## What a turn looks like

I am the **scripted agent**: I play a fixed script, and *no model is connected*. I cannot understand what you wrote. The steps above are real, though:

| Step | Result |
| --- | --- |
${rows.join('\n')}${quote}${output}

With a model connected, the same things happen for your own questions:

- **Reasoning and steps** fold away above the answer once it is done.
- **Anything that writes or runs** asks you first, here or on your phone.
- **The turn belongs to the server.** Close this tab in the middle, open the chat elsewhere, and it is there.

Connect one under *Settings*, and start a new chat.
`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('`', '')
}
