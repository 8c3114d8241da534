import type { MediaNodeStatus } from '@session-service/contract'
import type { Problem } from '@session-service/contract/dashboard'

/** The facts from which problems are derived. Times in UTC ms, ages in seconds. */
export interface ProblemFacts {
  now: number
  nodes: {
    id: string
    status: MediaNodeStatus
    statusReason: string | null
    isDisconnected: boolean
    crashCount: number
    /** End of its back-off; null without one. */
    backOffUntil: number | null
  }[]
  deadLetters: number
  /** Recordings that failed in the last hour. */
  failedRecordings: number
  /** The age of the oldest entry of each queue of events. */
  queueAges: { consumer: string; seconds: number }[]
  rollback: { properties: string[]; reason: string } | undefined
  /** Why this master has no space for another recording; undefined when it has, or makes none. */
  diskFault: string | undefined
}

/** The age from which an entry of a queue is a problem, s. */
const OLD_QUEUE_S = 120
/** Names that operators know for the consumers of events. */
const CONSUMERS: Readonly<Record<string, string>> = {
  webhook: 'the webhook',
  cdr: 'the call records',
  history: 'the history',
  search: 'the search server',
}

const nodeProblem = (text: string): Problem => ({ text, view: 'media-nodes' })
const counted = (count: number, one: string, many: string): string => (count === 1 ? `1 ${one}` : `${count} ${many}`)

function nodeProblems({ nodes, now }: ProblemFacts): Problem[] {
  const lost = nodes.filter(({ isDisconnected }) => isDisconnected)
  const isUsable = nodes.some(({ status, isDisconnected }) => status === 'running' && !isDisconnected)
  return [
    ...(isUsable ? [] : [nodeProblem('No media node is running: sessions cannot be joined')]),
    ...lost.map(({ id }) => nodeProblem(`Media node ${id} is disconnected`)),
    ...nodes
      .filter(({ status }) => status === 'failed')
      .map(({ id, statusReason }) =>
        nodeProblem(`Media node ${id} could not be started${statusReason ? `: ${statusReason}` : ''}`),
      ),
    ...nodes
      .filter(({ backOffUntil }) => backOffUntil !== null && backOffUntil > now)
      .map(({ id, crashCount }) =>
        nodeProblem(`Media node ${id} crashed ${crashCount} times in a row: other nodes are preferred for a while`),
      ),
  ]
}

function queueProblems({ queueAges }: ProblemFacts): Problem[] {
  return queueAges
    .filter(({ seconds }) => seconds >= OLD_QUEUE_S)
    .toSorted((one, other) => other.seconds - one.seconds)
    .map(({ consumer, seconds }) => {
      const minutes = Math.floor(seconds / 60)
      const text = `Events for ${CONSUMERS[consumer] ?? consumer} have been waiting for ${minutes} minutes`
      return { text, view: 'events' }
    })
}

function recordingProblems({ diskFault, failedRecordings }: ProblemFacts): Problem[] {
  const texts = [
    ...(diskFault === undefined ? [] : [`Recordings cannot be started: ${diskFault}`]),
    ...(failedRecordings > 0
      ? [`${counted(failedRecordings, 'recording', 'recordings')} failed in the last hour`]
      : []),
  ]
  return texts.map((text) => ({ text, view: 'recordings' }))
}

function rollbackProblems({ rollback }: ProblemFacts): Problem[] {
  if (!rollback) return []
  const { properties, reason } = rollback
  return [{ text: `The last restart was rolled back (${properties.join(', ')}): ${reason}`, view: 'configuration' }]
}

function deadLetterProblems({ deadLetters }: ProblemFacts): Problem[] {
  if (deadLetters === 0) return []
  const text = `${counted(deadLetters, 'event was', 'events were')} not delivered to the webhook`
  return [{ text, view: 'dead-letters' }]
}

/** The problems that an operator should look at, the most urgent first. */
export const problemsOf = (facts: ProblemFacts): Problem[] =>
  [nodeProblems, rollbackProblems, recordingProblems, queueProblems, deadLetterProblems].flatMap((of) => of(facts))
