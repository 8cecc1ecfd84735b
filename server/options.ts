import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { hostNames, originOf } from './http/provenance'

/** What one start of the server was told (DESIGN §11). Paths are absolute. */
export interface Options {
  /** Addresses to listen on: both loopbacks for `localhost`. */
  addresses: string[]
  port: number
  /** Home of the launch profile: `config.yaml`, `.env`. */
  home: string
  /** `<state>/talaria` is where this program keeps everything. */
  state: string
  workspace: string
  allowedHosts: Set<string>
  allowedOrigins: Set<string>
  /** Opens the address in a browser. */
  open: boolean
  /** The scripted agent answers new chats. */
  demo: boolean
  /** How long the log keeps row events of settled runs, ms; `Infinity`: always. Absent: the store's own measure. */
  keepEventsMs?: number
  /** `TALARIA_SCRIPTED_AGENT=detached`: every chat of the scripted agent is played by a process that outlasts the server. For tests of a restart; people need it never. */
  scriptedDetached: boolean
}

export type Parsed = { state: 'run'; options: Options } | { state: 'help' } | { state: 'version' } | { state: 'wrong'; words: string }

export const HELP = `talaria: talk to the AI agent on your own machine, from a desktop tab or a phone.

  --host <name>    address to listen on (localhost)
  --port <number>  port (8787); 0 takes a free one
  --home <folder>  home of Hermes Agent, whose model and keys are used (~/.hermes)
  --state <folder> where chats are kept, in its folder talaria (<home>/webui)
  --open           open the page in a browser
  --demo           new chats are answered by a script, without any model
  --version        print the version
  --help           print this

Environment, each beaten by its flag: HERMES_WEBUI_HOST, HERMES_WEBUI_PORT, HERMES_HOME, HERMES_WEBUI_STATE_DIR; also
HERMES_WEBUI_DEFAULT_WORKSPACE (~/workspace), HERMES_WEBUI_ALLOWED_HOSTS (names that a reverse proxy may send as Host) and
HERMES_WEBUI_ALLOWED_ORIGINS (addresses at which browsers open the page behind a proxy that sends another Host),
HERMES_WEBUI_AGENT_DIR (folder of the Hermes Agent to use; without it PATH and the usual places are looked at), TALARIA_HERMES_LAYER
("off": Hermes Agent is started without the two settings that Talaria adds to its managed layer), and
TALARIA_KEEP_EVENTS (days that the log keeps the steps of answers that have ended, 30; "always": for ever. The chats themselves always stay whole).`

const VALUED = ['host', 'port', 'home', 'state'] as const
const DAY_MS = 24 * 3600 * 1000
const SWITCHES = ['open', 'demo', 'help', 'version'] as const

/** A flag beats the environment. Nothing is guessed: an unknown flag or an unreadable value is said and nothing starts. */
export function parseOptions(argv: string[], env: Readonly<Record<string, string | undefined>>, machine: { homedir: string; cwd: string }): Parsed {
  const values: Partial<Record<(typeof VALUED)[number], string>> = {}
  const switches = new Set<string>()
  for (let i = 0; i < argv.length; i++) {
    const [, name = '', inline] = /^--([a-z]+)(?:=(.*))?$/s.exec(argv[i] === '-h' ? '--help' : argv[i]!) ?? []
    if (isOneOf(SWITCHES, name) && inline === undefined) switches.add(name)
    else if (isOneOf(VALUED, name)) {
      const value = inline ?? argv[++i]
      if (value === undefined || value === '' || (inline === undefined && value.startsWith('--'))) return wrong(`--${name} needs a value.`)
      values[name] = value
    } else return wrong(`Unknown option: ${argv[i]}. --help lists them.`)
  }
  if (switches.has('help')) return { state: 'help' }
  if (switches.has('version')) return { state: 'version' }

  const given = (flag: string | undefined, name: string): string | undefined => flag ?? (env[name]?.trim() || undefined)
  const folder = (path: string): string => resolve(machine.cwd, path === '~' || path.startsWith('~/') ? join(machine.homedir, path.slice(1)) : path)

  const portText = given(values.port, 'HERMES_WEBUI_PORT') ?? '8787'
  if (!/^\d{1,5}$/.test(portText) || Number(portText) > 65535) return wrong(`The port must be a number from 0 to 65535, not ${portText}.`)
  const host = (given(values.host, 'HERMES_WEBUI_HOST') ?? '127.0.0.1').toLowerCase()
  const addresses = loopbacks(host)
  if (!addresses) return wrong(`${host} can be reached from other machines, and there is no sign-in yet that would protect it. Listen on localhost, and reach it from elsewhere through a tunnel of your own, such as: ssh -L 8787:localhost:8787 <this machine>`)
  const origins = (env.HERMES_WEBUI_ALLOWED_ORIGINS ?? '').split(',').map((item) => item.trim()).filter((item) => item !== '')
  const strange = origins.find((item) => originOf(item) === null)
  if (strange !== undefined) return wrong(`HERMES_WEBUI_ALLOWED_ORIGINS: ${strange} is no origin. It needs its scheme, such as https://chat.example`)
  const keep = (env.TALARIA_KEEP_EVENTS ?? '').trim().toLowerCase()
  if (keep !== '' && keep !== 'always' && !/^[1-9]\d{0,4}$/.test(keep)) return wrong(`TALARIA_KEEP_EVENTS must be a number of days from 1 on, or "always", not ${keep}.`)
  const home = folder(given(values.home, 'HERMES_HOME') ?? '~/.hermes')
  return {
    state: 'run',
    options: {
      addresses,
      port: Number(portText),
      home,
      state: folder(given(values.state, 'HERMES_WEBUI_STATE_DIR') ?? join(home, 'webui')),
      workspace: folder(given(undefined, 'HERMES_WEBUI_DEFAULT_WORKSPACE') ?? '~/workspace'),
      allowedHosts: new Set(hostNames(env.HERMES_WEBUI_ALLOWED_HOSTS ?? '')),
      allowedOrigins: new Set(origins.map((item) => originOf(item)!)),
      open: switches.has('open'),
      demo: switches.has('demo'),
      ...(keep === '' ? {} : { keepEventsMs: keep === 'always' ? Infinity : Number(keep) * DAY_MS }),
      scriptedDetached: env.TALARIA_SCRIPTED_AGENT === 'detached',
    },
  }
}

/** The addresses behind a loopback name; null for what other machines can reach. */
function loopbacks(host: string): string[] | null {
  if (host === 'localhost' || host === '127.0.0.1' || host === '::1' || host === '[::1]') return ['127.0.0.1', '::1']
  return isIP(host) === 4 && host.startsWith('127.') ? [host] : null
}

function isOneOf<T extends string>(names: readonly T[], name: string): name is T {
  return (names as readonly string[]).includes(name)
}

function wrong(words: string): Parsed {
  return { state: 'wrong', words }
}
