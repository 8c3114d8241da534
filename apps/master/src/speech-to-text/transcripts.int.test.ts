import { newSecret, SUBJECT, type TranscriptSentence } from '@session-service/contract'
import { Bus, REPORT_RPC } from '@session-service/messaging'
import { type Stack, startStack, until } from '@session-service/testing'
import { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const NODE_ID = 'fake_node'
const START = 1_790_000_000_000

let stack: Stack
let node: FakeMediaNode
let bus: Bus
let count = 0

beforeAll(async () => {
  const speech = { SERVICE_PRO_SPEECH_TO_TEXT: 'vosk', SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: 'true' }
  stack = await startStack({ nodes: 0, masters: 2, masterEnv: speech })
  node = await FakeMediaNode.start(stack.nats.url, NODE_ID)
  bus = await Bus.connect({ servers: stack.nats.url, name: NODE_ID, onProblem: () => undefined })
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
  await bus.close()
})

/** A session id with the unique id of one use of it. */
function newUse(createdAt = START): { session: string; roomId: string } {
  const session = `session_${++count}`
  return { session, roomId: `${session}_${createdAt}` }
}

const sentence = (text: string, second = 0, more: Partial<TranscriptSentence> = {}): TranscriptSentence => ({
  connectionId: 'con_A',
  streamId: 'str_A',
  lang: 'en-US',
  text,
  timestamp: START + second * 1_000,
  endTime: START + second * 1_000 + 900,
  words: text.split(' ').map((word, at) => ({ word, start: at * 0.2, end: at * 0.2 + 0.1, confidence: 0.9 })),
  ...more,
})

async function report(roomId: string, spoken: TranscriptSentence, factId = newSecret()): Promise<string> {
  const fact = {
    kind: 'sentenceRecognized' as const,
    factId,
    nodeId: NODE_ID,
    bootId: 'boot',
    roomId,
    sentence: spoken,
  }
  await bus.request(SUBJECT.fact(NODE_ID), REPORT_RPC, fact)
  return factId
}
const textsOf = ({ content }: { content: { text: string }[] }): string[] => content.map(({ text }) => text)

describe('the transcript of a session', () => {
  it('contains each reported sentence once, also when its report is repeated at another master', async () => {
    const { session, roomId } = newUse()
    const spoken = sentence('can you hear me now', 1)
    const factId = await report(roomId, spoken)
    await Promise.all(Array.from({ length: 10 }, () => report(roomId, spoken, factId)))
    const { timestamp: startTime, ...members } = spoken
    const stored = {
      ...members,
      startTime,
      id: factId,
      object: 'sentence',
      sessionId: session,
      uniqueSessionId: roomId,
    }
    expect(await stack.api.getTranscript(session)).toEqual({
      numberOfElements: 1,
      content: [{ ...stored, clientData: '' }],
    })
  })

  it('is in the order of the begin of the sentences, in pages, and by language', async () => {
    const { session, roomId } = newUse()
    for (const second of [4, 1, 3, 2, 5]) await report(roomId, sentence(`number ${second}`, second))
    await report(roomId, sentence('numero uno', 1, { lang: 'es-ES' }))
    expect(textsOf(await stack.api.getTranscript(session, { lang: 'en-US' }))).toEqual(
      [1, 2, 3, 4, 5].map((second) => `number ${second}`),
    )
    expect(textsOf(await stack.api.getTranscript(session, { lang: 'es-ES' }))).toEqual(['numero uno'])
    const pages: string[][] = []
    for (let after: string | undefined; ;) {
      const page = await stack.api.getTranscript(session, { limit: '4', ...(after && { after }) })
      pages.push(textsOf(page))
      after = page.next
      if (after === undefined) break
    }
    expect(pages.map(({ length }) => length)).toEqual([4, 2])
    expect(new Set(pages.flat()).size).toBe(6)
  })

  it('is given as WebVTT and as text, also after its session, with the names of the speakers who were present', async () => {
    const { id, createdAt } = await stack.api.createSession()
    const { token, id: connectionId } = await stack.api.createConnection(id)
    const client = await stack.openSocket(token ?? '')
    await client.join({ clientData: 'Alice' })
    const times = { timestamp: createdAt + 1_000, endTime: createdAt + 2_500 }
    await report(`${id}_${createdAt}`, sentence('hello everyone', 0, { connectionId, ...times }))
    await report(
      `${id}_${createdAt}`,
      sentence('hello alice', 0, { connectionId: 'con_B', timestamp: createdAt + 3_000 }),
    )
    await client.request('leave', {})
    expect(await stack.api.getTranscriptVtt(id)).toBe(
      `WEBVTT

00:00:01.000 --> 00:00:02.500
<v Alice>hello everyone</v>

00:00:03.000 --> 00:00:03.001
<v con_B>hello alice</v>
`,
    )
    expect(await stack.api.getTranscriptText(id)).toBe(
      '[00:00:01] Alice: hello everyone\n[00:00:03] con_B: hello alice\n',
    )
    const lastWords = { connectionId, clientData: 'Alice', timestamp: createdAt + 4_000 }
    await report(`${id}_${createdAt}`, sentence('bye', 0, lastWords))
    expect(await stack.api.getTranscriptText(id)).toContain('[00:00:04] Alice: bye\n')
    const { headers } = await stack.rest('GET', `/sessions/${id}/transcript.vtt`)
    expect(headers.get('content-type')).toBe('text/vtt; charset=utf-8')
  })

  it('is complete in its files when it has more sentences than a page', async () => {
    const { session, roomId } = newUse()
    await stack.postgres.query(
      `INSERT INTO transcript_sentence (id, session_id, unique_session_id, connection_id, client_data, stream_id, lang, text, search, start_time)
       SELECT 'many' || n, $1, $2, 'con_A', '', 'str_A', 'en-US', 'sentence ' || n, to_tsvector('simple', 'sentence ' || n), $3::bigint + n
       FROM generate_series(1, 2500) n`,
      [session, roomId, START],
    )
    const lines = (await stack.api.getTranscriptText(session)).trimEnd().split('\n')
    expect(lines).toHaveLength(2_500)
    expect(lines.at(-1)).toBe('[00:00:02] con_A: sentence 2500')
    expect((await stack.api.getTranscript(session)).numberOfElements).toBe(1_000)
  })

  it('is that of the last use of a custom id, or of the given one', async () => {
    const { session, roomId } = newUse()
    const later = `${session}_${START + 60_000}`
    await report(roomId, sentence('the first meeting', 1))
    await report(later, sentence('the second meeting', 61))
    expect(textsOf(await stack.api.getTranscript(session))).toEqual(['the second meeting'])
    expect(textsOf(await stack.api.getTranscript(session, { uniqueSessionId: roomId }))).toEqual(['the first meeting'])
    // A live session with the id has no sentences yet.
    const { createdAt } = await stack.api.createSession({ customSessionId: session })
    const live = { uniqueSessionId: `${session}_${createdAt}` }
    expect(await stack.api.getTranscript(session)).toEqual({ numberOfElements: 0, content: [] })
    expect(await stack.api.getTranscript(session, live)).toEqual({ numberOfElements: 0, content: [] })
  })

  it('is a 404 for a session that never existed, and for an unknown use of it or one of another session', async () => {
    const { session, roomId } = newUse()
    const other = newUse()
    await report(roomId, sentence('hello'))
    await report(other.roomId, sentence('hello'))
    for (const path of [
      '/sessions/nowhere/transcript',
      '/sessions/nowhere/transcript.vtt',
      '/sessions/nowhere/transcript.txt',
      `/sessions/nowhere/transcript?uniqueSessionId=nowhere_1`,
      `/sessions/${session}/transcript?uniqueSessionId=nowhere_1`,
      `/sessions/${session}/transcript?uniqueSessionId=${other.roomId}`,
    ])
      expect((await stack.rest('GET', path)).status).toBe(404)
  })

  it.each(['limit=0', 'limit=1001', 'limit=x', 'after=x', 'lang=%00', 'uniqueSessionId=%2F'])(
    'answers 400 that names the parameter for %s',
    async (query) => {
      const { session } = newUse()
      expect(await stack.rest('GET', `/sessions/${session}/transcript?${query}`)).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining(`${query.split('=')[0]}:`) },
      })
    },
  )
})

describe('the search in transcripts', () => {
  const search = async (query: Parameters<typeof stack.api.searchTranscripts>[0]): Promise<string[]> =>
    textsOf(await stack.api.searchTranscripts(query))

  it('finds sentences by words, phrases, alternatives and exclusions, the newest first', async () => {
    const { session, roomId } = newUse()
    await report(roomId, sentence('the quarterly report will be finished', 1))
    await report(roomId, sentence('start the recording', 2))
    await report(roomId, sentence('the report of the recording', 3))
    expect(await search({ session, text: 'REPORT' })).toEqual([
      'the report of the recording',
      'the quarterly report will be finished',
    ])
    expect(await search({ session, text: 'recording report' })).toEqual(['the report of the recording'])
    expect(await search({ session, text: '"quarterly report"' })).toEqual(['the quarterly report will be finished'])
    expect(await search({ session, text: 'start or quarterly' })).toHaveLength(2)
    expect(await search({ session, text: 'report -recording' })).toEqual(['the quarterly report will be finished'])
    expect(await search({ session, text: `'); DROP TABLE session; --` })).toEqual([])
    expect(await search({ session, text: 'true' })).toEqual([])
  })

  it('finds sentences of all sessions by language and time, in pages', async () => {
    const lang = `x-${newSecret(32)}`
    for (const second of [1, 2, 3]) await report(newUse().roomId, sentence(`hour ${second}`, second * 3_600, { lang }))
    expect(await search({ lang })).toEqual(['hour 3', 'hour 2', 'hour 1'])
    const [from, to] = [START + 3_600_000, START + 3 * 3_600_000].map(String)
    expect(await search({ lang, ...(from && to && { from, to }) })).toEqual(['hour 2', 'hour 1'])
    const { next, content } = await stack.api.searchTranscripts({ lang, limit: '2' })
    expect(textsOf({ content })).toEqual(['hour 3', 'hour 2'])
    expect(await search({ lang, limit: '2', ...(next && { after: next }) })).toEqual(['hour 1'])
  })

  it('uses the indexes for the words and for a rare language', async () => {
    await stack.postgres.query('ANALYZE transcript_sentence')
    const plan = async (condition: string): Promise<string> => {
      const page = 'ORDER BY start_time DESC, id DESC LIMIT 101'
      const sql = `EXPLAIN SELECT * FROM transcript_sentence WHERE ${condition} ${page}`
      return JSON.stringify(await stack.postgres.query(sql))
    }
    expect(await plan(`search @@ websearch_to_tsquery('simple', 'quarterly')`)).toContain('transcript_sentence_words')
    expect(await plan(`lang = 'x-none'`)).toContain('transcript_sentence_lang')
  })
})

it('sentences are deleted after the retention, by the leader', async () => {
  const [old, recent] = [newUse(), newUse()]
  const oldId = await report(old.roomId, sentence('long ago'))
  await report(recent.roomId, sentence('just now'))
  await stack.postgres.query(
    `UPDATE transcript_sentence SET stored_at = stored_at - interval '31 days' WHERE id = $1`,
    [oldId],
  )
  // The job runs at the start of a leader.
  for (const master of stack.masters) master.kill('SIGTERM')
  await Promise.all(stack.masters.map((master) => master.exited))
  await Promise.all([...stack.masters].map((master) => stack.revive(master)))
  await until('the old sentence is deleted', async () => {
    return (await stack.rest('GET', `/sessions/${old.session}/transcript`)).status === 404
  })
  expect(textsOf(await stack.api.getTranscript(recent.session))).toEqual(['just now'])
}, 60_000)
