import { newSecret } from '@session-service/contract'
import { EventSink, startStack, type Stack, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'

let stack: Stack
let sink: EventSink

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({
    ...{ nodes: 0, masters: 2 },
    masterEnv: {
      ...webhookEnv(sink),
      SERVICE_WEBHOOK_EVENTS: '["sessionDestroyed", "transcriptReady"]',
      ...{ SERVICE_PRO_SPEECH_TO_TEXT: 'vosk', SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: 'true' },
    },
  })
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

function store(uniqueSessionId: string, lang: string): Promise<unknown> {
  return stack.postgres.query(
    `INSERT INTO transcript_sentence (id, session_id, unique_session_id, connection_id, client_data, stream_id, lang,
       text, search, start_time) VALUES ($1, $2, $3, 'con_A', '', 'str_A', $4, 'hello', to_tsvector('simple', 'hello'), 1)`,
    [newSecret(), uniqueSessionId.replace(/_\d+$/, ''), uniqueSessionId, lang],
  )
}

const eventsOf = (id: string) => sink.ofSession(id).map(({ event }) => event)
const endedSessions = (): Promise<unknown[]> => stack.postgres.query('SELECT 1 FROM ended_transcript')

it('transcriptReady is sent once after the end of a session with sentences, also with one that is stored later', async () => {
  const silent = await stack.api.createSession()
  const { id, createdAt } = await stack.api.createSession()
  const uniqueSessionId = `${id}_${createdAt}`
  await store(uniqueSessionId, 'en-US')
  await store(uniqueSessionId, 'es-ES')
  await Promise.all([id, silent.id].map((each) => stack.api.deleteSession(each)))
  await store(uniqueSessionId, 'en-US')
  await until('the transcript is ready', () => eventsOf(id).some(({ event }) => event === 'transcriptReady'), 30_000)
  await until('no event is to come', async () => (await endedSessions()).length === 0, 30_000)
  expect(eventsOf(id)).toEqual([
    expect.objectContaining({ event: 'sessionDestroyed' }),
    {
      ...{ event: 'transcriptReady', sessionId: id, uniqueSessionId, sentences: 3, languages: ['en-US', 'es-ES'] },
      timestamp: expect.any(Number),
    },
  ])
  expect(eventsOf(silent.id).map(({ event }) => event)).toEqual(['sessionDestroyed'])
}, 90_000)
