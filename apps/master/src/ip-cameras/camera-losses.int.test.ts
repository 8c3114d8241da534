import { ServiceError } from '@session-service/contract'
import { type SignallingClient, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'
import { CAMERA, CameraTestbed } from './fixtures/camera-testbed.js'

jest.setTimeout(120_000)

const MOST_SESSIONS = 30

let testbed: CameraTestbed
let south: FakeMediaNode

beforeAll(async () => {
  testbed = await CameraTestbed.start(2)
  south = await testbed.addNode('south')
})
afterEach(() => testbed.reset())
afterAll(() => testbed.stop())

describe('with a second media node', () => {
  const lacksProgram = new ServiceError('DISABLED', 'CAMERA_BIN names no program')

  it.each([
    ['has no capacity', new ServiceError('NO_CAPACITY', 'no worker')],
    ['lacks the program', lacksProgram],
  ])('a camera is started on it when the first node of its session %s', async (_, refusal) => {
    testbed.refuse(refusal)
    const before = testbed.north.callsOf('startCamera').length
    // Ties between nodes are broken at random.
    for (let count = 0; count < MOST_SESSIONS && testbed.north.callsOf('startCamera').length === before; count++) {
      const { id } = await testbed.stack.api.createSession()
      const camera = await testbed.create(id)
      expect(testbed.callsAbout(camera.id)).toContain('south startCamera')
      expect((await testbed.stack.api.getSession(id)).mediaNodeId).toBe('south')
    }
    expect(testbed.north.callsOf('startCamera').length).toBeGreaterThan(before)
  })

  it('a camera is refused with 501 when every node lacks the program, or the one that has the media of its session', async () => {
    testbed.refuse(lacksProgram, [testbed.north, south])
    const { id } = await testbed.stack.api.createSession()
    const post = () => testbed.stack.rest('POST', `/sessions/${id}/connection`, CAMERA)
    const refused = { status: 501, body: { message: lacksProgram.message } }
    expect(await post()).toMatchObject(refused)
    expect(await testbed.rowsOf(id)).toEqual([])
    await testbed.stack.join(id)
    const { mediaNodeId } = await testbed.stack.api.getSession(id)
    testbed.reset()
    testbed.refuse(lacksProgram, [mediaNodeId === 'south' ? south : testbed.north])
    expect(await post()).toMatchObject(refused)
  })
})

describe('after a loss of media', () => {
  let alice: SignallingClient

  it('a camera starts again with its tracks and stream id on the next node, also without other participants', async () => {
    const mediaNode = { id: 'north' }
    const [{ id: alone }, { id: shared }] = [
      await testbed.stack.api.createSession({ mediaNode }),
      await testbed.stack.api.createSession({ mediaNode }),
    ]
    const single = await testbed.create(alone)
    alice = await testbed.stack.join(shared)
    const camera = await testbed.create(shared)
    const streamId = camera.publishers?.[0]?.streamId
    await alice.waitFor('streamCreated')
    await testbed.north.kill()
    await until('both cameras are started on the other node', () =>
      [single, camera].every(({ id }) => testbed.callsAbout(id).includes('south startCamera')),
    )
    expect(await alice.waitFor('mediaLost')).toBeTruthy()
    await until('the stream is announced again', () => alice.received('streamCreated').length === 2)
    expect(alice.received('streamCreated').map((stream) => stream.streamId)).toEqual([streamId, streamId])
    expect(alice.received('cameraStatusChanged').at(-1)).toMatchObject({
      connectionId: camera.id,
      status: 'reconnecting',
    })
    for (const [sessionId, { id }] of [
      [alone, single],
      [shared, camera],
    ] as const) {
      const calls = south.callsOf('startCamera').filter((call) => Reflect.get(call, 'connectionId') === id)
      expect(calls).toMatchObject([{ epoch: 2, tracks: { hasAudio: true, hasVideo: true } }])
      await until(
        'the stream is listed',
        async () => (await testbed.stack.api.getConnection(sessionId, id)).publishers?.length === 1,
      )
    }
    const created = (): string[] => testbed.names(shared).filter((name) => name === 'webrtcConnectionCreated')
    await until('the events of both connections arrive', () => created().length >= 2)
    expect(created()).toHaveLength(2)
    await testbed
      .report(camera, { epoch: 2, revision: 1, status: 'playing', error: null }, south)
      .catch(() => undefined)
  })

  it('a camera that a node has lost is started there again, and its stream ends and begins', async () => {
    const { id } = await testbed.stack.api.createSession()
    const bob = await testbed.stack.join(id)
    const camera = await testbed.create(id)
    await bob.waitFor('streamCreated')
    south.rooms.forget(testbed.lastStart(south).roomId, camera.id)
    await until(
      'the camera is started again',
      () => testbed.callsAbout(camera.id).filter((call) => call === 'south startCamera').length === 2,
      60_000,
    )
    await until('the stream is announced again', () => bob.received('streamCreated').length === 2)
    expect(bob.received('streamDestroyed')).toMatchObject([{ connectionId: camera.id, reason: 'mediaServerReconnect' }])
  })

  it('a camera without a row is removed from its node', async () => {
    const { id } = await testbed.stack.api.createSession()
    const camera = await testbed.create(id)
    await testbed.stack.postgres.query('DELETE FROM connection WHERE id = $1', [camera.id])
    await until('the node is asked to remove it', () => testbed.callsAbout(camera.id).includes('south leave'), 60_000)
  })

  it('a camera starts again on the same node when its worker fails', async () => {
    const { id } = await testbed.stack.api.createSession()
    const camera = await testbed.create(id)
    await south.loseRoom(testbed.lastStart(south).roomId, 1)
    await until(
      'the camera is started again',
      () => testbed.lastStart(south).connectionId === camera.id && testbed.lastStart(south).epoch === 2,
    )
    await until(
      'the stream is listed',
      async () => (await testbed.stack.api.getConnection(id, camera.id)).publishers?.length === 1,
    )
  })

  it('a restart without an answer, or whose stream cannot be stored, removes the camera as one that returns', async () => {
    const { id } = await testbed.stack.api.createSession()
    const camera = await testbed.create(id)
    const { roomId, streamId } = testbed.lastStart(south)
    const leaves = () => south.callsOf('leave').filter((call) => Reflect.get(call, 'connectionId') === camera.id)
    testbed.refuse(new ServiceError('TIMEOUT', 'no answer'), [south])
    await south.loseRoom(roomId, 1)
    await until('it is removed', () => leaves().length > 0)
    const refuseStream = `ALTER TABLE stream ADD CONSTRAINT refused CHECK (id <> '${streamId}')`
    await testbed.stack.postgres.query(refuseStream)
    testbed.reset()
    const before = leaves().length
    await until('it is removed again', () => leaves().length > before, 60_000)
    await testbed.stack.postgres.query('ALTER TABLE stream DROP CONSTRAINT refused')
    for (const leave of leaves()) expect(leave).toEqual({ roomId, connectionId: camera.id, returns: true })
    await until(
      'the stream is listed',
      async () => (await testbed.stack.api.getConnection(id, camera.id)).publishers?.length === 1,
      60_000,
    )
  })

  it('a camera that its master did not finish starting is deleted, and leaves no trace', async () => {
    const { id } = await testbed.stack.api.createSession()
    const started = Promise.withResolvers<void>()
    south.onCommand = (command) => (command === 'startCamera' ? started.promise : undefined)
    const [, second] = testbed.stack.masters
    const answer = testbed.stack
      .apiOf(1)
      .createConnection(id, CAMERA)
      .catch(() => undefined)
    await until(
      'the camera is being started',
      async () => (await testbed.rowsOf(id)).length === 1 && testbed.lastStart(south).sessionId === id,
    )
    second?.kill('SIGKILL')
    await answer
    started.resolve()
    south.onCommand = () => undefined
    await until('the row is deleted', async () => (await testbed.rowsOf(id)).length === 0, 60_000)
    const { connectionId } = testbed.lastStart(south)
    await until(
      'the node is asked to remove it',
      () => testbed.callsAbout(connectionId).includes('south leave'),
      60_000,
    )
    expect(testbed.names(id)).not.toContain('participantJoined')
  })
})

it('no log and no event contains the password', () => testbed.expectNoSecrets())
