/**
 * What of the server's environment a Hermes process may see (spec/agents.md §4: built from the profile, and nothing of our own). Each name is here for a reason:
 * the programs that Hermes starts (PATH, HOME, USER, SHELL, TMPDIR), language and clock, the way to the network (proxies, certificates), and where the desktop
 * keeps sockets and settings that git, ssh and friends need. No key is: Hermes reads the profile's own `.env`, and a key that was only exported in the shell that
 * started us belongs to no profile. Of `HERMES_*` only what holds for a whole installation comes along (spec/hermes-home.md §1.1): its write lock and the modes of
 * its files. The rest, `PYTHON*`, `VIRTUAL_ENV`, `LD_*` and `NODE_*` would change the program.
 */
const NAMES = [
  'PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'LANG', 'LANGUAGE', 'TZ',
  'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy',
  'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE',
  'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME', 'XDG_STATE_HOME', 'SSH_AUTH_SOCK', 'DBUS_SESSION_BUS_ADDRESS',
  'DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'DOCKER_HOST',
  'HERMES_MANAGED', 'HERMES_HOME_MODE', 'HERMES_UID', 'HERMES_GID', 'HERMES_SKIP_CHMOD', 'HERMES_CONTAINER',
] as const

/** Without a locale Python may write its text as ASCII. */
const LANG = 'C.UTF-8'

type Env = Readonly<Record<string, string | undefined>>

/** The part that every call of the program gets, the question for its version included. */
export function plainEnvironment(env: Env, homedir: string): Record<string, string> {
  const kept = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && ((NAMES as readonly string[]).includes(entry[0]) || entry[0].startsWith('LC_')))
  const plain = Object.fromEntries(kept)
  return { ...plain, HOME: plain.HOME ?? homedir, LANG: plain.LANG ?? LANG, PYTHONUNBUFFERED: '1' }
}

/** Of a running one, per profile. `root`: the root home, also for a named profile (spec/hermes-rpc.md §1.3). */
export function serveEnvironment(env: Env, homedir: string, own: { root: string; token: string; managed: string | null }): Record<string, string> {
  return {
    ...plainEnvironment(env, homedir),
    HERMES_HOME: own.root,
    HERMES_DASHBOARD_SESSION_TOKEN: own.token,
    // The arguments of a tool come at its start only so (spec/hermes-rpc.md §1.4).
    HERMES_TUI_TOOL_PROGRESS: 'verbose',
    ...(own.managed === null ? {} : { HERMES_MANAGED_DIR: own.managed }),
  }
}
