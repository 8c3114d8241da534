import { RpcRequest } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { readPing } from './ping-frame.js'

describe('readPing', () => {
  it.each([
    JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ping', params: {} }),
    '{"jsonrpc":"2.0","id":0,"method":"ping","params":{}}',
    '{"jsonrpc":"2.0","id":999999999999999,"method":"ping","params":{}}',
    '{"jsonrpc":"2.0","method":"ping","params":{}}',
  ])('reads %s as the schema does', (text) => {
    expect(readPing(text)).toStrictEqual(RpcRequest.parse(JSON.parse(text)))
  })

  it.each([
    '{"jsonrpc":"2.0","id":07,"method":"ping","params":{}}',
    '{"jsonrpc":"2.0","id":9999999999999999,"method":"ping","params":{}}',
    '{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}',
    '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"interval":5000}}',
    '{"jsonrpc":"2.0","id":7,"method":"ping"}',
    '{"jsonrpc":"2.0","id":7,"method":"leave","params":{}}',
    ' {"jsonrpc":"2.0","method":"ping","params":{}}',
    '',
  ])('leaves %j to the parser', (text) => {
    expect(readPing(text)).toBeUndefined()
  })
})
