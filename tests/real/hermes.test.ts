import { conformance } from '../agent/conformance'
import { hermesRig } from './hermes-rig'

conformance('the real Hermes Agent', (options) => hermesRig(options))
