/** Under which key the copy of a small answer is kept and looked up: that of models belongs to the agent that was asked for, if one was. */
export function answerKey(name: string, agent: string | null | undefined): string {
  return agent ? `${name} ${agent}` : name
}
