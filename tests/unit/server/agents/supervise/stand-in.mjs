// A program for the supervisor: what it does stands in its environment (BEHAVE), words separated by commas. It ends by itself after a minute, whatever a test forgot.
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:net'

const does = new Set((process.env.BEHAVE ?? '').split(','))
const number = (name, otherwise) => Number([...does].find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? otherwise)
setTimeout(() => process.exit(9), 60_000)
if (process.env.STARTS) appendFileSync(process.env.STARTS, `${process.pid}\n`)
if (does.has('deaf')) process.on('SIGTERM', () => process.stderr.write('I was told to end\n'))
if (does.has('child')) {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => 0, 60_000)'], { detached: true, stdio: 'ignore' })
  process.stderr.write(`child ${child.pid}\n`)
}
if (does.has('chatty')) for (let i = 0; i < 4000; i++) process.stderr.write(`line ${i} of what it says\n`)
if (does.has('telling')) process.stderr.write(`the token is ${process.env.TOKEN} and the key is ${process.env.KEY}\n`)
process.stderr.write('last words\n')
if (does.has('dies')) process.exit(3)
if (does.has('silent')) process.stdout.write('READY port=nowhere\n')
else setTimeout(() => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    if (does.has('cold')) socket.destroy()
    else socket.end('hello')
  })
  server.listen(0, '127.0.0.1', () => {
    if (does.has('garbage')) process.stdout.write(`${'\u{1F600} {"system_prompt": "secret"} '.repeat(2000)}\n`)
    process.stdout.write(`READY port=${server.address().port}\n`)
    if (does.has('garbage')) setInterval(() => process.stdout.write('{"system_prompt": "more"}\n'), 20)
  })
}, number('slow', 0))
