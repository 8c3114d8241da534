import { describe, expect, it } from '@jest/globals'
import { iceServers } from './ice-servers.js'
import { destination, ipAddress, origins, proxies } from './network.js'
import type { PropertyType } from './property.js'
import {
  hostsOrNetworks,
  webhookSecrets,
  address,
  baseUrl,
  boolean,
  choice,
  headerLines,
  hostAlone,
  integer,
  namesOf,
  NOT_STORABLE,
  path,
  paths,
  percent,
  port,
  portOrFree,
  share,
  strings,
  text,
  textMatching,
  url,
  urls,
  urlWithoutUserinfo,
} from './types.js'

const BAD_USERINFO = 'user and password of the URL must be percent-encoded UTF-8'
const colours = choice('red', 'green')
const events = namesOf('event', ['created', 'destroyed'])
const word = textMatching(/^[a-z]+$/, 'a word')

describe('types', () => {
  it.each<[string, PropertyType<unknown>, string, unknown]>([
    ['boolean', boolean, 'true', true],
    ['boolean', boolean, 'FALSE', false],
    ['boolean', boolean, 'True', true],
    ['integer', integer(0, 9), '0', 0],
    ['integer', integer(0, 86_400), '86400', 86_400],
    ['port', port, '65535', 65535],
    ['portOrFree', portOrFree, '0', 0],
    ['percent', percent, '100', 100],
    ['share', share, '100', 100],
    ['share', share, '0.25', 0.25],
    ['choice', colours, 'green', 'green'],
    ['textMatching', word, 'abc', 'abc'],
    ['url', url('http', 'https'), 'https://example.org:444/hook/?next=/', 'https://example.org:444/hook/?next=/'],
    ['baseUrl', baseUrl('http', 'https'), 'https://example.org:444/base//', 'https://example.org:444/base'],
    ['url', url('postgres'), 'postgres://u:p@db:5432/x?ssl=1', 'postgres://u:p@db:5432/x?ssl=1'],
    ['urls', urls('nats'), 'nats://a:1, nats://b:2', 'nats://a:1, nats://b:2'],
    ['path', path, '/opt/service/recordings//', '/opt/service/recordings'],
    ['path', path, '/', '/'],
    ['path', path, '/opt/./service//x/../recordings', '/opt/service/recordings'],
    ['paths', paths, '["/mnt/a/","/opt/../srv"]', ['/mnt/a', '/srv']],
    ['url with userinfo', url('http'), 'http://a%20b:%25@host/x', 'http://a%20b:%25@host/x'],
    ['headerLines with Latin-1', headerLines, '["X: é"]', ['X: é']],
    ['address', address, '::1', '::1'],
    ['address', address, 'node-1.example.org', 'node-1.example.org'],
    ['address', address, '', ''],
    ['address', address, '4you.example', '4you.example'],
    ['ipAddress', ipAddress, '::', '::'],
    ['destination', destination, '192.0.2.7', '192.0.2.7'],
    ['destination', destination, 'media.example.org', 'media.example.org'],
    ['hostAlone', hostAlone, '', ''],
    ['hostAlone', hostAlone, '203.0.113.7', '203.0.113.7'],
    ['hostAlone', hostAlone, '2001:db8::7', '2001:db8::7'],
    ['hostAlone', hostAlone, 'turn-1.example.org', 'turn-1.example.org'],
    ['iceServers', iceServers, '["url=stuns:[2001:db8::7]:443"]', [{ url: 'stuns:[2001:db8::7]:443' }]],
    ['strings', strings, '["a","b"]', ['a', 'b']],
    ['strings', strings, '[]', []],
    ['origins', origins, '["*"]', ['*']],
    [
      'origins',
      origins,
      '["https://App.example:443/","http://[2001:db8::7]:8080","capacitor://localhost"]',
      ['https://app.example', 'http://[2001:db8::7]:8080', 'capacitor://localhost'],
    ],
    ['origins', origins, '["null","file://"]', ['null', 'file://']],
    [
      'proxies',
      proxies,
      '["10.0.0.1","::1","10.0.0.0/8","fd00::/8","loopback","linklocal","uniquelocal"]',
      ['10.0.0.1', '::1', '10.0.0.0/8', 'fd00::/8', 'loopback', 'linklocal', 'uniquelocal'],
    ],
    [
      'proxies',
      proxies,
      '["10.0.0.0/255.0.0.0","10.1.2.3/255.255.255.255","172.16.0.0/255.240.0.0"]',
      ['10.0.0.0/255.0.0.0', '10.1.2.3/255.255.255.255', '172.16.0.0/255.240.0.0'],
    ],
    ['headerLines', headerLines, '["X-Auth: a: b","Other:c"]', ['X-Auth: a: b', 'Other:c']],
    ['namesOf', events, '["destroyed"]', ['destroyed']],
    ['iceServers', iceServers, '["url=stun:a.example:3478"]', [{ url: 'stun:a.example:3478' }]],
    [
      'iceServers',
      iceServers,
      '["url=turn:a.example?transport=tcp,username=u,credential=a=b"]',
      [{ url: 'turn:a.example?transport=tcp', username: 'u', credential: 'a=b' }],
    ],
    [
      'iceServers',
      iceServers,
      '["url=turns:a.example,staticAuthSecret=a=b"]',
      [{ url: 'turns:a.example', staticAuthSecret: 'a=b' }],
    ],
  ])('%s takes %3$j', (_name, type, given, expected) => {
    expect(type.schema.parse(given)).toEqual(expected)
    // The shown text parses to the same value.
    expect(type.schema.parse(type.show(expected))).toEqual(expected)
  })

  it.each<[string, PropertyType<unknown>, string, string]>([
    ['boolean', boolean, 'yes', 'must be true or false'],
    ['boolean', boolean, '1', 'must be true or false'],
    ['integer', integer(0, 9), '-1', 'must be an integer from 0 to 9'],
    ['integer', integer(0, 9), '1.5', 'must be an integer from 0 to 9'],
    ['integer', integer(0, 9), '1e3', 'must be an integer from 0 to 9'],
    ['integer', integer(0, 9), '0x10', 'must be an integer from 0 to 9'],
    ['integer', integer(0, 9), '99999999999999999999', 'must be an integer from 0 to 9'],
    ['port', port, '0', 'must be an integer from 1 to 65535'],
    ['port', port, '65536', 'must be an integer from 1 to 65535'],
    ['choice', colours, 'blue', 'must be one of [red, green]'],
    ['choice', colours, 'Red', 'must be one of [red, green]'],
    ['textMatching', word, 'a b', 'must be a word'],
    ['url', url('http'), 'example.org', 'must be a URL with scheme (http) and host'],
    ['url', url('http'), 'http://', 'must be a URL with scheme (http) and host'],
    ...['http://user@host', 'http://:secret@host'].map((value): [string, PropertyType<unknown>, string, string] => [
      'urlWithoutUserinfo',
      urlWithoutUserinfo('OTHER'),
      value,
      'must not contain credentials: use OTHER',
    ]),
    ['url', url('http'), 'ftp://example.org', 'must be a URL with scheme (http) and host'],
    ['urls', urls('nats'), 'nats://a,b', 'must be one or more URLs, comma-separated, each with scheme (nats) and host'],
    ['url', url('http'), 'http://a%zz:b@198.51.100.1/', BAD_USERINFO],
    ['url', url('http'), 'http://u:%ff@198.51.100.1/', BAD_USERINFO],
    ['url', url('http'), 'http://u:%00@198.51.100.1/', BAD_USERINFO],
    ['urls', urls('nats'), 'nats://a:1,nats://%zz@b:2', BAD_USERINFO],
    ['url', url('http'), `http://a/${'x'.repeat(4_096)}`, 'must have at most 4096 characters'],
    ['path', path, 'recordings', 'must be an absolute path'],
    ['path', path, '/a\nb', 'must not contain control characters'],
    ['path', path, `/${'x'.repeat(1_024)}`, 'must have at most 1024 characters'],
    ['paths', paths, '["a"]', 'each must be an absolute path'],
    ['text', text, 'a\tb', 'must not contain control characters'],
    ['strings', strings, '["a\\u0000"]', NOT_STORABLE],
    ['strings', strings, '["\\ud800"]', NOT_STORABLE],
    ['address', address, 'http://a', 'must be an address or a host name'],
    ...['192.0.2.256', '192.0.2', '192.0.2.7:80', '::x', 'a:80'].map(
      (bad): [string, PropertyType<unknown>, string, string] => [
        'address',
        address,
        bad,
        'must be an address or a host name',
      ],
    ),
    ...['localhost', '192.0.2.256', 'fe80::1%eth0'].map((bad): [string, PropertyType<unknown>, string, string] => [
      'ipAddress',
      ipAddress,
      bad,
      'must be an IPv4 or IPv6 address',
    ]),
    ...['0.0.0.0', '::', '0::0'].map((bad): [string, PropertyType<unknown>, string, string] => [
      'destination',
      destination,
      bad,
      'must be the address of one interface',
    ]),
    ['strings', strings, 'a,b', 'must be a JSON array of strings'],
    ['strings', strings, '"a"', 'must be a JSON array of strings'],
    ['strings', strings, '["a",1]', 'must be a JSON array of strings'],
    ...[
      'app.example',
      'localhost:3000',
      'https://app.example/page',
      'https://app.example?a',
      'https://app.example#a',
      'https://user@app.example',
      'https://*.example',
      'file:///',
      'NULL',
      '',
    ].map((bad): [string, PropertyType<unknown>, string, string] => [
      'origins',
      origins,
      JSON.stringify(['https://app.example', bad]),
      'each must be * or an origin such as https://app.example.com',
    ]),
    ...[
      'x',
      'proxy.example',
      '10.0.0.0/33',
      '0.0.0.0/0',
      '::/0',
      '10.0.0.0/8/8',
      '10.0.0.0/0.0.0.0',
      '10.0.0.0/255.0.255.0',
      '10.0.0.0/255.0.0.0/8',
      'fd00::/255.0.0.0',
      '',
    ].map((bad): [string, PropertyType<unknown>, string, string] => [
      'proxies',
      proxies,
      JSON.stringify(['10.0.0.1', bad]),
      'each must be an address, a network in CIDR notation other than /0, loopback, linklocal or uniquelocal',
    ]),
    ['headerLines', headerLines, '["no colon"]', 'each header must be of the form "Name: value"'],
    ['headerLines', headerLines, '["A: b\\r\\nC: d"]', 'each header must be of the form "Name: value"'],
    ['headerLines', headerLines, '["X: 漢"]', 'header X has a character that cannot be sent in a header'],
    ['headerLines', headerLines, '["X: a\\u0000"]', NOT_STORABLE],
    ['headerLines', headerLines, '["X: a\\u0001"]', 'header X has a character that cannot be sent in a header'],
    ['headerLines', headerLines, `["X: ${'a'.repeat(8_192)}"]`, 'header X must have at most 8192 characters'],
    ['headerLines', headerLines, JSON.stringify(Array(65).fill('X: a')), 'must have at most 64 headers'],
    ...[
      'Content-Length',
      'transfer-encoding',
      'Connection',
      'Upgrade',
      'Expect',
      'Trailer',
      'TE',
      'Content-Encoding',
    ].map((name): [string, PropertyType<unknown>, string, string] => [
      'headerLines',
      headerLines,
      `["${name}: x"]`,
      `header ${name} is set by the HTTP client and cannot be configured`,
    ]),
    ['namesOf', events, '["created","exploded"]', "event 'exploded' does not exist"],
    [
      'iceServers',
      iceServers,
      '["stun:a"]',
      'entry 1: part 1 is not one of url=…, username=…, credential=…, staticAuthSecret=…; values must not contain a comma',
    ],
    [
      'iceServers',
      iceServers,
      '["url=stun:a","url=turn:b,username=u,credential=half,rest of it"]',
      'entry 2: part 4 is not one of url=…, username=…, credential=…, staticAuthSecret=…; values must not contain a comma',
    ],
    ...[
      'http://a',
      'turn:turn_server:3478',
      'turn:h:3478?transport=TCP',
      'turn://host:3478',
      'stun:h:1?transport=udp',
      'turn:h:0',
      'turn:h:65536',
    ].map((bad): [string, PropertyType<unknown>, string, string] => [
      'iceServers',
      iceServers,
      `["url=${bad},username=u,credential=c"]`,
      'entry 1: url must be stun:, stuns:, turn: or turns: with a host or host:port; TURN may add ?transport=udp or ?transport=tcp',
    ]),
    ...['1.2.3.4:3479', 'turn_server', '::1]:3478', 'a/b'].map(
      (bad): [string, PropertyType<unknown>, string, string] => [
        'hostAlone',
        hostAlone,
        bad,
        'must be an address or a host name of letters, digits, "." and "-", without a port',
      ],
    ),
    [
      'iceServers',
      iceServers,
      '["url=stun:a","url=turn:b,username=u"]',
      'entry 2: TURN needs a username and a credential, or a staticAuthSecret',
    ],
    [
      'iceServers',
      iceServers,
      '["url=turn:b,username=u,credential=c,staticAuthSecret=s"]',
      'entry 1: staticAuthSecret replaces username and credential: set one or the other',
    ],
    ['iceServers', iceServers, '["url=stun:b,staticAuthSecret=s"]', 'entry 1: staticAuthSecret is for TURN only'],
  ])('%s refuses %3$j', (_name, type, given, message) => {
    const parsed = type.schema.safeParse(given)
    expect([...new Set(parsed.error?.issues.map((issue) => issue.message))]).toEqual([message])
  })
})

describe('what a webhook needs', () => {
  it.each(['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', 'receiver.internal', 'localhost'])(
    '%s is a receiver',
    (value) => {
      expect(hostsOrNetworks.schema.safeParse(JSON.stringify([value])).success).toBe(true)
    },
  )
  it.each(['10.0.0.0/33', '1.2.3', '1.2.3.4.5', 'name/8', '10.0.0.0/8/8', 'a b', ''])('%s is invalid', (value) => {
    expect(hostsOrNetworks.schema.safeParse(JSON.stringify([value])).success).toBe(false)
  })
  it('a key consists of whsec_ and base64', () => {
    expect(webhookSecrets.schema.safeParse(JSON.stringify([`whsec_${'A'.repeat(44)}`])).success).toBe(true)
    for (const bad of ['secret', `whsec_${'A'.repeat(30)}`, `whsec_${'A'.repeat(88)}`, `whsec_${'A'.repeat(33)}`])
      expect(webhookSecrets.schema.safeParse(JSON.stringify([bad])).success).toBe(false)
  })
})
