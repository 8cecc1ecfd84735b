/**
 * `.env` as Hermes Agent reads it (spec/hermes-home.md §5.1): `KEY=value`, `export KEY=value`, comments, quotes; a `#` in an unquoted value is a comment
 * only behind white space; `${NAME}` stands for a variable of the same file. A later line beats an earlier one. What is no assignment is left out.
 */
export function parseEnv(text: string): Record<string, string> {
  const env: Record<string, string> = Object.create(null) as Record<string, string>
  const line = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^\r\n]*))/gm
  for (const [, name, single, double, plain] of text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n').matchAll(line)) {
    if (single !== undefined) env[name!] = single.replace(/\\(['\\])/g, '$1')
    else if (double !== undefined) env[name!] = expand(double.replace(/\\(.)/gs, (_, c: string) => ({ n: '\n', r: '\r', t: '\t' })[c] ?? c), env)
    else env[name!] = expand(plain!.replace(/(?:^|[ \t]+)#.*$/, '').trim(), env)
  }
  return { ...env }
}

/** `${NAME}` from the given variables only; what is not set stays as it is written. */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name: string) => (Object.hasOwn(env, name) ? env[name]! : whole))
}
