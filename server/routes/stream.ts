import type { Handlers } from './call'
import type { Parts } from './parts'
export function chatStream(_: Pick<Parts,'store'>): Handlers<'GET /api/chat/stream'> { return { 'GET /api/chat/stream': () => Promise.reject(new Error('soon')) } }
