import hljs from 'highlight.js/lib/core'
import type { Emitter, HLJSOptions } from 'highlight.js'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import lua from 'highlight.js/lib/languages/lua'
import makefile from 'highlight.js/lib/languages/makefile'
import nix from 'highlight.js/lib/languages/nix'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

const LANGUAGES = { bash, c, cpp, csharp, css, dockerfile, go, ini, java, javascript, json, kotlin, lua, makefile, nix, php, python, ruby, rust, sql, swift, typescript, xml, yaml }
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)
// Names that models write and the library does not know.
hljs.registerAliases(['shell', 'console', 'terminal', 'sh-session', 'service', 'fish'], { languageName: 'bash' })
hljs.registerAliases(['j2', 'conf', 'env', 'properties', 'timer', 'systemd'], { languageName: 'ini' })
hljs.registerAliases(['json5', 'jsonl', 'ndjson'], { languageName: 'json' })

/** The colours of design/LANGUAGE.md §5, by one letter each: key, string, number, function, type, comment; a blank has none. */
export type Colour = 'k' | 's' | 'n' | 'f' | 't' | 'c' | ' '
/** Stretches of the text, in order, without gaps: their lengths add up to it. */
export type Stretch = [length: number, colour: Colour]

/** Longer texts stay plain: their thousands of pieces would be one long task of the page, UTF-16 units. */
export const COLOUR_LIMIT = 30_000

/** Colours a text, or null when the language is not known. Gives lengths, never markup: the page makes the nodes. */
export function colour(text: string, language: string): Stretch[] | null {
  if (!hljs.getLanguage(language) || text.length > COLOUR_LIMIT) return null
  const result = hljs.highlight(text, { language, ignoreIllegals: true })
  // The library answers a fault of its own with an error in the result; half a text is worth nothing.
  return result.errorRaised ? null : (result._emitter as unknown as Collector).stretches
}

function colourOf(scope: string): Colour {
  if (/^comment|^quote|^doctag/.test(scope)) return 'c'
  if (/^string|^regexp|^char|^symbol|^link|^template-variable|^addition|^code/.test(scope)) return 's'
  if (/^number|^literal/.test(scope)) return 'n'
  if (/^title\.class|^type|^built_in|^class|^attr|^attribute|^property|^selector|^variable\.language/.test(scope)) return 't'
  if (/^title|^function|^name|^section|^params/.test(scope)) return scope.startsWith('params') ? ' ' : 'f'
  if (/^keyword|^meta|^tag|^operator|^deletion|^bullet/.test(scope)) return scope === 'tag' || scope === 'operator' ? ' ' : 'k'
  return ' '
}

/** Takes the place of the library's own collector, which builds markup. */
class Collector implements Emitter {
  readonly stretches: Stretch[] = []
  readonly #open: Colour[] = []

  addText(text: string): void {
    if (text === '') return
    const now = this.#open.at(-1) ?? ' '
    const last = this.stretches.at(-1)
    if (last && last[1] === now) last[0] += text.length
    else this.stretches.push([text.length, now])
  }
  startScope(scope: string): void {
    const own = colourOf(scope)
    this.#open.push(own === ' ' ? (this.#open.at(-1) ?? ' ') : own)
  }
  endScope(): void {
    this.#open.pop()
  }
  openNode(scope: string): void {
    this.startScope(scope)
  }
  closeNode(): void {
    this.endScope()
  }
  __addSublanguage(emitter: Emitter): void {
    for (const [length, kind] of (emitter as unknown as Collector).stretches) this.stretches.push([length, kind])
  }
  finalize(): void {}
  toHTML(): string {
    return ''
  }
}

hljs.configure({ __emitter: Collector } as Partial<HLJSOptions> & { __emitter: unknown })
