import { afterEach, expect, test } from 'vitest'
import { RUN_PROBLEMS, type RunProblemCode } from '../../../../server/contract/problems'
import { ProblemError } from '../../../../src/backend/port'
import { frames, stage, type Stage } from './stage'
import type { Story } from '../../../support/story'

let on: Stage | null = null
afterEach(() => {
  on?.leave()
  on = null
})

const text = (selector: string) => [...on!.root.querySelectorAll(selector)].map((node) => node.textContent!.replace(/\s+/g, ' ').trim())
const press = async (selector: string) => {
  on!.root.querySelector<HTMLElement>(selector)!.click()
  await frames(1)
}

/** Parts that few transcripts hold are loaded when they are shown. */
const shown = async (selector: string) => {
  for (const end = Date.now() + 10_000; !on!.root.querySelector(selector); ) {
    if (Date.now() > end) throw new Error(`${selector} did not come: ${on!.root.textContent}`)
    await frames(1)
  }
}

test('a turn is a section named by its question, with steps, answer and facts', async () => {
  on = await stage((story) => {
    story.ask('t1', 'How is the garden?').think('a', 'Let me look.').close('a').tool('b', { target: 'README.md' }).close('b').answer('c', 'It is **dry**.').close('c').settle({ usage: { input: 31_000, output: 1_200 } })
  })
  expect(on.root.querySelector('section')!.getAttribute('aria-label')).toBe('How is the garden?')
  expect(on.root.querySelector('h2')!.textContent).toBe('How is the garden?')
  expect(on.root.querySelector('.tx-md strong')!.textContent).toBe('dry')
  expect(text('.tx-head')[0]).toContain('Worked for 4')
  expect(text('.tx-count')).toEqual(['2 steps'])
  expect(text('.tx-facts')[0]).toContain('m-1')
  expect(text('.tx-facts')[0]).toContain('31k in, 1.2k out')
})

test('steps stand open while the turn runs, fold when it ends, and a folded turn holds no step nodes', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('b', { verb: 'run', name: 'shell', target: 'make' })
  })
  expect(on.root.querySelector('.tx-head')!.getAttribute('aria-expanded')).toBe('true')
  expect(text('.tx-label')).toEqual(['Running make'])
  on.story.close('b').answer('c', 'Done.').close('c').settle()
  await on.show()
  expect(on.root.querySelector('.tx-head')!.getAttribute('aria-expanded')).toBe('false')
  expect(on.root.querySelectorAll('.tx-step').length).toBe(0)
  await press('.tx-head')
  expect(text('.tx-label')).toEqual(['Ran make'])
})

test('what was opened by hand while the turn ran stays open when it ends', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('b')
  })
  await press('.tx-head')
  await press('.tx-head')
  on.story.close('b').settle()
  await on.show()
  expect(on.root.querySelector('.tx-head')!.getAttribute('aria-expanded')).toBe('true')
})

test('what was opened in a chat is open again when one comes back to it', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('b').close('b').settle()
  })
  await press('.tx-head')
  await on.again()
  expect(on.root.querySelector('.tx-head')!.getAttribute('aria-expanded')).toBe('true')
})

test('prose between steps is never folded away, and it keeps its node when steps follow it', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a').close('a').answer('b', 'First I looked.')
  })
  const prose = on.root.querySelector('.tx-md')
  on.story.close('b').tool('c').close('c').answer('d', 'Then I knew.').close('d').settle()
  await on.show()
  expect(text('.tx-md')).toEqual(['First I looked.', 'Then I knew.'])
  expect(on.root.querySelector('.tx-md')).toBe(prose)
  expect(on.root.querySelectorAll('.tx-head').length).toBe(1)
})

test('growth reaches the text without a new element for the row', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'One')
  })
  const prose = on.root.querySelector('.tx-md')!
  for (let i = 0; i < 50; i++) on.story.grow('a', ` w${i}`)
  await on.show()
  expect(prose.isConnected).toBe(true)
  expect(prose.textContent).toBe(`One ${Array.from({ length: 50 }, (_, i) => `w${i}`).join(' ')}`)
})

test('growth and closing in one frame, a cut, and a value read anew all end with the text of the row', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'One')
  })
  on.story.grow('a', ' two').close('a')
  await on.show()
  expect(text('.tx-md')).toEqual(['One two'])
  on.story.answer('b', 'Three four')
  await on.show()
  on.story.say({ type: 'row.cut', row: 'b', run: 't1.run', keep: 5, why: 'agent_corrected' })
  await on.show()
  expect(text('.tx-md')).toEqual(['One two', 'Three'])
  on.send()
  await on.replaced()
  expect(text('.tx-md')).toEqual(['One two', 'Three'])
})

test('three or more reads in a row become one line, which opens; a failed one stands for itself, open', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go')
    for (const n of [1, 2, 3]) story.tool(`r${n}`, { target: `roles/backup/f${n}.yml` }).close(`r${n}`)
    story.tool('x', { verb: 'run', name: 'shell', target: 'make' }).close('x', { state: 'failed', tool: { exit: 2, output: `${'line\n'.repeat(20)}the end\n` } })
  })
  expect(text('.tx-label')).toEqual(['3 files read in roles/backup', 'Ran make — failed, exit 2'])
  await shown('.tx-term')
  expect(text('.tx-term')[0]).toContain('the end')
  expect(on.root.querySelector('.tx-term')!.textContent!.split('\n').length).toBeLessThanOrEqual(13)
  await press('.tx-step button')
  expect(text('.tx-label').length).toBe(5)
})

test('steps of a sub-agent stand under their step, folded, with their number and state, and count in the trace', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a', { verb: 'other', name: 'delegate', target: 'check the lock' })
    story.say({ type: 'row.opened', kind: 'tool', row: 'b', n: 90, pos: '290', turn: 't1', run: 't1.run', parent: 'a', tool: { call: 'b', name: 'shell', verb: 'run', target: 'ls' } }).close('b').close('a')
  })
  await shown('.tx-sent')
  expect(text('.tx-label')).toEqual(['Used delegate check the lock', '1 step of a sub-agent done'])
  expect(on.root.querySelectorAll('.tx-head .trace > i').length).toBe(2)
  expect(on.root.querySelector('.tx-sent button')!.getAttribute('aria-expanded')).toBe('false')
  await press('.tx-sent button')
  expect(text('.tx-label')).toEqual(['Used delegate check the lock', '1 step of a sub-agent done', 'Ran ls'])
})

test('sub-agents are counted and say how they stand; what one does after the answer began stays with them', async () => {
  const sent = (story: Story, row: string, n: number, parent: string, tool: { name: string; verb: 'run' | 'other'; target: string }) =>
    story.say({ type: 'row.opened', kind: 'tool', row, n, pos: `2${n}`, turn: 't1', run: 't1.run', parent, tool: { call: row, ...tool } })
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a', { verb: 'other', name: 'delegate', target: 'two tasks' })
    sent(story, 'one', 90, 'a', { name: 'subagent', verb: 'other', target: 'Read the tests' })
    sent(story, 'two', 91, 'a', { name: 'subagent', verb: 'other', target: 'Ask the network' }).close('two', { state: 'failed' })
    story.close('a')
  })
  await shown('.tx-sent')
  expect(text('.tx-sent > button .tx-label')).toEqual(['2 sub-agents 1 working, 1 failed'])
  on.story.say({ type: 'row.opened', kind: 'answer', row: 'words', n: 92, pos: '292', turn: 't1', run: 't1.run', text: 'Two are out.' })
  sent(on.story, 'late', 93, 'one', { name: 'shell', verb: 'run', target: 'ls' })
  await on.show()
  expect(text('.tx-label').filter((label) => label.includes('ls'))).toEqual([])
  await press('.tx-sent > button')
  expect(text('.tx-label')).toEqual(['Used delegate two tasks', '2 sub-agents 1 working, 1 failed', 'Sub-agent Read the tests', '1 step of a sub-agent 1 working', 'Sub-agent Ask the network — failed'])
})

test('more than thirty steps keep the earlier ones behind a line', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go')
    for (let n = 0; n < 34; n++) story.tool(`r${n}`, { verb: 'run', name: 'shell', target: `make ${n}` }).close(`r${n}`)
  })
  expect(on.root.querySelectorAll('.tx-step').length).toBe(31)
  expect(text('.tx-earlier')).toEqual(['Show 4 earlier steps'])
  await press('.tx-earlier')
  expect(on.root.querySelectorAll('.tx-step').length).toBe(34)
})

test('a step that waits for a permission says what it would do, and afterwards how it was decided', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a', { verb: 'run', name: 'shell', target: 'rm x' }).raise('a', 'apr_1')
  })
  expect(text('.tx-label')).toEqual(['Run rm x waits for you'])
  expect(text('.tx-time')[0]).toMatch(/^Waits for you after/)
  on.story.decide('a', 'apr_1', 'deny').close('a', { state: 'denied' })
  await on.show()
  expect(text('.tx-label')).toEqual(['Run rm x — refused'])
  await press('.tx-step button')
  await shown('.tx-decision')
  expect(text('.tx-decision')).toEqual(['Refused by you'])
})

test('a change shows its lines with signs that are also spoken, and marks the part that differs', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a', { verb: 'change', name: 'patch', target: 'a.ini', diff: '--- a\n+++ b\n@@ -1,2 +1,2 @@\n [Service]\n-Stop=90\n+Stop=20min\n' }).close('a')
  })
  await shown('.tx-line')
  expect(text('.tx-line')).toEqual(['@@ -1,2 +1,2 @@', '[Service]', 'removed: Stop=90', 'added: Stop=20min'])
  expect(text('.tx-line em')).toEqual(['90', '20min'])
  expect(text('.tx-dur')[0]).toContain('+1')
})

test('while it thinks the last lines of the thought are shown, and the whole behind its step', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').think('a', 'one\n')
  })
  on.story.grow('a', 'two\nthree\nfour')
  await on.show()
  expect(text('.tx-label')).toEqual(['Thinking'])
  expect(on.root.querySelector('.tx-tail')!.textContent).toBe('three\nfour')
  await press('.tx-step button')
  expect(text('.tx-think')[0]).toContain('one')
  on.story.close('a')
  await on.show()
  expect(text('.tx-label')).toEqual(['Thought'])
})

test('a failed turn shows the provider’s own words and what can be done, and says so once', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go')
  })
  on.story.settle({ outcome: 'failed', problem: { code: 'model_not_found', words: '404: no such model "x"' } })
  await on.show()
  await shown('.tx-err')
  expect(text('.tx-err h3')).toEqual(['The model does not exist'])
  expect(text('.tx-own')).toEqual(['404: no such model "x"'])
  const buttons = [...on.root.querySelectorAll<HTMLElement>('.tx-err button')]
  expect(buttons.map((button) => button.textContent || button.getAttribute('aria-label'))).toEqual(['Choose another model', 'Try again', 'Copy the error'])
  buttons[1]!.click()
  await frames(1)
  expect(on.retried).toEqual(['t1'])
  expect(on.said.filter((words) => words.includes('does not exist'))).toHaveLength(1)
})

test('trying again takes the failure away and shows the new attempt', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'Half').close('a').settle({ outcome: 'failed', problem: { code: 'error' } })
  })
  on.story.say({ type: 'rows.retracted', rows: ['a'], turns: [], why: 'retry', counted: 1 }).run('run_2', 'retried').answer('b', 'Whole')
  await on.show()
  expect(on.root.querySelector('.tx-err')).toBeNull()
  expect(text('.tx-md')).toEqual(['Whole'])
  expect(text('h2')).toEqual(['Go'])
})

test('a refusal of the retry is shown where it was asked for', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').settle({ outcome: 'failed', problem: { code: 'error' } })
  }, { retry: () => Promise.reject(new ProblemError(409, { code: 'session_busy', error: 'the chat is busy' })) })
  await shown('.tx-err button')
  await press('.tx-err button')
  await shown('[role=alert]')
  expect(text('[role=alert]')).toEqual(['Not started: the chat is busy'])
})

test('stopped and broken off are one line each, drawn from the last run', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'Half an').close('a').stop().settle({ outcome: 'cancelled', timings: { total: 31_000 } })
    story.ask('t2', 'Again').answer('b', 'Some').close('b', { state: 'cancelled' }).settle({ outcome: 'interrupted', problem: { code: 'server_restarted' } })
  })
  await shown('.tx-turn:last-child .tx-mk')
  expect(text('.tx-mk p')[0]).toBe('Stopped by you after 0:31. What was written is kept.')
  expect(text('.tx-mk p')[1]).toMatch(/^The answer broke off: the server was restarted/)
  expect(text('.tx-md')).toEqual(['Half an', 'Some'])
})

test('offline an unfinished answer says that the agent goes on, and nothing pretends to run', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a').close('a').answer('b', 'So far')
  })
  on.setOnline(false)
  await frames()
  expect(text('.tx-mk')[0]).toContain('The agent goes on')
  expect(on.root.querySelector('.run')).toBeNull()
  expect(text('.tx-time')).toEqual(['Last seen working'])
  on.setOnline(true)
  await frames()
  expect(on.root.querySelector('.tx-mk')).toBeNull()
})

test('start and end are announced once, and not for what was over before', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'Done').close('a').settle()
  })
  expect(on.said).toEqual([])
  on.story.ask('t2', 'More').answer('b', 'x')
  await on.show()
  on.story.grow('b', 'y').close('b').settle()
  await on.show()
  expect(on.said).toEqual(['The agent is working', 'Answer complete'])
})

test('the answer and a code block are copied as they were written', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', '**Bold** and\n\n```sh\nls -l\n```\n').close('a').settle()
  })
  await press('.tx-copy')
  await press('.tx-foot button')
  expect(on.copied).toEqual(['ls -l', '**Bold** and\n\n```sh\nls -l\n```\n'])
})

test('a notice is told in our words where its code is known, and in its own where it is not', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').notice('n1', 'answer_cut_length').notice('n2', 'something_new', 'The flux is low.')
  })
  await shown('.tx-own')
  expect(text('.tx-mk p')).toEqual(['The answer was cut: it reached the length that the model or its server allows.', 'Note from the agent', 'The flux is low.'])
})

test('a long question folds and can be shown whole', async () => {
  on = await stage((story) => {
    story.ask('t1', Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n'))
  })
  expect(on.root.querySelector('h2')!.classList.contains('tx-clamped')).toBe(true)
  await press('.tx-more')
  expect(on.root.querySelector('h2')!.classList.contains('tx-clamped')).toBe(false)
  expect(on.root.querySelector('.tx-more')!.getAttribute('aria-expanded')).toBe('true')
})

test('a chat of many turns mounts the newest rows and none of the far ones at first', async () => {
  on = await stage((story) => {
    for (let i = 0; i < 400; i++) story.ask(`t${i}`, `Question ${i}`).answer(`a${i}`, `Answer ${i}`).close(`a${i}`).settle()
  })
  const first = on.root.querySelectorAll('.tx-turn').length
  expect(first).toBeGreaterThanOrEqual(30)
  expect(first).toBeLessThan(300)
  expect(text('h2').at(-1)).toBe('Question 399')
})

test('no element carries a style attribute that the markup brought with it', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a', { verb: 'change', diff: '@@\n-a\n+b\n' }).close('a').answer('b', '| a |\n|--:|\n| 1 |\n').close('b').settle({ outcome: 'failed', problem: { code: 'error', words: 'x' } })
  })
  await shown('.tx-err')
  for (const node of on.root.querySelectorAll('[style]')) expect(node.getAttribute('style')).toMatch(/^(?:\s*--[\w-]+:[^;]*;?)*$/)
})

test('a step whose verb only a newer server knows is told by its name', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('b', { verb: 'sing' as 'other', name: 'choir', target: 'a song' })
  })
  expect(text('.tx-label')).toEqual(['Using choir a song'])
})

test('a word into the turn stands where it was said, and says what became of it; one that was given back can go into the message box', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'One').close('a').steer('w1', 'w1.steer', 'Be quick').answer('b', 'Two')
  })
  await shown('.tx-word')
  expect(text('.tx-word .meta')).toEqual(['With the agent, which sees this at its next step'])
  on.story.delivered('w1', 'w1.steer')
  await on.show()
  expect(text('.tx-word .meta')).toEqual(['The agent has seen this'])
  expect(on.said.at(-1)).toBe('The agent has seen this')
  on.story.steer('w2', 'w2.steer', 'And careful').returned('w2', 'w2.steer', 'draft')
  await on.show()
  expect(text('.tx-word .meta')[1]).toContain('was not sent')
  await press('.tx-word button')
  expect(on.said).toContain('put back: And careful')
  expect(text('.tx-word button')).toEqual(['In the message box'])
  await press('.tx-word button')
  expect(on.said.filter((words) => words.startsWith('put back'))).toHaveLength(1)
  // Prose keeps its order around it, and the steps fold without it.
  expect([...on.root.querySelectorAll('.tx-md, .tx-word .tx-said')].map((node) => node.textContent!.trim())).toEqual(['One', 'Be quick', 'Two', 'And careful'])
})

test('words that a restart gave back and that are with the agent again leave the message box, where they had been put into it', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'One').close('a').steer('w1', 'w1.steer', 'Be quick').steer('w2', 'w2.steer', 'And careful')
    story.returned('w1', 'w1.steer', 'draft').returned('w2', 'w2.steer', 'draft').settle({ outcome: 'interrupted', problem: { code: 'server_restarted' } })
  })
  await shown('.tx-word button')
  await press('.tx-word button')
  on.story.run('t1.again', 'reattached', ['w1', 'w2'])
  await on.show()
  expect(text('.tx-word .meta')).toEqual(Array(2).fill('With the agent, which sees this at its next step'))
  expect(on.root.querySelector('.tx-word button')).toBeNull()
  expect(on.said.filter((words) => words.startsWith('take back'))).toEqual(['take back: Be quick'])
  on.story.delivered('w1', 'w1.steer').returned('w2', 'w2.steer', 'draft')
  await on.show()
  // Given back once more, they can be put back once more.
  expect(text('.tx-word button')).toEqual(['Put into the message box'])
})

test('a plan is one line among the steps, ticked off in place, and no tick of the trace', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a').close('a').plan('p', [{ text: 'Look', state: 'done' }, { text: 'Do', state: 'active' }, { text: 'Skip', state: 'cancelled' }])
  })
  await shown('.tx-plan')
  expect(text('.tx-label').at(-1)).toBe('Plan: 1 of 2 done')
  expect(text('.tx-plan li')).toEqual(['Look, done', 'Do, under way', 'Skip, left out'])
  expect(on.root.querySelectorAll('.tx-head .trace > i').length).toBe(1)
  on.story.say({ type: 'plan.replaced', row: 'p', run: 't1.run', plan: [{ text: 'Look', state: 'done' }, { text: 'Do', state: 'done' }] })
  await on.show()
  expect(text('.tx-label').at(-1)).toBe('Plan: 2 of 2 done')
  on.story.close('p').answer('b', 'Done').close('b').settle()
  await on.show()
  expect(on.root.querySelector('.tx-plan')).toBeNull()
  await press('.tx-head')
  expect(text('.tx-count')).toEqual(['1 step'])
})

test('a question says what was asked and what was answered; a secret only whether it was given', async () => {
  const run = 't1.run'
  on = await stage((story) => {
    story.ask('t1', 'Go').question('q1').say({ type: 'clarify.raised', clarify: 'c1', row: 'q1', run, request: { question: 'Gross or net?', choices: ['Gross', 'Net'], free: true } })
  })
  expect(text('.tx-label')).toEqual(['Asks: Gross or net? waits for you'])
  expect(text('.tx-time')[0]).toMatch(/^Waits for you after/)
  on.story.say({ type: 'clarify.answered', clarify: 'c1', row: 'q1', run, answer: 'Net, please' }).close('q1')
  on.story.question('q2').say({ type: 'secret.raised', secret: 's2', row: 'q2', run, request: { kind: 'secret', prompt: 'The key' } }).say({ type: 'secret.answered', secret: 's2', row: 'q2', run, given: true }).close('q2')
  on.story.question('q3').say({ type: 'clarify.raised', clarify: 'c3', row: 'q3', run, request: { question: 'Now?', choices: [], free: true } }).say({ type: 'clarify.retired', clarify: 'c3', row: 'q3', run, why: 'expired' }).close('q3', { state: 'cancelled' })
  await on.show()
  expect(text('.tx-label')).toEqual(['Asked: Gross or net? — Net, please', 'Asked: The key — given', 'Asked: Now? — not answered'])
  for (const button of on.root.querySelectorAll<HTMLElement>('.tx-step button')) button.click()
  await shown('.tx-decision')
  expect(text('.tx-decision')).toEqual(['Answered by you: Net, please', 'Given by you; it is kept nowhere', 'Not answered in time'])
})

test('a permission says who decided and how: the agent’s own label, for ever, or by itself', async () => {
  const decided = (row: string, kind: 'once' | 'always', choice: string, by: 'person' | 'auto') => ({ type: 'approval.decided' as const, approval: `${row}.apr`, row, run: 't1.run', choice, kind, by })
  on = await stage((story) => {
    story.ask('t1', 'Go')
    for (const row of ['a', 'b', 'c']) story.tool(row, { verb: 'run', name: 'shell', target: 'make' }).raise(row, `${row}.apr`, { choices: [{ id: 'y', kind: 'once', label: row === 'b' ? 'Yes, do' : undefined }, { id: 'al', kind: 'always' }] })
    story.say(decided('a', 'always', 'al', 'person')).say(decided('b', 'once', 'y', 'person')).say(decided('c', 'once', 'y', 'auto')).close('a').close('b').close('c')
  })
  for (const button of on.root.querySelectorAll<HTMLElement>('.tx-step button')) button.click()
  await shown('.tx-step:last-child .tx-decision')
  expect(text('.tx-decision')).toEqual(['Allowed by you, from now on', '“Yes, do” chosen by you', 'Allowed by itself: this chat allowed everything'])
})

const ended = (code: RunProblemCode) => stage((story) => {
  story.ask('t1', 'Go').answer('a', 'Half').close('a').settle({ outcome: 'failed', problem: { code, words: 'as they said it' } })
})

test('every problem has words and a next step, the most promising first', async () => {
  const first: Record<string, string> = {}
  for (const code of RUN_PROBLEMS) {
    on = await ended(code)
    await shown('.tx-err')
    expect(text('.tx-err h3')[0], code).not.toMatch(/^error\./)
    expect(text('.tx-err p')[0], code).not.toMatch(/^error\./)
    expect(text('.tx-own'), code).toEqual(['as they said it'])
    first[code] = text('.tx-err .acts button')[0]!
    on.leave()
  }
  on = null
  expect(first).toMatchObject({
    no_response: 'Try again', auth_mismatch: 'Open the settings', quota_exhausted: 'Choose another model', model_not_found: 'Choose another model', tool_limit_reached: 'Go on from here',
    no_model: 'Connect a model', compression_exhausted: 'Go on in a new chat', server_restarted: 'Go on from here', rate_limit: 'Try again',
  })
})

test('stopped, broken off, at its limit, without a reply: one line each, with a way on for the newest turn alone', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'Half').close('a').stop().settle({ outcome: 'cancelled' })
    story.ask('t2', 'Go').answer('b', 'Half').close('b').settle({ reason: 'limit' })
  })
  await shown('.tx-turn:last-child .acts')
  expect(text('.tx-mk p')).toHaveLength(2)
  expect(text('.tx-mk .acts button')).toEqual(['Go on from here'])
  await press('.tx-mk .acts button')
  expect(on.said).toContain('go on: Go on from where you stopped.')
  on.story.ask('t3', 'Go').tool('c').close('c').settle()
  await on.show()
  await shown('.tx-turn:last-child .acts')
  expect(text('.tx-turn:last-child .tx-mk p')).toEqual(['The agent finished without a reply.'])
})

test('a stop and a break are announced as what they are', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'x')
  })
  on.story.close('a').stop().settle({ outcome: 'cancelled' })
  await on.show()
  on.story.ask('t2', 'Go').answer('b', 'x')
  await on.show()
  on.story.close('b').settle({ outcome: 'interrupted', problem: { code: 'agent_died' } })
  await on.show()
  expect(on.said).toEqual(['Stopped', 'The agent is working', 'The answer broke off'])
})

test('a run that went on after a restart of the server says so, and nothing of the break', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').answer('a', 'Half').close('a', { state: 'cancelled' }).settle({ outcome: 'interrupted', problem: { code: 'server_restarted' } }).run('run_2', 'reattached').answer('b', 'Whole')
  })
  await shown('.tx-mk')
  expect(text('.tx-mk')).toEqual(['The server was restarted in between; the agent went on.'])
  on.story.close('b').settle()
  await on.show()
  expect(text('.tx-mk')).toHaveLength(1)
})

test('while it stops it says so, and after a while what it waits for', async () => {
  on = await stage((story) => {
    story.ask('t1', 'Go').tool('a', { verb: 'run', name: 'shell', target: 'make all' }).stop()
  })
  await shown('.tx-mk')
  expect(text('.tx-mk')).toEqual(['Stopping…'])
  on.pass(6000)
  await shown('.tx-mk:not(:empty)')
  for (const end = Date.now() + 10_000; !text('.tx-mk')[0]!.includes('make all'); await frames(1)) if (Date.now() > end) throw new Error(text('.tx-mk')[0])
  expect(text('.tx-mk')[0]).toMatch(/^Still stopping: waiting for “make all”/)
})
