// deploy/proxy: the configuration of nginx in front of a master.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const NGINX = readFileSync(join(import.meta.dirname, '../../deploy/proxy/nginx.conf'), 'utf8')

test('nginx waits longer than ten minutes for the answer to the stop of a recording, and for no other', () => {
  const [, path = '', own = ''] = /location ~ (\S+) \{([^}]*)\}/.exec(NGINX) ?? []
  const isOwn = (url) => new RegExp(path || '$^').test(url)
  assert.deepEqual(
    ['stop/a~1', 'start', 'a~1'].map((end) => isOwn(`/service/api/recordings/${end}`)),
    [true, false, false],
  )
  assert.match(own, /proxy_pass http:\/\/session_service;/)
  assert.ok(Number(/proxy_read_timeout (\d+)s;/.exec(own)?.[1]) > 600)
})
