import { describe, expect, it } from '@jest/globals'
import { checkCameraAddress, embeddedAddress, isAllowedAddress } from './camera-address.js'

const resolvesTo =
  (...addresses: string[]) =>
  (): Promise<string[]> =>
    Promise.resolve(addresses)

describe('the address of a camera', () => {
  it.each([
    ['10.0.0.5', true],
    ['192.168.1.20', true],
    ['203.0.113.9', true],
    ['2001:db8::5', true],
    ['fd12::5', true],
    ['127.0.0.1', false],
    ['127.9.9.9', false],
    ['0.0.0.0', false],
    ['169.254.169.254', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['100.100.100.200', false],
    ['::', false],
    ['::1', false],
    ['fe80::1', false],
    ['fe80::1%eth0', false],
    ['ff02::1', false],
    ['fd00:ec2::254', false],
    ['::ffff:127.0.0.1', false],
    ['::ffff:7f00:1', false],
    ['::127.0.0.1', false],
    ['64:ff9b::7f00:1', false],
    ['64:ff9b::169.254.169.254', false],
    ['2002:7f00:1::', false],
    ['::ffff:10.0.0.5', true],
  ])('%s is allowed by default: %s', (address, isAllowed) => {
    expect(isAllowedAddress(address, [])).toBe(isAllowed)
  })

  it.each([
    ['::ffff:a9fe:a9fe', '169.254.169.254'],
    ['2002:a9fe:a9fe::1', '169.254.169.254'],
    ['64:ff9b::a00:1', '10.0.0.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['10.0.0.1', '10.0.0.1'],
  ])('the embedded address of %s is %s', (address, embedded) => {
    expect(embeddedAddress(address)).toBe(embedded)
  })

  it.each([
    ['127.0.0.1', ['127.0.0.1']],
    ['127.0.0.7', ['127.0.0.0/8']],
    ['::1', ['::1']],
    ['::ffff:127.0.0.1', ['127.0.0.0/8']],
  ])('%s is allowed by %j', (address, allowed) => {
    expect(isAllowedAddress(address, allowed)).toBe(true)
    expect(isAllowedAddress('169.254.169.254', allowed)).toBe(false)
  })

  it('gives the address without credentials and the networks that the program may reach', async () => {
    const checked = await checkCameraAddress('rtsp://ann:secret@10.0.0.5/1', ['127.0.0.1', '::1', 'localhost'])
    expect(checked).toMatchObject({ uri: 'rtsp://10.0.0.5/1', hosts: ['10.0.0.5'], user: 'ann', password: 'secret' })
    expect(checked.allow).toEqual(['127.0.0.1/32', '::1/128'])
  })

  it('lets a host that is allowed by name have any address', async () => {
    const checked = await checkCameraAddress('rtsp://Cam.example/1', ['cam.EXAMPLE'], resolvesTo('127.0.0.9', '::1'))
    expect(checked).toMatchObject({ hosts: ['127.0.0.9', '::1'], allow: ['127.0.0.9/32', '::1/128'] })
  })

  it.each([
    ['rtsp://cam.example/1', ['10.0.0.5', '127.0.0.1'], 'rtspUri: the address 127.0.0.1 is not allowed'],
    ['rtsp://0x7f.1/1', ['127.0.0.1'], 'rtspUri: the address 127.0.0.1 is not allowed'],
    ['http://2130706433/1', [], 'rtspUri: the address 127.0.0.1 is not allowed'],
    ['http://[::ffff:169.254.169.254]/1', [], 'is not allowed'],
    ['ftp://cam/1', [], 'rtspUri: must be one of rtsp'],
    ['rtsp://10.0.0.5/100%', [], 'rtspUri: has a path or query that is not percent-encoded correctly'],
  ])('%s is refused as INVALID', async (uri, addresses, message) => {
    const refused = checkCameraAddress(uri, [], resolvesTo(...addresses))
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toMatchObject({ code: 'INVALID' })
  })

  it.each([
    ['without addresses', resolvesTo()],
    ['that cannot be resolved', () => Promise.reject(new Error('ENOTFOUND rtsp://ann:secret@cam'))],
  ])('a host %s is CAMERA_FAILED', async (_, resolve) => {
    const failed = checkCameraAddress('rtsp://ann:secret@cam/1', [], resolve)
    const message = 'the name of the camera cannot be resolved'
    await expect(failed).rejects.toMatchObject({ code: 'CAMERA_FAILED', message })
  })
})
