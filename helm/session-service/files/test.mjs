// helm test: a media node runs, a session and a token can be created, and the session can be deleted.
const { API_URL, SERVICE_SECRET, TIMEOUT_SECONDS, PAID } = process.env
const authorization = 'Basic ' + Buffer.from('SERVICEAPP:' + SERVICE_SECRET).toString('base64')
const end = performance.now() + Number(TIMEOUT_SECONDS) * 1000

async function call(method, path, body) {
  const response = await fetch(API_URL + '/service/api/' + path, {
    method,
    headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(method + ' ' + path + ' answered ' + response.status + ' ' + text)
  return text === '' ? undefined : JSON.parse(text)
}

// A release is tested right after its installation, when its nodes may still start.
async function until(what, attempt) {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > end) throw new Error(what + ': ' + error.message, { cause: error })
      console.log('waiting: ' + error.message)
      await new Promise((resolve) => setTimeout(resolve, 1000))
    }
  }
}

if (PAID === 'true')
  await until('no media node is running', async () => {
    const { content } = await call('GET', 'media-nodes')
    const running = content.filter(({ status }) => status === 'running')
    if (running.length === 0)
      throw new Error('media nodes: ' + (content.map(({ status }) => status).join(', ') || 'none'))
    console.log('running media nodes: ' + running.length)
  })
const { id } = await until('no session could be created', () => call('POST', 'sessions', {}))
console.log('session ' + id)
try {
  const { token } = await until('no token could be created', () => call('POST', 'sessions/' + id + '/connection', {}))
  if (!token) throw new Error('the connection has no token')
  console.log('token for ' + new URL(token).host)
} finally {
  await call('DELETE', 'sessions/' + id)
}
console.log('passed')
