import { describe, expect, it } from '@jest/globals'
import { AddressBlock, clusterAddress, loopbackAddress } from './addresses.js'

describe('a block of addresses', () => {
  it('is not shared with another cluster of the machine', async () => {
    const [first, second] = [await AddressBlock.claim(100), await AddressBlock.claim(100)]
    expect(first.serviceRange).not.toBe(second.serviceRange)
    first.release()
    const again = await AddressBlock.claim(100)
    expect(again.serviceRange).toBe(first.serviceRange)
    second.release()
    again.release()
  })

  it('gives every pod another address, none of which is one of a service or a node', async () => {
    const block = await AddressBlock.claim(110)
    const pods = Array.from({ length: 600 }, () => block.nextPod())
    expect(new Set(pods).size).toBe(600)
    const prefix = block.serviceRange.replace(/^10\.(\d+)\..*$/, '127.$1')
    // The services have the first sixteen nets, the nodes the next one.
    expect(pods.every((each) => each.startsWith(`${prefix}.`) && Number(each.split('.')[2]) >= 32)).toBe(true)
    expect(block.nextNode()).toBe(`${prefix}.16.1`)
    block.release()
  })

  it('has the same address in the API server, outside of loopback', () => {
    expect(clusterAddress('127.70.32.1')).toBe('10.70.32.1')
    expect(loopbackAddress(clusterAddress('127.70.127.1'))).toBe('127.70.127.1')
  })
})
