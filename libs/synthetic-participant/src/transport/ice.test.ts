import { describe, expect, it } from '@jest/globals'
import { classes, Message, methods, parseMessage } from 'werift'
import { IceClient } from './ice.js'

const remote = { usernameFragment: 'server', password: 'a-long-password', iceLite: true }

function answer(request: Buffer, password: string): Buffer {
  return new Message(methods.BINDING, classes.RESPONSE, request.subarray(8, 20))
    .setAttribute('XOR-MAPPED-ADDRESS', ['127.0.0.1', 5000])
    .addMessageIntegrity(Buffer.from(password))
    .addFingerprint().bytes
}

describe('ICE towards an ICE-lite server', () => {
  const sent: Buffer[] = []
  const client = new IceClient(remote, (packet) => sent.push(packet))
  const last = (): Buffer => sent.at(-1) ?? Buffer.alloc(0)

  it('nominates with the first check and repeats it until it is answered', () => {
    client.check(0)
    const message = parseMessage(last(), Buffer.from(remote.password))
    expect(message?.getAttributeValue('USERNAME')).toMatch(/^server:[\w-]{8}$/)
    expect(message?.attributesKeys).toEqual(
      expect.arrayContaining(['PRIORITY', 'ICE-CONTROLLING', 'USE-CANDIDATE', 'MESSAGE-INTEGRITY', 'FINGERPRINT']),
    )
    expect(client.dueAt).toBe(50)
    client.check(50)
    expect(client.dueAt).toBe(150)
  })

  it('accepts only answers to its own checks, signed with the server’s password', async () => {
    client.receive(answer(last(), 'another-password'), 60)
    client.receive(answer(Buffer.alloc(20, 7), remote.password), 60)
    client.receive(last(), 60)
    expect(client.isConnected).toBe(false)
    client.receive(answer(last(), remote.password), 60)
    await client.connected
    expect(client.isConnected).toBe(true)
    expect(client.dueAt).toBe(2560)
  })

  it('restarts with new credentials', () => {
    client.restart({ ...remote, usernameFragment: 'other', password: 'another-password' })
    expect(client.isConnected).toBe(false)
    client.check(100)
    expect(parseMessage(last(), Buffer.from('another-password'))?.getAttributeValue('USERNAME')).toMatch(/^other:/)
    client.receive(answer(last(), 'another-password'), 110)
    expect(client.isConnected).toBe(true)
  })
})
