import type { Handlers } from './call'
import type { Parts } from './parts'
export function fullSession(_: Pick<Parts,'store'>): Handlers<'GET /api/session'> { return { 'GET /api/session': () => Promise.reject(new Error('soon')) } }
