import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeHermes } from '../../server/agents/hermes/agent'
import type { HermesProgram } from '../../server/agents/hermes/port'
import { makeHermesPrograms } from '../../server/agents/hermes/programs'
import { systemFacts } from '../../server/agents/supervise/facts'
import { launchProfile } from '../../server/profiles/launch'
import { systemTimers } from '../../server/runs/timers'
import type { Agent } from '../../server/agents/port'
import { agentRig } from '../agent/rig'
import type { Cue, Rig, RigOptions, ToolCue } from '../agent/rig'
import { startCueModel, stepsOf } from './cue-model'
import type { CueModel } from './cue-model'
import { hermesProgram, writeHome } from './stage'

export interface HermesRig extends Rig { server: CueModel; folder: string; program: HermesProgram; real: Agent }

/** Real runs on the real Hermes Agent, with a model that plays cues. `lines`: more of its `config.yaml`. */
export async function hermesRig(options: RigOptions & { lines?: string[] } = {}): Promise<HermesRig> {
  const model = await startCueModel()
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'talaria-hermes-')))
  const home = join(folder, 'home')
  mkdirSync(home)
  writeHome(home, model.base, { ...(options.lines ? { lines: options.lines } : {}) })
  const profile = await launchProfile(home)
  const failures: unknown[] = []
  const programs = makeHermesPrograms({
    timers: systemTimers(), facts: systemFacts(), folder: join(folder, 'programs'), env: { ...process.env, PATH: `${dirname(hermesProgram())}:${process.env.PATH ?? ''}`, HOME: folder }, homedir: folder,
    managed: true, report: (error) => failures.push(error),
  })
  const agent = makeHermes({ timers: systemTimers(), programs, modelOf: async () => null })
  const rig = agentRig(agent, 'hermes', { ...options, limits: { ladder: 8_000, ...options.limits, ...(options.limits?.silence === undefined ? {} : { silence: BUILD_MS }) }, folder, profile })
  return {
    ...rig, patience: 60_000, server: model, program: programs.of(profile), real: agent,
    message(cues) {
      const at = cues.findIndex(({ cue }) => cue === 'later')
      const later = at < 0 ? undefined : (cues[at] as Extract<Cue, { cue: 'later' }>).text
      const before: Cue[] = later === undefined ? cues : [{ cue: 'tools', calls: [{ tool: 'unknown', name: LATER }] }, ...cues.filter(({ cue }) => cue !== 'later')]
      const steps = stepsOf(before, (tool) => callOf(tool, rig.workspace))
      if (!steps) return null
      const id = model.script(steps, later)
      // The number is known only now.
      for (const step of steps) if (step.do === 'say') for (const each of step.calls) if (each.args.background === true) each.args.command = `sleep 1; echo ${id.replace('script', 'later')}`
      return id
    },
    told: (words, answer) => answer.includes(words) || model.told(words),
    leftovers: async () => working(rig.workspace),
    async close() {
      await rig.close()
      await agent.end()
      await model.end()
      if (failures.length > 0) throw new AggregateError(failures, 'The program reported failures.')
    },
  }
}

/** A session that is opened again is built for 1–2 s before its model is asked: shorter is no silence. */
const BUILD_MS = 6_000

const LATER = 'later'

/** A command that Hermes asks about. Each that is allowed for ever is of a kind of its own, so that the others are still asked about. */
export function dangerous(command: string): string {
  return command.includes('choice-always') ? `find . -maxdepth 0 -name nothing -delete; ${command}` : `chmod 777 .; ${command}`
}

function callOf(cue: ToolCue, workspace: string): { name: string; args: Record<string, unknown> } | null {
  switch (cue.tool) {
    case 'read':
    case 'read_missing':
      return { name: 'read_file', args: { path: join(workspace, cue.file) } }
    case 'unknown':
      return cue.name === LATER ? { name: 'terminal', args: { command: '', background: true, notify_on_complete: true } } : { name: cue.name, args: { x: 1 } }
    case 'write':
      return { name: 'write_file', args: { path: join(workspace, cue.file), content: cue.text } }
    case 'shell':
      return cue.ms === undefined ? { name: 'terminal', args: { command: dangerous(cue.command) } } : null
    case 'slow':
      return { name: 'terminal', args: { command: 'sleep 20' } }
  }
}

/** Processes that a tool has started and that work in the folder of the chats. */
function working(workspace: string): number {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(workspace) && !readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('tui_gateway')
    } catch {
      return false
    }
  }).length
}
