import * as z from 'zod/mini'
import { PROBLEM_STATUS } from '../contract/problems'
import type { ProblemCode } from '../contract/problems'
import { methodOf, pathOf, routeOf, routes } from '../contract/routes'
import type { RouteName } from '../contract/routes'
import { ANY_ROUTE, details } from '../contract/routes/details'
import { inputs } from '../contract/routes/inputs'
import type { Handlers } from './call'

/** OpenAPI 3.1, made from the route table: what is not in the table is not in the document, and the other way round. */
export function openapi({ version }: { version: string }): Handlers<'GET /api/openapi.json'> {
  let document: Record<string, unknown> | undefined
  return { 'GET /api/openapi.json': () => Promise.resolve((document ??= describe(version))) }
}

function describe(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const name of Object.keys(routes) as RouteName[]) (paths[pathOf(name)] ??= {})[methodOf(name).toLowerCase()] = operation(name)
  return {
    openapi: '3.1.0',
    info: { title: 'Talaria', version, description: 'One chat server for the agents on this machine. Errors are Problems; clients switch on `code`.', license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: {
        Problem: {
          type: 'object',
          required: ['error', 'code'],
          properties: {
            error: { type: 'string' },
            code: { type: 'string', enum: Object.keys(PROBLEM_STATUS) },
            words: { type: 'string', description: 'The provider’s own words.' },
            hint: { type: 'string' },
            retryable: { type: 'boolean' },
            session_id: { type: 'string' },
            profile: { type: 'string' },
            active_stream_id: { type: 'string' },
            stale: { type: 'boolean', description: 'The question that was answered is over.' },
          },
        },
      },
    },
  }
}

function operation(name: RouteName): Record<string, unknown> {
  const { act, stream, offline, upload, file } = routeOf(name)
  const input = z.toJSONSchema(inputs[name] as z.ZodMiniType, { io: 'input', unrepresentable: 'any' }) as { properties?: Record<string, object>; required?: string[]; $schema?: string }
  delete input.$schema
  const ok = file ? { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } : stream ? { 'text/event-stream': { schema: { type: 'string' } } } : { 'application/json': { schema: { type: 'object' } } }
  return {
    operationId: name.replace(/[^A-Za-z]+(.)?/g, (_, next: string | undefined) => next?.toUpperCase() ?? ''),
    summary: details[name].summary,
    'x-offline': offline,
    ...(act ? { 'x-acts': true } : {}),
    ...(methodOf(name) === 'GET' ? { parameters: parameters(input, pathOf(name)) } : { requestBody: { required: true, content: upload ? FORM : { 'application/json': { schema: input } } } }),
    responses: { '200': { description: 'Done', content: ok }, ...problems([...details[name].problems, ...ANY_ROUTE]) },
  }
}

const FORM = { 'multipart/form-data': { schema: { type: 'object', required: ['session_id', 'file'], properties: { session_id: { type: 'string' }, file: { type: 'string', format: 'binary' } } } } }

function parameters({ properties = {}, required = [] }: { properties?: Record<string, object>; required?: string[] }, path: string): object[] {
  return Object.entries(properties).map(([name, schema]) => ({ name, in: path.includes(`{${name}}`) ? 'path' : 'query', required: required.includes(name), schema }))
}

function problems(codes: ProblemCode[]): Record<string, object> {
  const answers: Record<string, object> = {}
  for (const status of [...new Set(codes.map((code) => PROBLEM_STATUS[code]))].sort())
    answers[status] = { description: codes.filter((code) => PROBLEM_STATUS[code] === status).join(', '), content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } } }
  return answers
}
