/** The words of the network quality levels, 0 to 5. */
const LEVELS = ['No media arrives', 'Bad', 'Poor', 'Fair', 'Good', 'Excellent'] as const

export type Tone = 'good' | 'warn' | 'bad' | 'neutral' | 'info'

/** The word of a level, and how urgent it is. */
export function qualityOf(level: number | null): { text: string; tone: Tone } {
  if (level === null) return { text: 'Not measured', tone: 'neutral' }
  const bounded = Math.min(5, Math.max(0, Math.round(level)))
  return { text: LEVELS[bounded] ?? '', tone: bounded >= 4 ? 'good' : bounded === 3 ? 'warn' : 'bad' }
}

/** The tone of the status of a session, node, recording or master. */
export function toneOf(status: string): Tone {
  if (['UP', 'running', 'ready', 'started'].includes(status)) return 'good'
  if (['DOWN', 'failed', 'canceled'].includes(status)) return 'bad'
  if (['UNSTABLE', 'waiting-idle-to-terminate', 'terminating'].includes(status)) return 'warn'
  return status === 'terminated' ? 'neutral' : 'info'
}
