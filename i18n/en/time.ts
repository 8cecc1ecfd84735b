/** Amounts of time; the blank is a no-break space. */
export default {
  'time.now': 'now',
  'time.seconds': '{n}\u00a0s',
  'time.minutes': '{n}\u00a0min',
  'time.hours': '{n}\u00a0h',
  'time.days': '{n}\u00a0d',
  'time.weeks': '{n}\u00a0wk',
} as const
