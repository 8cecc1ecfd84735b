import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { build } from 'vite'
import { expect, test } from 'vitest'
import { Story } from '../../../support/story'

const CONTRACT = fileURLToPath(new URL('../../../../server/contract', import.meta.url))

/** The whole contract as one script that leaves its exports in `contract`. */
async function bundled(): Promise<string> {
  const files = readdirSync(CONTRACT, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const entry = '\0contract'
  const result = await build({
    configFile: false, logLevel: 'silent', root: CONTRACT,
    plugins: [{
      name: 'contract-entry',
      resolveId: (id) => (id === 'virtual:contract' ? entry : null),
      load: (id) => (id === entry ? files.map((file, i) => `export * as m${i} from ${JSON.stringify(`${CONTRACT}/${file}`)}`).join('\n') : null),
    }],
    build: {
      write: false, minify: false, target: 'es2022', modulePreload: false,
      rolldownOptions: { input: 'virtual:contract', preserveEntrySignatures: 'strict', output: { format: 'iife', name: 'contract' } },
    },
  })
  const [output] = Array.isArray(result) ? result : [result]
  if (!output || !('output' in output)) throw new Error('nothing was built')
  return output.output.map((chunk) => ('code' in chunk ? chunk.code : '')).join('\n')
}

test('the contract loads and folds where there is nothing but the language', async () => {
  const story = new Story().ask('t1', 'Hi').think('r1', 'hm').close('r1').answer('r2', 'Hel').grow('r2', 'lo.').close('r2').settle({ finalRow: 'r2' })
  const context = createContext({ events: JSON.stringify(story.events) })
  runInContext(await bundled(), context)
  const answer = runInContext(
    `
    const all = Object.assign({}, ...Object.values(contract))
    const value = all.fold(all.emptyTranscript(), JSON.parse(events))
    JSON.stringify({ rows: value.order.map((id) => value.rows.get(id)), entry: all.entryOf(value), messages: all.toMessages(value) })
    `,
    context,
  ) as string
  const { rows, entry, messages } = JSON.parse(answer) as { rows: unknown; entry: { line: unknown }; messages: { content: string }[] }
  expect(rows).toEqual(story.value.order.map((id) => story.value.rows.get(id)))
  expect(entry.line).toEqual({ kind: 'answer', text: 'Hello.' })
  expect(messages.map(({ content }) => content)).toEqual(['Hi', 'Hello.'])
})
